"""Secrets: written as they are, or where they lie."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from headwater.core.errors import AuthenticationError, SourceError
from headwater.core.secrets import TlsSettings, lasting_tls_failure, resolved_secret


def test_a_secret_is_itself_a_variable_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", "from the environment")
    (tmp_path / "secret").write_text("from a file\n")
    monkeypatch.setenv("LINE", "with a line end\r\n")
    assert resolved_secret("env:LINE", "the password") == "with a line end"
    assert resolved_secret("plain", "the password") == "plain"
    assert resolved_secret("env:REGISTRY_PASSWORD", "the password") == "from the environment"
    assert resolved_secret(f"file:{tmp_path}/secret", "the password") == "from a file"


@pytest.mark.parametrize("written", ["env:NOT_SET_ANYWHERE", "file:/not/there"])
def test_a_secret_that_is_not_there_is_an_error_that_names_it(written: str) -> None:
    with pytest.raises(SourceError, match="the password"):
        resolved_secret(written, "the password")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    made = (
        f"openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=x -keyout {key} -out"
    )
    subprocess.run([*made.split(), certificate], check=True, capture_output=True)
    return certificate, key


def test_files_and_pem_are_taken(certificate: tuple[Path, Path]) -> None:
    path, key = certificate
    by_path = TlsSettings(ca=str(path), certificate=str(path), key=f"file:{key}")
    by_text = TlsSettings(ca=path.read_text(), certificate=path.read_text() + key.read_text())
    for settings in (by_path, by_text):
        context = settings.context()
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert context.cert_store_stats()["x509"] == 1


def test_what_is_no_certificate_is_an_error(certificate: tuple[Path, Path]) -> None:
    path, key = certificate
    for wrong in ({"ca": str(key)}, {"certificate": str(path)}, {"ca": "/not/there"}):
        with pytest.raises(SourceError, match=f"tls{next(iter(wrong)).capitalize()}"):
            TlsSettings(**wrong).context()


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", AuthenticationError),
        ("TLSV1_ALERT_UNKNOWN_CA", AuthenticationError),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", AuthenticationError),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", SourceError),
        ("TLSV1_ALERT_PROTOCOL_VERSION", SourceError),
        ("WRONG_VERSION_NUMBER", SourceError),
        ("TLSV1_ALERT_INTERNAL_ERROR", None),
        ("DECRYPTION_FAILED_OR_BAD_RECORD_MAC", None),
    ],
)
def test_what_no_waiting_mends_in_tls_is_known_however_a_library_wraps_it(
    reason: str, kind: type[SourceError] | None
) -> None:
    error = ssl.SSLError(1, f"[SSL: {reason}]")
    error.reason = reason
    wrapped = OSError("it is in its arguments", OSError(error))
    for each in (error, wrapped):
        failure = lasting_tls_failure(each)
        assert (failure and failure[0]) is kind
    assert lasting_tls_failure(ssl.SSLEOFError(8, "EOF occurred")) is None
