"""Connections to a broker with TLS and SASL, and how they are refused."""

from __future__ import annotations

import pytest
from kafka.protocol.metadata import MetadataRequest

from headwater.core.errors import (
    HeadwaterError,
)
from headwater.enumerators.kafka.client.connection import BrokerConnection
from local_kafka import KEY_PASSWORD, TlsFiles
from tests.enumerators.kafka.client.listeners import client
from tests.enumerators.kafka.conftest import PASSWORDS

MODULES = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
}


def connect(bootstrap: str, **properties: str) -> BrokerConnection:
    settings = client(bootstrap, **properties)
    return BrokerConnection(settings.bootstrap_servers[0], settings)


def topics(connection: BrokerConnection) -> list[str]:
    """Ask a question that only a client who is let in gets answered."""
    try:
        return [
            topic.name
            for topic in connection.call(MetadataRequest(topics=None, allow_auto_topic_creation=False)).topics
        ]
    finally:
        connection.close()


def whoami() -> MetadataRequest:
    return MetadataRequest(topics=[], min_version=1)


def refused(connection: BrokerConnection, kind: type[HeadwaterError]) -> str:
    with pytest.raises(kind) as caught:
        topics(connection)
    assert type(caught.value) is kind
    assert not any(secret in str(caught.value) for secret in (*PASSWORDS.values(), "hunter2", KEY_PASSWORD))
    assert not connection.is_open
    return str(caught.value)


def mutual(files: TlsFiles) -> dict[str, str]:
    return {
        "security_protocol": "SSL",
        "ssl_truststore_type": "PEM",
        "ssl_truststore_location": str(files.ca),
        "ssl_keystore_type": "PEM",
        "ssl_keystore_key": files.client_key.read_text(),
        "ssl_keystore_certificate_chain": files.client_cert.read_text(),
    }


def login(mechanism: str, user: str, password: str, protocol: str = "SASL_PLAINTEXT") -> dict[str, str]:
    module = f"org.apache.kafka.common.security.{MODULES[mechanism]}"
    jaas = f'{module} required username="{user}" password="{password}";'
    return {"security_protocol": protocol, "sasl_mechanism": mechanism, "sasl_jaas_config": jaas}
