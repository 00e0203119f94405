"""A throw-away certificate authority, one server and one client certificate: PEM, made with ``openssl``."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from local_kafka_jars import LocalKafkaError

__all__ = ["CLIENT_NAME", "KEY_PASSWORD", "TlsFiles", "make_certificates"]

CLIENT_NAME = "client"
"""The common name of the client's certificate: with mutual TLS its principal is ``User:CN=client``."""

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")

KEY_PASSWORD = "pem-secret"
"""Unlocks `TlsFiles.client_key_encrypted`."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of the local cluster.

    Attributes:
        ca: the certificate of the authority that signed all others; what a client has to trust.
        other_ca: of an authority that signed nothing here; a client that trusts only it must refuse the
            broker.
        server: the broker's key and certificate in one file. The certificate is for ``localhost`` and nothing
            else: not for 127.0.0.1.
        client_cert: the client's certificate.
        client_key: its key, in clear.
        client_key_encrypted: the same key, locked with `KEY_PASSWORD`.
    """

    ca: Path
    other_ca: Path
    server: Path
    client_cert: Path
    client_key: Path
    client_key_encrypted: Path


def make_certificates(folder: Path) -> TlsFiles:
    """Write fresh certificates, valid for a day, into ``folder``.

    Raises:
        LocalKafkaError: there is no openssl, or it failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for authority in ("ca", "other-ca"):
        _authority(folder, authority)
    _signed(folder, "server", "localhost", "subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\n")
    _signed(folder, CLIENT_NAME, CLIENT_NAME, "extendedKeyUsage=clientAuth\n")
    server = folder / "server-both.pem"
    server.write_text((folder / "server.key").read_text() + (folder / "server.pem").read_text())
    locked = folder / "client-locked.key"
    _openssl(
        "pkcs8", "-topk8", "-in", folder / "client.key", "-out", locked, "-passout", f"pass:{KEY_PASSWORD}"
    )
    return TlsFiles(
        folder / "ca.pem",
        folder / "other-ca.pem",
        server,
        folder / "client.pem",
        folder / "client.key",
        locked,
    )


def _authority(folder: Path, name: str) -> None:
    subject = ("-x509", "-days", "1", "-subj", f"/CN={name}")
    _openssl("req", *NEW_KEY, *subject, "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")


def _signed(folder: Path, name: str, common_name: str, extensions: str) -> None:
    key = folder / f"{name}.key"
    request = folder / f"{name}.csr"
    more = folder / f"{name}.ext"
    more.write_text(extensions)
    _openssl("req", *NEW_KEY, "-subj", f"/CN={common_name}", "-keyout", key, "-out", request)
    authority = ("-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial")
    _openssl(
        "x509",
        "-req",
        "-days",
        "1",
        "-in",
        request,
        *authority,
        "-extfile",
        more,
        "-out",
        folder / f"{name}.pem",
    )


def _openssl(*arguments: str | Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        raise LocalKafkaError(
            "TLS needs the openssl program to make certificates (Debian: apt-get install openssl)"
        )
    done = subprocess.run(
        [program, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise LocalKafkaError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")
