"""TLS and SASL as settings: what ``kafka.ssl.*`` and ``kafka.sasl.*`` come to.

Reads no file and opens nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import PurePath
from shlex import quote
from typing import Any

from headwater.core.errors import OptionError
from headwater.enumerators.kafka.client import jaas

__all__ = ["SaslConfig", "TlsConfig", "check_stores", "sasl_config", "tls_config"]

_MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
}
_REFUSED = {
    "GSSAPI": "Kerberos needs a ticket cache and a native library on every executor; use SCRAM, OAUTHBEARER or client certificates",
    "AWS_MSK_IAM": "use OAUTHBEARER, with AWS's token signer in kafka.sasl.oauthbearer.token.provider",
}


class _Settings:
    """Settings that can say in one sequence all that they hold."""

    __slots__ = ()

    def identity(self) -> Iterator[str]:
        """Yield every value as text, secrets included: for digests only."""
        for attribute in fields(self):  # type: ignore[arg-type] # its heirs are dataclasses
            yield repr(getattr(self, attribute.name))


@dataclass(frozen=True, slots=True)
class TlsConfig(_Settings):
    """How to encrypt.

    Attributes:
        protocols: versions of TLS to offer.
        check_hostname: whether the broker's certificate must name its host.
        authorities_path: PEM file of trusted authorities; None with ``authorities`` None: the host's own.
        authorities: the same as text.
        certificate_path: PEM file with our private key and certificates (mutual TLS).
        certificate: our certificates as text.
        key: our private key as text.
        key_password: what the private key is encrypted with.
    """

    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    check_hostname: bool = True
    authorities_path: str | None = None
    authorities: str | None = field(default=None, repr=False)
    certificate_path: str | None = None
    certificate: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SaslConfig(_Settings):
    """How to log in.

    Attributes:
        mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.
        username: for PLAIN and SCRAM.
        password: for PLAIN and SCRAM.
        token_provider: ``package.module:function``, for OAUTHBEARER.
        extensions: SASL extensions (KIP-342), for OAUTHBEARER.
        option: the option that holds the credentials, for messages.
    """

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token_provider: str = ""
    extensions: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    option: str = "kafka.sasl.jaas.config"


def check_stores(given: Mapping[str, str]) -> None:
    """Refuse Java's own key and trust stores, each with the commands that convert it.

    First of all checks: the rest would only confuse.

    Raises:
        OptionError: ``ssl.truststore.location`` or ``ssl.keystore.location`` is not declared to be PEM.
    """
    for store, convert in (("truststore", _convert_truststore), ("keystore", _convert_keystore)):
        kind = given.get(f"ssl.{store}.type", "JKS").strip().upper()
        location = given.get(f"ssl.{store}.location", "").strip()
        if not location or kind == "PEM":
            continue
        pem = str(PurePath(location).with_suffix(".pem"))
        raise OptionError(
            f"{location!r} is a {kind} store, which only Java can read. If it is PEM already, set kafka.ssl.{store}.type=PEM. Otherwise convert it:\n"
            f"    {convert(location, kind, pem)}\n"
            f"and set kafka.ssl.{store}.type=PEM and kafka.ssl.{store}.location={pem}, without kafka.ssl.{store}.password",
            option=f"kafka.ssl.{store}.location",
        )


def _convert_truststore(location: str, kind: str, pem: str) -> str:
    return f"keytool -list -rfc -keystore {quote(location)} -storetype {kind} > {quote(pem)}"


def _convert_keystore(location: str, kind: str, pem: str) -> str:
    if kind == "PKCS12":
        return f"openssl pkcs12 -in {location} -nodes -out {pem}"
    p12 = str(PurePath(location).with_suffix(".p12"))
    return f"keytool -importkeystore -srckeystore {location} -destkeystore {p12} -deststoretype PKCS12 && openssl pkcs12 -in {p12} -nodes -out {pem}"


def tls_config(values: Mapping[str, Any], given: Mapping[str, str]) -> TlsConfig:
    """Join the ``ssl.*`` properties.

    Args:
        values: checked values by property.
        given: what the user wrote, by property.

    Raises:
        OptionError: two of them clash, or one lacks its other half.
    """
    for store, inline in (("truststore", "ssl.truststore.certificates"), ("keystore", "ssl.keystore.key")):
        if values[inline] and given.get(f"ssl.{store}.location", "").strip():
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
    return TlsConfig(
        protocols=tuple(
            p for p in sorted(values["ssl.enabled.protocols"]) if highest == "TLS" or p <= highest
        )
        or (highest,),
        check_hostname=values["ssl.endpoint.identification.algorithm"] == "https",
        authorities_path=values["ssl.truststore.location"] or None,
        authorities=values["ssl.truststore.certificates"] or None,
        certificate_path=values["ssl.keystore.location"] or None,
        certificate=values["ssl.keystore.certificate.chain"] or None,
        key=values["ssl.keystore.key"] or None,
        key_password=values["ssl.key.password"] or None,
    )


def sasl_config(values: Mapping[str, Any], protocol: str) -> SaslConfig:
    """Join the ``sasl.*`` properties.

    Raises:
        OptionError: the mechanism is not offered, or its credentials are missing, malformed or given twice.
    """
    mechanism = _mechanism(values["sasl.mechanism"], protocol)
    entry = _jaas_entry(values["sasl.jaas.config"], mechanism)
    if mechanism == "OAUTHBEARER":
        return _oauth_config(values["sasl.oauthbearer.token.provider"], entry)
    written = values["sasl.username"], values["sasl.password"]
    if entry and any(written):
        raise OptionError(
            "clashes with kafka.sasl.username and kafka.sasl.password: give one or the others",
            option="kafka.sasl.jaas.config",
        )
    option = "kafka.sasl.jaas.config" if entry else "kafka.sasl.username and kafka.sasl.password"
    username, password = (entry.options.get("username"), entry.options.get("password")) if entry else written
    if not username or not password:
        wanted = f"{_MODULES[mechanism]} required username=... password=...;"
        raise OptionError(
            f"{mechanism} needs a user and a password: {wanted} or kafka.sasl.username and kafka.sasl.password",
            option=option,
        )
    if entry and entry.options.get("tokenauth", "").lower() == "true":
        raise OptionError(
            "delegation tokens (tokenauth) are not supported; give a user and a password", option=option
        )
    return SaslConfig(mechanism, username, password, option=option)


def _mechanism(given: str | None, protocol: str) -> str:
    offered = ", ".join(_MODULES)
    if not given:
        raise OptionError(
            f"is required with kafka.security.protocol={protocol}: one of {offered}",
            option="kafka.sasl.mechanism",
        )
    if given.upper() not in _MODULES:
        reason = _REFUSED.get(given.upper(), f"offered are {offered}")
        raise OptionError(f"{given!r} is refused: {reason}", option="kafka.sasl.mechanism")
    return given.upper()


def _jaas_entry(written: str | None, mechanism: str) -> jaas.JaasEntry | None:
    if not written or not written.strip():
        return None
    try:
        entry = jaas.parse(written)
    except ValueError as error:
        raise OptionError(str(error), option="kafka.sasl.jaas.config") from None
    if entry.module_name != _MODULES[mechanism]:
        raise OptionError(
            f"names {entry.module_name}, but kafka.sasl.mechanism={mechanism} goes with {_MODULES[mechanism]}",
            option="kafka.sasl.jaas.config",
        )
    return entry


def _oauth_config(provider: str | None, entry: jaas.JaasEntry | None) -> SaslConfig:
    option = "kafka.sasl.oauthbearer.token.provider"
    module, _, function = (provider or "").partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *function.split(".")]):
        raise OptionError(
            "OAUTHBEARER needs it: package.module:function, a function without arguments that returns a token",
            option=option,
        )
    options = entry.options if entry else {}
    extensions = tuple(
        sorted(
            (name.removeprefix("extension_"), value)
            for name, value in options.items()
            if name.startswith("extension_")
        )
    )
    return SaslConfig(
        "OAUTHBEARER", token_provider=f"{module}:{function}", extensions=extensions, option=option
    )
