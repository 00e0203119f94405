"""TLS: settings by the ``ssl.*`` properties, and the TLS context that is made of them.

The settings are checked on the driver. Files are read where a connection is opened, not before.
"""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from shlex import quote
from typing import Any

from headwater.core.errors import OptionError
from headwater.core.secrets import kept_secret

_PEM_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_PEM_LINE_CHARACTERS = 64
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """How to encrypt. Its repr shows no secret.

    Attributes:
        protocols: the versions of TLS to offer, ascending.
        check_hostname: whether the broker's certificate must name its host.
        authorities_path: a PEM file of trusted authorities.
        authorities: the same as text. If both are None, the host's own authorities are trusted.
        certificate_path: a PEM file with our private key and certificates (mutual TLS).
        certificate: our certificates as text.
        key: our private key as text.
        key_password: the password of the private key, as `resolved_secret` takes it.
    """

    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    check_hostname: bool = True
    authorities_path: str | None = None
    authorities: str | None = field(default=None, repr=False)
    certificate_path: str | None = None
    certificate: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)


def check_stores(properties: Mapping[str, str]) -> None:
    """Refuse Java's own key and trust stores, each with the commands that convert it.

    Called before all other checks. Their errors would mislead a user whose store is not PEM.

    Args:
        properties: the user's texts, by property.

    Raises:
        OptionError: ``ssl.truststore.location`` or ``ssl.keystore.location`` is not declared to be PEM.
    """
    for store, convert in (("truststore", _convert_truststore), ("keystore", _convert_keystore)):
        kind = properties.get(f"ssl.{store}.type", "JKS").strip().upper()
        location = properties.get(f"ssl.{store}.location", "").strip()
        if "-----BEGIN" in location:
            inline = "certificates" if store == "truststore" else "key"
            raise OptionError(
                f"is the path of a file; PEM itself belongs into kafka.ssl.{store}.{inline}",
                option=f"kafka.ssl.{store}.location",
            )
        if not location or kind == "PEM":
            continue
        pem = str(PurePath(location).with_suffix(".pem"))
        raise OptionError(
            f"{location!r} is a {kind} store, which only Java can read. If it is PEM already, set "
            f"kafka.ssl.{store}.type=PEM. Otherwise convert it:\n"
            f"    {convert(location, kind, pem)}\n"
            f"and set kafka.ssl.{store}.type=PEM and kafka.ssl.{store}.location={pem}, "
            f"without kafka.ssl.{store}.password",
            option=f"kafka.ssl.{store}.location",
        )


def _convert_truststore(location: str, kind: str, pem: str) -> str:
    return f"keytool -list -rfc -keystore {quote(location)} -storetype {kind} > {quote(pem)}"


def _convert_keystore(location: str, kind: str, pem: str) -> str:
    if kind == "PKCS12":
        return f"openssl pkcs12 -in {location} -nodes -out {pem}"
    p12 = str(PurePath(location).with_suffix(".p12"))
    return (
        f"keytool -importkeystore -srckeystore {location} -destkeystore {p12} -deststoretype PKCS12 "
        f"&& openssl pkcs12 -in {p12} -nodes -out {pem}"
    )


def tls_config(values: Mapping[str, Any], properties: Mapping[str, str]) -> TlsConfig:
    """Join the ``ssl.*`` properties.

    Args:
        values: checked values, by property.
        properties: the user's texts, by property.

    Raises:
        OptionError: two of them clash, or one lacks its other half.
    """
    for store, inline in (("truststore", "ssl.truststore.certificates"), ("keystore", "ssl.keystore.key")):
        if values[inline] and properties.get(f"ssl.{store}.location", "").strip():
            raise OptionError(
                f"clashes with kafka.ssl.{store}.location: give one of them", option=f"kafka.{inline}"
            )
        if values[inline] and values[f"ssl.{store}.type"] != "PEM":
            raise OptionError(f"needs kafka.ssl.{store}.type=PEM", option=f"kafka.{inline}")
    if bool(values["ssl.keystore.key"]) != bool(values["ssl.keystore.certificate.chain"]):
        raise OptionError(
            "kafka.ssl.keystore.key and kafka.ssl.keystore.certificate.chain need each other",
            option="kafka.ssl.keystore.key",
        )
    highest = values["ssl.protocol"]
    enabled = sorted(values["ssl.enabled.protocols"])
    return TlsConfig(
        protocols=tuple(name for name in enabled if highest == "TLS" or name <= highest) or (highest,),
        check_hostname=values["ssl.endpoint.identification.algorithm"] == "https",
        authorities_path=values["ssl.truststore.location"] or None,
        authorities=values["ssl.truststore.certificates"] or None,
        certificate_path=values["ssl.keystore.location"] or None,
        certificate=values["ssl.keystore.certificate.chain"] or None,
        key=values["ssl.keystore.key"] or None,
        key_password=values["ssl.key.password"] or None,
    )


def ssl_context(config: TlsConfig) -> ssl.SSLContext:
    """Return a new TLS context.

    It reads the files anew for each connection, so that renewed certificates are seen.

    Raises:
        OptionError: a file is missing, a certificate or key cannot be read, or its password is wrong.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = config.check_hostname
    context.minimum_version = _VERSIONS[config.protocols[0]]
    context.maximum_version = _VERSIONS[config.protocols[-1]]
    _load_authorities(context, config)
    if config.certificate_path or config.certificate:
        _load_certificate(context, config)
    return context


def _load_authorities(context: ssl.SSLContext, config: TlsConfig) -> None:
    if not config.authorities_path and not config.authorities:
        context.load_default_certs()
        return
    authorities = _with_line_breaks(config.authorities) if config.authorities else None
    try:
        context.load_verify_locations(cafile=config.authorities_path, cadata=authorities)
    except (OSError, ValueError) as error:
        option = "location" if config.authorities_path else "certificates"
        raise OptionError(
            f"holds no PEM certificates that can be read on this host: {_reason(error)}",
            option=f"kafka.ssl.truststore.{option}",
        ) from None


def _load_certificate(context: ssl.SSLContext, config: TlsConfig) -> None:
    def password() -> str:
        # Never None: OpenSSL would ask at the terminal, and the process would hang.
        return kept_secret(config.key_password or "", "option 'kafka.ssl.key.password'")

    try:
        if config.certificate_path:
            context.load_cert_chain(config.certificate_path, password=password)
            return
        # OpenSSL reads keys from files only. Only this user can read this one, and it is deleted at once.
        with tempfile.NamedTemporaryFile("w", encoding="ascii", suffix=".pem") as file:
            for pem in (config.key, config.certificate):
                file.write(_with_line_breaks(pem or "") + "\n")
            file.flush()
            context.load_cert_chain(file.name, password=password)
    except (OSError, ValueError) as error:
        option = "kafka.ssl.keystore.location" if config.certificate_path else "kafka.ssl.keystore.key"
        raise OptionError(
            f"holds no PEM key and certificate that fit kafka.ssl.key.password: {_reason(error)}",
            option=option,
        ) from None


def _with_line_breaks(pem: str) -> str:
    """Return PEM in lines.

    In options it is often written in one line, which Java reads and OpenSSL does not.
    """
    blocks = _PEM_BLOCK.findall(pem.replace("\\n", "\n"))
    wrapped = [f"-----BEGIN {kind}-----\n{_wrap(body)}\n-----END {kind}-----" for kind, body in blocks]
    return "\n".join(wrapped) or pem


def _wrap(body: str) -> str:
    if ":" in body:  # a key that is encrypted in the old form has headers, whose lines must stay as they are
        return body.strip()
    joined = "".join(body.split())
    lines = range(0, len(joined), _PEM_LINE_CHARACTERS)
    return "\n".join(joined[start : start + _PEM_LINE_CHARACTERS] for start in lines)


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
    return str(reason or type(error).__name__)
