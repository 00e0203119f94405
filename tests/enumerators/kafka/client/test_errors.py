from __future__ import annotations

import inspect
import pickle
import socket
import ssl

import pytest
from kafka import errors as kafka_errors

from headwater.core import errors
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
from headwater.enumerators.kafka.client.errors import (
    Permission,
    from_code,
    from_kafka_error,
    from_os_error,
    kind_of,
    metadata_is_stale,
)
from headwater.enumerators.kafka.client.metadata import BrokerAddress

ADDRESS = BrokerAddress("broker", 9092)
CLASSES = [
    found for _, found in inspect.getmembers(kafka_errors, inspect.isclass) if issubclass(found, Exception)
]
CODES = sorted(code for code in kafka_errors.kafka_errors if code)
NAMED = [
    name for name, found in inspect.getmembers(errors, inspect.isclass) if issubclass(found, SourceError)
]


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_every_error_of_kafka_python_becomes_one_of_ours(error: type[Exception]) -> None:
    raised = error({}) if error is kafka_errors.LogTruncationError else error("why")
    mapped = from_kafka_error(raised, what="asking")
    assert type(mapped) is kind_of(error)
    assert type(mapped).__name__ in NAMED or isinstance(mapped, OptionError)
    assert str(mapped).startswith("asking: ")


@pytest.mark.parametrize("code", CODES)
def test_every_code_of_a_broker_becomes_one_of_ours(code: int) -> None:
    mapped = from_code(code, what="asking", split="orders-0", position=7)
    assert isinstance(mapped, SourceError)
    assert f"({code})" in str(mapped)
    assert (mapped.source, mapped.split, mapped.position) == ("kafka", "orders-0", 7)
    assert str(pickle.loads(pickle.dumps(mapped))) == str(mapped)


@pytest.mark.parametrize("code", CODES)
def test_what_kafka_python_would_ask_again_is_transient_or_an_unknown_split(code: int) -> None:
    retriable = kafka_errors.for_code(code).retriable
    assert not retriable or isinstance(from_code(code, what="x"), TransientSourceError | UnknownSplitError)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("OffsetOutOfRangeError", DataLossError),
        ("LogTruncationError", DataLossError),
        ("CorruptRecordError", CorruptRecordError),
        ("UnknownTopicOrPartitionError", UnknownSplitError),
        ("UnknownTopicIdError", UnknownSplitError),
        ("InconsistentTopicIdError", UnknownSplitError),
        ("InvalidTopicError", UnknownSplitError),
        ("NotLeaderForPartitionError", TransientSourceError),
        ("FencedLeaderEpochError", TransientSourceError),
        ("KafkaStorageError", TransientSourceError),
        ("FetchSessionIdNotFoundError", TransientSourceError),
        ("ThrottlingQuotaExceededError", TransientSourceError),
        ("UnknownError", TransientSourceError),
        ("KafkaTimeoutError", TransientSourceError),
        ("KafkaConnectionError", TransientSourceError),
        ("SaslAuthenticationFailedError", AuthenticationError),
        ("UnsupportedSaslMechanismError", AuthenticationError),
        ("IllegalSaslStateError", AuthenticationError),
        ("TopicAuthorizationFailedError", AuthorizationError),
        ("ClusterAuthorizationFailedError", AuthorizationError),
        ("GroupAuthorizationFailedError", AuthorizationError),
        ("KafkaConfigurationError", OptionError),
        ("UnsupportedVersionError", SourceError),
        ("InvalidRequestError", SourceError),
        ("UnsupportedCompressionTypeError", SourceError),
    ],
)
def test_the_kinds_that_matter(name: str, kind: type[HeadwaterError]) -> None:
    assert kind_of(getattr(kafka_errors, name)) is kind


def test_codes_younger_than_the_library_are_final_but_for_the_call_to_start_over() -> None:
    assert type(from_code(999, what="x")) is SourceError
    assert type(from_code(129, what="x")) is TransientSourceError


def test_a_missing_permission_is_named_with_the_command_that_grants_it() -> None:
    message = str(
        from_code(29, what="offsets of topic 'orders'", needs=Permission("Describe", "topic", "orders"))
    )
    assert "lacks the permission Describe on topic 'orders'" in message
    assert (
        "kafka-acls.sh --add --allow-principal User:<this user> --operation Describe --topic orders"
        in message
    )
    assert Permission("Describe", "cluster").grant.endswith("--operation Describe --cluster")
    assert str(Permission("Describe", "cluster")) == "Describe on the cluster"


def test_stale_metadata_is_told_from_other_answers() -> None:
    assert all(metadata_is_stale(code) for code in (3, 5, 6, 56, 74, 75, 100, 103))
    assert not any(metadata_is_stale(code) for code in (0, 1, 2, 29, 35, 58))


@pytest.mark.parametrize(
    ("error", "kind", "hint"),
    [
        (
            socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
            NoConnectionError,
            "cannot be resolved",
        ),
        (TimeoutError("5 ms have passed"), TransientSourceError, "no answer in time"),
        (
            ConnectionRefusedError(111, "Connection refused"),
            NoConnectionError,
            "nothing listens there; see kafka.bootstrap.servers",
        ),
        (ConnectionResetError(104, "reset"), TransientSourceError, "kafka.security.protocol"),
        (BrokenPipeError(32, "Broken pipe"), TransientSourceError, "closed the connection"),
        (OSError(113, "No route to host"), TransientSourceError, "No route to host"),
        (ssl.SSLEOFError(8, "EOF"), TransientSourceError, "does not speak TLS"),
    ],
)
def test_what_the_network_says_names_the_broker_and_the_option(
    error: OSError, kind: type[SourceError], hint: str
) -> None:
    mapped = from_os_error(error, ADDRESS, doing="connecting to")
    assert type(mapped) is kind
    assert str(mapped).startswith("connecting to the Kafka broker broker:9092: ")
    assert hint in str(mapped)


@pytest.mark.parametrize(
    ("reason", "kind", "hint"),
    [
        ("SSLV3_ALERT_BAD_CERTIFICATE", AuthenticationError, "kafka.ssl.keystore.location"),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", AuthenticationError, "kafka.ssl.keystore.location"),
        ("TLSV1_ALERT_UNKNOWN_CA", AuthenticationError, "kafka.ssl.keystore.location"),
        ("WRONG_VERSION_NUMBER", SourceError, "does not speak TLS"),
        ("NO_SHARED_CIPHER", SourceError, "NO_SHARED_CIPHER"),
    ],
)
def test_what_tls_says_is_told_apart(reason: str, kind: type[SourceError], hint: str) -> None:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    mapped = from_os_error(error, ADDRESS, doing="reading from")
    assert type(mapped) is kind
    assert hint in str(mapped)
