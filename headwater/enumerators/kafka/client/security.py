"""Proving who we are, and seeing who they are: TLS contexts and SASL exchanges."""

from __future__ import annotations

import importlib
import re
import ssl
import tempfile
from collections.abc import Callable
from typing import Any

from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from headwater.core.errors import AuthenticationError, HeadwaterError, OptionError
from headwater.enumerators.kafka.client.errors import from_code
from headwater.enumerators.kafka.client.property_values import BrokerAddress
from headwater.enumerators.kafka.client.security_config import SaslConfig, TlsConfig

__all__ = ["authenticate", "ssl_context"]

_PEM_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def ssl_context(config: TlsConfig) -> ssl.SSLContext:
    """Return a new TLS context.

    Reads files: on the host that connects, at the moment it connects, so that renewed certificates are seen.

    Raises:
        OptionError: a file is missing, a certificate or key cannot be read, or its password is wrong.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = config.check_hostname
    context.minimum_version, context.maximum_version = (
        _VERSIONS[config.protocols[0]],
        _VERSIONS[config.protocols[-1]],
    )
    _trust(context, config)
    if config.certificate_path or config.certificate:
        _identify(context, config)
    return context


def authenticate(ask: Callable[[Any], Any], config: SaslConfig, address: BrokerAddress) -> int:
    """Log in over a connection that has done nothing but ApiVersions (KIP-43, KIP-152).

    Args:
        ask: sends a request and returns the response.
        config: mechanism and credentials.
        address: the broker's, for messages.

    Returns:
        How long the broker believes it, in milliseconds (KIP-368); 0 if without end.

    Raises:
        AuthenticationError: wrong credentials, or a mechanism that the broker does not offer. Names
            mechanism, user and option, never a secret.
        OptionError: the token provider cannot be loaded.
    """
    who = f"{config.mechanism} log-in to the Kafka broker {address}" + (
        f" as {config.username!r}" if config.username else ""
    )
    handshake = ask(SaslHandshakeRequest(mechanism=config.mechanism, min_version=1))
    if handshake.error_code and handshake.mechanisms:
        offered = ", ".join(sorted(handshake.mechanisms))
        raise AuthenticationError(
            f"{who}: the broker offers {offered}; mend kafka.sasl.mechanism", source="kafka"
        )
    if handshake.error_code:
        raise from_code(handshake.error_code, what=who)
    try:
        return _exchange(ask, _mechanism(config), who, config)
    except HeadwaterError:
        raise
    except (ValueError, LookupError) as error:
        # What kafka-python's mechanisms make of an answer that only a broker without our credentials would
        # give.
        raise AuthenticationError(
            f"{who}: the broker's answer proves nothing ({error}); see {config.option}", source="kafka"
        ) from error


def _exchange(ask: Callable[[Any], Any], mechanism: Any, who: str, config: SaslConfig) -> int:
    lifetime_ms = 0
    while not mechanism.is_done():
        response = ask(SaslAuthenticateRequest(auth_bytes=mechanism.auth_bytes()))
        if response.error_code:
            raise AuthenticationError(
                f"{who} failed: {response.error_message or 'refused'}; see {config.option}", source="kafka"
            )
        mechanism.receive(response.auth_bytes)
        lifetime_ms = response.session_lifetime_ms
    if not mechanism.is_authenticated():
        raise AuthenticationError(f"{who} failed; see {config.option}", source="kafka")
    return max(0, lifetime_ms)


def _mechanism(config: SaslConfig) -> Any:
    make = get_sasl_mechanism(config.mechanism)
    if config.mechanism == "OAUTHBEARER":
        return make(sasl_oauth_token_provider=_TokenProvider(config))
    username = config.username
    if config.mechanism.startswith("SCRAM"):
        username = username.replace("=", "=3D").replace(",", "=2C")  # RFC 5802, saslname
    return make(
        sasl_mechanism=config.mechanism, sasl_plain_username=username, sasl_plain_password=config.password
    )


class _TokenProvider(AbstractTokenProvider):  # type: ignore[misc] # kafka-python has no types
    """The user's function as kafka-python wants it."""

    def __init__(self, config: SaslConfig) -> None:
        self._named, self._option = config.token_provider, config.option
        self._function, self._extensions = _load(config), dict(config.extensions)

    def token(self) -> str:
        try:
            token = self._function()
        except HeadwaterError:
            raise
        except Exception as error:
            raise AuthenticationError(
                f"{self._option}={self._named} raised {type(error).__name__}", source="kafka"
            ) from error
        if not isinstance(token, str) or not token:
            raise AuthenticationError(
                f"{self._option}={self._named} returned {type(token).__name__}, not a token (str)",
                source="kafka",
            )
        return token

    def extensions(self) -> dict[str, str]:
        return self._extensions


def _load(config: SaslConfig) -> Callable[[], object]:
    module, _, function = config.token_provider.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in function.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise OptionError(
            f"{config.token_provider} cannot be loaded in this process: {error}", option=config.option
        ) from error
    return found  # type: ignore[no-any-return]


def _trust(context: ssl.SSLContext, config: TlsConfig) -> None:
    if not config.authorities_path and not config.authorities:
        context.load_default_certs()
        return
    option = (
        "kafka.ssl.truststore.location" if config.authorities_path else "kafka.ssl.truststore.certificates"
    )
    try:
        context.load_verify_locations(
            cafile=config.authorities_path, cadata=_lines(config.authorities) if config.authorities else None
        )
    except (OSError, ValueError) as error:
        raise OptionError(
            f"holds no PEM certificates that can be read on this host: {_reason(error)}", option=option
        ) from None


def _identify(context: ssl.SSLContext, config: TlsConfig) -> None:
    try:
        if config.certificate_path:
            context.load_cert_chain(config.certificate_path, password=lambda: config.key_password or "")
            return
        # OpenSSL reads keys from files only. This one is readable by nobody else and gone at once.
        with tempfile.NamedTemporaryFile("w", encoding="ascii", suffix=".pem") as file:
            file.write(_lines(config.key or "") + "\n" + _lines(config.certificate or "") + "\n")
            file.flush()
            context.load_cert_chain(file.name, password=lambda: config.key_password or "")
    except (OSError, ValueError) as error:
        option = "kafka.ssl.keystore.location" if config.certificate_path else "kafka.ssl.keystore.key"
        raise OptionError(
            f"holds no PEM key and certificate that fit kafka.ssl.key.password: {_reason(error)}",
            option=option,
        ) from None


def _lines(pem: str) -> str:
    """Give PEM its lines back.

    In options it is often written in one, which Java reads and OpenSSL does not.
    """
    blocks = _PEM_BLOCK.findall(pem.replace("\\n", "\n"))
    return (
        "\n".join(f"-----BEGIN {kind}-----\n{_wrap(body)}\n-----END {kind}-----" for kind, body in blocks)
        or pem
    )


def _wrap(body: str) -> str:
    if ":" in body:  # headers of an encrypted key in the old form: their lines matter
        return body.strip()
    joined = "".join(body.split())
    return "\n".join(joined[i : i + 64] for i in range(0, len(joined), 64))


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
    return str(reason or type(error).__name__)
