"""SASL: logging in over a connection that is open (KIP-43, KIP-152)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from headwater.core.errors import AuthenticationError, HeadwaterError, OptionError
from headwater.core.secrets import kept_secret
from headwater.enumerators.kafka.client.entra import EntraId
from headwater.enumerators.kafka.client.errors import from_code
from headwater.enumerators.kafka.client.metadata import BrokerAddress
from headwater.enumerators.kafka.client.msk_iam import MskIam
from headwater.enumerators.kafka.client.sasl_config import SaslConfig

_LEAST_ITERATIONS: Final = 4_096


def authenticate(ask: Callable[[Any], Any], config: SaslConfig, address: BrokerAddress) -> int:
    """Log in over a connection that has exchanged nothing but ApiVersions.

    Args:
        ask: sends a request and returns the response.
        config: mechanism and credentials.
        address: the broker's, for messages.

    Returns:
        How long the session lasts, in milliseconds (KIP-368); 0 if it has no end.

    Raises:
        AuthenticationError: wrong credentials, or a mechanism that the broker does not offer. Names
            mechanism, user and option, never a secret.
        OptionError: the token provider cannot be loaded in this process.
    """
    login = f"{config.mechanism} log-in to the Kafka broker {address}"
    if config.username:
        login += f" as {config.username!r}"
    handshake = ask(SaslHandshakeRequest(mechanism=config.mechanism, min_version=1))
    if handshake.error_code and handshake.mechanisms:
        offered = ", ".join(sorted(map(str, handshake.mechanisms)))
        raise AuthenticationError(
            f"{login}: the broker offers {offered}; mend kafka.sasl.mechanism", source="kafka"
        )
    if handshake.error_code:
        raise from_code(handshake.error_code, what=login)
    try:
        return _exchange(ask, _mechanism(config), login, config)
    except HeadwaterError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        # With SCRAM the broker proves that it knows our password. kafka-python's mechanism raises these when
        # the proof is wrong, or null.
        raise AuthenticationError(
            f"{login}: the broker's answer proves nothing ({error}); see {config.option}", source="kafka"
        ) from error


def _exchange(ask: Callable[[Any], Any], mechanism: Any, login: str, config: SaslConfig) -> int:
    lifetime_ms = 0
    while not mechanism.is_done():
        response = ask(SaslAuthenticateRequest(auth_bytes=mechanism.auth_bytes()))
        if response.error_code:
            raise AuthenticationError(
                f"{login} failed: {response.error_message or 'refused'}; see {config.option}", source="kafka"
            )
        if config.mechanism.startswith("SCRAM"):
            _check_iterations(response.auth_bytes)
        mechanism.receive(response.auth_bytes)
        lifetime_ms = response.session_lifetime_ms
    if not mechanism.is_authenticated():
        raise AuthenticationError(f"{login} failed; see {config.option}", source="kafka")
    return max(0, lifetime_ms)


def _check_iterations(message: bytes) -> None:
    """Refuse a challenge that is too cheap, as Java's client does.

    Who listens in, or sits between, could try passwords against an answer to it (RFC 5802, RFC 7677).

    Raises:
        ValueError: it asks for fewer iterations than Kafka lets anybody store.
    """
    for attribute in message.decode().split(","):
        if attribute.startswith("i=") and int(attribute.removeprefix("i=")) < _LEAST_ITERATIONS:
            raise ValueError(f"it asks for {attribute[2:]} iterations, fewer than {_LEAST_ITERATIONS}")


def _mechanism(config: SaslConfig) -> Any:
    make = get_sasl_mechanism(config.mechanism)
    if config.mechanism == "OAUTHBEARER":
        return make(
            sasl_oauth_token_provider=_CloudTokens(config.cloud) if config.cloud else _TokenProvider(config)
        )
    username = config.username
    if config.mechanism.startswith("SCRAM"):
        username = username.replace("=", "=3D").replace(",", "=2C")  # RFC 5802, saslname
    return make(
        sasl_mechanism=config.mechanism,
        sasl_plain_username=username,
        sasl_plain_password=kept_secret(config.password, config.option),
    )


class _TokenProvider(AbstractTokenProvider):  # type: ignore[misc] # kafka-python has no types
    """The user's function as kafka-python calls it."""

    def __init__(self, config: SaslConfig) -> None:
        self._config = config
        self._function = _load(config)

    def token(self) -> str:
        written = f"{self._config.option}={self._config.token_provider}"
        try:
            token = self._function()
        except HeadwaterError:
            raise
        except Exception as error:
            # Its message is left out: it may hold the token.
            raise AuthenticationError(f"{written} raised {type(error).__name__}", source="kafka") from error
        if not isinstance(token, str) or not token:
            raise AuthenticationError(
                f"{written} returned {type(token).__name__}, not a token (str)", source="kafka"
            )
        return token

    def extensions(self) -> dict[str, str]:
        return dict(self._config.extensions)


class _CloudTokens(AbstractTokenProvider):  # type: ignore[misc] # kafka-python has no types
    """A cloud's tokens as kafka-python asks for them."""

    def __init__(self, cloud: MskIam | EntraId) -> None:
        self._cloud = cloud

    def token(self) -> str:
        return self._cloud.token()


def _load(config: SaslConfig) -> Callable[[], object]:
    module, _, function = config.token_provider.partition(":")
    try:
        target: Any = importlib.import_module(module)
        for name in function.split("."):
            target = getattr(target, name)
    except (ImportError, AttributeError) as error:
        raise OptionError(
            f"{config.token_provider} cannot be loaded in this process: {error}", option=config.option
        ) from error
    return target  # type: ignore[no-any-return]
