"""TLS: certificates as files or PEM, and errors that name the options."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from headwater.core.errors import SourceError
from headwater.core.tls import TlsSettings


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
        with pytest.raises(SourceError, match=f"my-{next(iter(wrong))}"):
            TlsSettings(**wrong, options=("my-ca", "my-certificate", "my-key")).context()
