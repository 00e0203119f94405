"""The properties of a broker (``server.properties``): KRaft, few threads, and listeners as asked for."""

from __future__ import annotations

import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from local_kafka_jars import LocalKafkaError
from local_kafka_tls import TlsFiles

__all__ = ["SASL_MECHANISMS", "Ports", "Security", "free_port", "host_of", "properties", "scram_credentials"]

SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
SASL_LISTENERS = ("SASL_PLAINTEXT", "SASL_SSL")
LOGIN_MODULE = "org.apache.kafka.common.security"

SMALL = {
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "group.coordinator.threads": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    # A killed broker may register again only when its old session is over.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # Tests wait for these: deleted records and topics are gone at once, and compaction comes soon.
    "log.segment.delete.delay.ms": "50",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "500",
    "log.cleaner.backoff.ms": "500",
}


def free_port() -> int:
    """Return a port that is not listened on.

    It lies below the range that the kernel gives to outgoing connections. Otherwise a client that keeps
    trying to reach a stopped broker could be connected to itself, and the broker would find its own port
    taken.
    """
    for _ in range(1000):
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise LocalKafkaError("no free port between 20000 and 32000")


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one broker."""

    plaintext: int
    controller: int = field(default_factory=free_port)
    ssl: int = field(default_factory=free_port)
    sasl_plaintext: int = field(default_factory=free_port)
    sasl_ssl: int = field(default_factory=free_port)


@dataclass(frozen=True, slots=True)
class Security:
    """Who may come in, and how.

    Attributes:
        tls: the certificates, if there are TLS listeners.
        users: names and passwords; if there are any, there are SASL listeners.
        authorize: whether ACLs decide. On the PLAINTEXT listener everything is allowed all the same.
    """

    tls: TlsFiles | None
    users: Mapping[str, str] = field(repr=False)
    authorize: bool

    def __post_init__(self) -> None:
        for name, password in self.users.items():
            if set(name + password) & set(',"[]\\'):
                raise LocalKafkaError(
                    f"user {name!r}: Kafka's format tool takes no , \" [ ] or backslash "
                    "in names and passwords"
                )

    @property
    def listeners(self) -> tuple[str, ...]:
        """The names of the listeners that clients can use."""
        wanted = {
            "PLAINTEXT": True,
            "SSL": self.tls,
            "SASL_PLAINTEXT": self.users,
            "SASL_SSL": self.tls and self.users,
        }
        return tuple(name for name, want in wanted.items() if want)


def properties(
    node_id: int, ports: Mapping[int, Ports], rack: str | None, security: Security
) -> dict[str, str]:
    """Return the properties of broker ``node_id`` of a cluster whose brokers have these ports.

    Broker 1 is the controller as well.
    """
    replicas = str(min(3, len(ports)))
    settings = {
        **SMALL,
        "process.roles": "broker,controller" if node_id == 1 else "broker",
        "node.id": str(node_id),
        "controller.quorum.voters": f"1@127.0.0.1:{ports[1].controller}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": "1",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        **_listeners(ports[node_id], security.listeners, controller=node_id == 1),
        **_tls(security.tls),
        **_sasl(security),
    }
    if rack is not None:
        settings["broker.rack"] = rack
    if security.authorize:
        settings["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        settings["super.users"] = "User:ANONYMOUS"
    return settings


def scram_credentials(users: Mapping[str, str]) -> list[str]:
    """Return what ``kafka-storage format --add-scram`` takes."""
    return [
        f"{mechanism}=[name={name},password={password}]"
        for name, password in users.items()
        for mechanism in SASL_MECHANISMS[1:3]
    ]


def _listeners(ports: Ports, names: tuple[str, ...], *, controller: bool) -> dict[str, str]:
    numbers = {name: int(getattr(ports, name.lower())) for name in names}
    bound = [f"{name}://127.0.0.1:{port}" for name, port in numbers.items()]
    if controller:
        bound.append(f"CONTROLLER://127.0.0.1:{ports.controller}")
    protocols = [*(f"{name}:{name}" for name in names), "CONTROLLER:PLAINTEXT"]
    return {
        "listeners": ",".join(bound),
        "advertised.listeners": ",".join(
            f"{name}://{host_of(name)}:{port}" for name, port in numbers.items()
        ),
        "listener.security.protocol.map": ",".join(protocols),
    }


def host_of(listener: str) -> str:
    """Return the host that a listener is known by: certificates are for localhost."""
    return "localhost" if "SSL" in listener else "127.0.0.1"


def _tls(tls: TlsFiles | None) -> dict[str, str]:
    if tls is None:
        return {}
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tls.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tls.ca),
        "listener.name.ssl.ssl.client.auth": "requested",
    }


def _sasl(security: Security) -> dict[str, str]:
    if not security.users:
        return {}
    passwords = " ".join(f'user_{name}="{password}"' for name, password in security.users.items())
    modules = {
        "PLAIN": f"{LOGIN_MODULE}.plain.PlainLoginModule required {passwords};",
        "SCRAM-SHA-256": f"{LOGIN_MODULE}.scram.ScramLoginModule required;",
        "SCRAM-SHA-512": f"{LOGIN_MODULE}.scram.ScramLoginModule required;",
        "OAUTHBEARER": f"{LOGIN_MODULE}.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="broker";',
    }
    used = [name for name in SASL_LISTENERS if name in security.listeners]
    jaas = {
        f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config": module
        for listener in used
        for mechanism, module in modules.items()
    }
    return {"sasl.enabled.mechanisms": ",".join(SASL_MECHANISMS), **jaas}
