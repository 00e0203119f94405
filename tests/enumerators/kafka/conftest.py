"""What the tests of Kafka's client share: a broker with locks on its doors, and listeners that misbehave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_kafka import LocalKafka, TlsFiles
from tests.enumerators.kafka.client.listeners import Listen, listening

PASSWORDS = {"alice": "alice-secret", "bob": "bob-secret"}


@pytest.fixture(scope="session")
def secure_kafka() -> Iterator[LocalKafka]:
    """TLS (client certificates required on SSL, SCRAM-SHA-256 alone on SASL_SSL), SASL and ACLs.

    SASL sessions of an hour.
    """
    config = {
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.sasl_ssl.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "connections.max.reauth.ms": "3600000",
    }
    with LocalKafka(tls=True, users=PASSWORDS, authorize=True, config=config) as running:
        yield running


@pytest.fixture(scope="session")
def tls_files(secure_kafka: LocalKafka) -> TlsFiles:
    assert secure_kafka.tls is not None
    return secure_kafka.tls


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Start a listener that misbehaves (`listening`)."""
    with listening() as start:
        yield start
