"""Kafka's error codes, kafka-python's exceptions and the system's errors, as headwater's errors.

No other module translates them.
"""

from __future__ import annotations

import functools
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from kafka import errors as kafka_errors

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    CorruptRecordError,
    DataLossError,
    HeadwaterError,
    NoConnectionError,
    OptionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.enumerators.kafka.client.metadata import BrokerAddress

T = TypeVar("T")
P = ParamSpec("P")
_REBOOTSTRAP_REQUIRED = 129
"""KIP-1102: the client is to begin again at its bootstrap servers. kafka-python does not know the code."""

_KINDS: dict[type[Exception], type[HeadwaterError]] = {
    # Base classes: a class that is not in this table becomes what its nearest ancestor in it becomes.
    kafka_errors.KafkaError: SourceError,
    kafka_errors.RetriableError: TransientSourceError,
    kafka_errors.AuthorizationError: AuthorizationError,
    # What kafka-python raises itself.
    kafka_errors.KafkaConfigurationError: OptionError,
    kafka_errors.LogTruncationError: DataLossError,
    # What brokers answer.
    kafka_errors.UnknownError: TransientSourceError,
    kafka_errors.OffsetOutOfRangeError: DataLossError,
    kafka_errors.CorruptRecordError: CorruptRecordError,
    kafka_errors.InvalidRecordError: CorruptRecordError,
    kafka_errors.UnknownTopicOrPartitionError: UnknownSplitError,
    kafka_errors.UnknownTopicIdError: UnknownSplitError,
    kafka_errors.InconsistentTopicIdError: UnknownSplitError,
    kafka_errors.InvalidTopicError: UnknownSplitError,
    kafka_errors.BrokerNotAvailableError: TransientSourceError,
    kafka_errors.UnsupportedSaslMechanismError: AuthenticationError,
    kafka_errors.IllegalSaslStateError: AuthenticationError,
    kafka_errors.SaslAuthenticationFailedError: AuthenticationError,
    kafka_errors.DelegationTokenAuthDisabledError: AuthenticationError,
    kafka_errors.DelegationTokenNotFoundError: AuthenticationError,
    kafka_errors.DelegationTokenOwnerMismatchError: AuthenticationError,
    kafka_errors.DelegationTokenRequestNotAllowedError: AuthenticationError,
    kafka_errors.DelegationTokenExpiredError: AuthenticationError,
    kafka_errors.UnacceptableCredentialError: AuthenticationError,
}

_CERTIFICATE_ALERTS = ("CERTIFICATE", "UNKNOWN_CA", "HANDSHAKE_FAILURE", "ACCESS_DENIED", "DECRYPT_ERROR")


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission that Kafka's authorizer must give, in Kafka's own terms.

    Attributes:
        operation: Describe or Read.
        resource: topic, group or cluster.
        name: of the topic or group.
    """

    operation: str
    resource: str
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource} {self.name!r}" if self.name else f"the {self.resource}"
        return f"{self.operation} on {resource}"

    @property
    def grant(self) -> str:
        """The command that an administrator runs."""
        flag = f"--{self.resource} {self.name}".strip()
        return f"kafka-acls.sh --add --allow-principal User:<this user> --operation {self.operation} {flag}"


def kind_of(error: type[Exception]) -> type[HeadwaterError]:
    """Return the class of ours for a class of kafka-python's errors."""
    return next((_KINDS[ancestor] for ancestor in error.__mro__ if ancestor in _KINDS), SourceError)


def metadata_is_stale(code: int) -> bool:
    """Whether a broker's answer means that another broker may lead the partition by now.

    The caller asks for the metadata again, and then the new leader.
    """
    return bool(kafka_errors.for_code(code).invalid_metadata)


def from_code(
    code: int,
    *,
    what: str,
    needs: Permission | None = None,
    split: str | None = None,
    position: object = None,
) -> SourceError:
    """Return a broker's error code as an error, to be raised.

    Args:
        code: not 0.
        what: the question, for example ``offsets of topic 'orders'``; begins the message.
        needs: the permission for it.
        split: the partition, where one is concerned.
        position: the offset that was to be read, where one is concerned.
    """
    error = kafka_errors.for_code(code)
    kind = kind_of(error)
    if code not in kafka_errors.kafka_errors:
        kind = TransientSourceError if code == _REBOOTSTRAP_REQUIRED else SourceError
    assert issubclass(kind, SourceError)
    return kind(f"{what}: {_explain(error, code, needs)}", source="kafka", split=split, position=position)


def from_kafka_error(error: Exception, *, what: str) -> HeadwaterError:
    """Return an exception that kafka-python raised as one of ours, to be raised from it."""
    kind = kind_of(type(error))
    if issubclass(kind, OptionError):
        return kind(f"{what}: {error}")
    assert issubclass(kind, SourceError)
    return kind(f"{what}: {error}", source="kafka")


def of_answer(read: Callable[P, T]) -> Callable[P, T]:
    """Let a function that reads a decoded answer raise `CorruptRecordError` where the answer has no sense.

    kafka-python takes a null where the protocol allows none, for any array, text or struct.
    """

    @functools.wraps(read)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except HeadwaterError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise CorruptRecordError(
                f"a Kafka broker answers with something that its protocol does not allow: {error}",
                source="kafka",
            ) from error

    return checked


def from_os_error(error: OSError, address: BrokerAddress, *, doing: str) -> SourceError:
    """Return an error of the network as one of ours, to be raised from it.

    Args:
        error: of a socket, of name resolution or of TLS.
        address: the broker's.
        doing: for example ``connecting to``; the address follows it in the message.
    """
    kind, reason = _of_tls(error) if isinstance(error, ssl.SSLError) else _of_network(error)
    return kind(f"{doing} the Kafka broker {address}: {reason}", source="kafka")


def _explain(error: Any, code: int, needs: Permission | None) -> str:
    answer = f"the broker answered {error.message or 'an unknown error'} ({code})"
    if issubclass(error, kafka_errors.AuthorizationError):
        if needs is None:
            return f"{answer}: this user lacks a permission"
        return f"{answer}: this user lacks the permission {needs}. Grant it: {needs.grant}"
    if error is kafka_errors.IllegalSaslStateError:
        return (
            f"{answer}: this listener knows no SASL; mend kafka.security.protocol "
            "or the port in kafka.bootstrap.servers"
        )
    # The name of a retriable error says more than kafka-python's description of it.
    return answer if error.retriable or not error.description else f"{answer}: {error.description}"


def _of_network(error: OSError) -> tuple[type[SourceError], str]:
    hint = "; see kafka.bootstrap.servers, and advertised.listeners of the broker"
    if isinstance(error, socket.gaierror):
        return NoConnectionError, f"its name cannot be resolved ({error.strerror}){hint}"
    if isinstance(error, TimeoutError):
        return TransientSourceError, f"no answer in time ({error}){hint}"
    if isinstance(error, ConnectionRefusedError):
        return NoConnectionError, f"nothing listens there{hint}"
    if isinstance(error, ConnectionError):
        return TransientSourceError, (
            f"it closed the connection ({error}). It may have restarted; if it always does this, "
            "kafka.security.protocol does not fit the listener"
        )
    return TransientSourceError, f"{error.strerror or error}{hint}"


def _of_tls(error: ssl.SSLError) -> tuple[type[SourceError], str]:
    reason = getattr(error, "reason", None) or str(error)  # Python's own TLS errors have none
    if isinstance(error, ssl.SSLCertVerificationError):
        why = getattr(error, "verify_message", str(error)).rstrip(".")
        return AuthenticationError, (
            f"its certificate is not trusted: {why}. See kafka.ssl.truststore.location (whose certificates "
            "are trusted) and kafka.ssl.endpoint.identification.algorithm (whether the host's name counts)"
        )
    if "ALERT" in reason and any(alert in reason for alert in _CERTIFICATE_ALERTS):
        return AuthenticationError, (
            f"it refused our certificate, or the lack of one ({reason}); "
            "see kafka.ssl.keystore.location or kafka.ssl.keystore.key"
        )
    if "WRONG_VERSION_NUMBER" in reason or "HTTP_REQUEST" in reason:
        return SourceError, (
            f"it does not speak TLS there ({reason}); "
            "mend kafka.security.protocol, or the port in kafka.bootstrap.servers"
        )
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return TransientSourceError, (
            "it closed the connection during TLS. It may be restarting; if it always does this, the listener "
            "does not speak TLS: see kafka.security.protocol and the port in kafka.bootstrap.servers"
        )
    return SourceError, f"TLS failed: {reason}"
