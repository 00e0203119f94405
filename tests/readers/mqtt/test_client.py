"""A real broker: sessions outlive connections, acknowledgements count, and the next connection takes over."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from headwater.connector.sources.mqtt.options import configure_mqtt
from headwater.connector.sources.mqtt.source import MqttSource
from headwater.core.epoch import SplitStatus
from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    DeadlineError,
    QueueTakenError,
    SourceError,
    TransientSourceError,
)
from headwater.core.source import Boundedness
from headwater.enumerators.mqtt.sessions import MqttSessionSplit
from headwater.readers.mqtt.client import MqttClient, key_of
from headwater.readers.mqtt.packets import MqttMessage, loss
from local_kafka_tls import TlsFiles, make_certificates
from local_mqtt import LocalMqtt
from tests.readers.mqtt.sessions import (
    POLL_MS,
    configured,
    publish,
    read,
    session,
    taken,
)


def test_messages_wait_in_the_session_and_come_once(broker: LocalMqtt, source: MqttSource) -> None:
    publish(broker, source, 0, 100)
    rows, state = read(source)
    assert rows == list(range(100))
    assert [entry.status for entry in state.progress] == [SplitStatus.CAUGHT_UP]
    publish(broker, source, 100, 5)
    position: Any = state.progress[0].position
    assert read(source, position)[0] == list(range(100, 105))
    assert read(source, 0, state)[0] == list(range(100))


def test_what_was_not_acknowledged_comes_again_to_the_next_connection(
    broker: LocalMqtt, source: MqttSource
) -> None:
    publish(broker, source, 0, 3)
    first = MqttClient(source.settings)
    second = MqttClient(source.settings)
    first.open(session(source))
    first.begin()
    tokens, keys = taken(first, 3)
    assert [qos for _, qos in tokens] == [1, 1, 1]
    assert keys == [b"0", b"1", b"2"]
    first.acknowledge(tokens[:1])
    first.close()
    second.open(session(source))
    second.begin()
    _, again = taken(second, 2)
    second.close()
    assert again == [b"1", b"2"]


def test_what_was_acknowledged_is_forgotten_though_the_connection_ends_at_once(
    broker: LocalMqtt, source: MqttSource
) -> None:
    publish(broker, source, 0, 400)
    settings = replace(source.settings, in_flight=50)
    seen: list[bytes | None] = []
    while len(seen) < 400:
        client = MqttClient(settings)
        client.open(session(source))
        client.begin()
        for _ in range(2):
            delivery = client.poll(POLL_MS, 50)
            assert delivery is not None
            seen += delivery.keys
            client.acknowledge(delivery.tokens)
            if len(seen) == 400:
                break
        client.close()
    assert seen == [str(number).encode() for number in range(400)]


def test_large_messages_come_whole_between_small_ones(broker: LocalMqtt, source: MqttSource) -> None:
    topic = source.sessions.first_ids[0]
    sizes = [1, 3_000_000, 1, 70_000, 1]
    broker.publish(
        (f"{topic}/large", json.dumps({"id": number, "x": "x" * size}).encode())
        for number, size in enumerate(sizes)
    )
    client = MqttClient(source.settings)
    client.open(session(source))
    client.begin()
    _, keys = taken(client, len(sizes))
    client.close()
    assert keys == [str(number).encode() for number in range(len(sizes))]


def test_a_retained_message_comes_once_however_often_we_connect(
    broker: LocalMqtt, source: MqttSource
) -> None:
    topic = source.sessions.first_ids[0]
    broker.publish([(f"{topic}/late", b'{"id": 7}')], retain=True)
    rows, state = read(source)
    position: Any = state.progress[0].position
    assert rows == [7]
    assert read(source, position)[0] == []


def test_a_message_comes_once_however_many_filters_match_it(broker: LocalMqtt, tmp_path: Path) -> None:
    source = configured(
        broker.url,
        topics="wide/#,wide/1,wide/+,wide",
        clientid="overlapping",
        messagekey="payload:id",
        statelocation=str(tmp_path),
    )
    client = MqttClient(source.settings)
    client.open(session(source))
    client.begin()
    broker.publish((f"wide/{number}", json.dumps({"id": number}).encode()) for number in range(3))
    broker.publish([("wide/last", b'{"id": 9}')])
    _, keys = taken(client, 4)
    client.close()
    assert keys == [b"0", b"1", b"2", b"9"]


def test_a_connection_with_the_same_id_takes_over(source: MqttSource) -> None:
    first = MqttClient(source.settings)
    second = MqttClient(source.settings)
    first.open(session(source))
    first.begin()
    second.open(session(source))
    second.begin()
    with pytest.raises(TransientSourceError, match="connection to the MQTT broker is lost"):
        first.poll(POLL_MS, 10)
    first.close()
    second.close()


def test_a_broker_that_says_that_the_session_was_taken_over_is_believed() -> None:
    said = ReasonCode(PacketTypes.DISCONNECT, identifier=0x8E)
    error = loss(said, configured("mqtt://x").settings, "mine")
    assert isinstance(error, QueueTakenError)
    assert "another client has connected to the MQTT broker as 'mine'" in str(error)


def test_version_3_1_1_has_sessions_and_acknowledgements(broker: LocalMqtt) -> None:
    settings = configured(broker.url, clientid="old", topics="old/#", mqttversion="3.1.1").settings
    split = MqttSessionSplit("old", ("old/#",))
    first = MqttClient(settings)
    first.open(split)
    first.begin()
    broker.publish([("old/1", b"1"), ("old/2", b"2")])
    tokens, _ = taken(first, 2)
    first.acknowledge(tokens[:1])
    first.close()
    broker.publish([("old/3", b"3")])
    second = MqttClient(settings)
    second.open(split)
    second.begin()
    assert len(taken(second, 2)[0]) == 2, "what was not acknowledged, and what came meanwhile"
    second.close()


def test_a_broker_that_is_away_is_worth_another_try(source: MqttSource) -> None:
    client = MqttClient(configured("mqtt://127.0.0.1:1").settings)
    with pytest.raises(TransientSourceError, match=r"no MQTT broker at 127\.0\.0\.1:1"):
        client.open(MqttSessionSplit("x"))
    client.close()


def test_a_broker_that_does_not_let_us_in_says_so() -> None:
    with LocalMqtt(anonymous=False) as strict:
        client = MqttClient(configured(strict.url).settings)
        with pytest.raises(AuthorizationError, match="Not authorized"):
            client.open(MqttSessionSplit("x"))
        client.close()


def test_several_sessions_share_the_messages() -> None:
    made = configured("mqtts://x", sessions="2")
    assert made.sessions.first_ids == ("c-0", "c-1")
    assert made.settings.topics == ("$share/c/a",)
    assert made.settings.port == 8883
    assert made.settings.tls is not None
    assert "geheim" not in repr(configured("mqtt://x", username="u", password="geheim"))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def encrypted(certificates: TlsFiles) -> Iterator[str]:
    """A broker that wants a certificate of its clients, and a user and a password."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    more = [
        f"listener {port} 127.0.0.1",
        f"cafile {certificates.ca}",
        f"certfile {certificates.server}",
        f"keyfile {certificates.server}",
        "require_certificate true",
        "use_identity_as_username true",
    ]
    with LocalMqtt(more="\n".join(more) + "\n") as running:
        running.publish([("lamps/1", b'{"id": 1}')], retain=True)
        yield f"mqtts://localhost:{port}"


def read_batch(broker: str, **options: str) -> list[Any]:
    given = {"broker": broker, "topics": "lamps/#", "idleTimeout": "1s", **options}
    source = configure_mqtt(given, Boundedness.BOUNDED).source
    assert isinstance(source, MqttSource)
    return read(source)[0]


def test_whom_to_trust_and_who_this_client_is_are_files_or_secrets(
    encrypted: str, certificates: TlsFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_path = {"tlsCa": str(certificates.ca), "tlsCertificate": str(certificates.client_cert)}
    assert read_batch(encrypted, **by_path, tlsKey=f"file:{certificates.client_key}") == [1]
    monkeypatch.setenv("MQTT_KEY", certificates.client_key.read_text())
    assert read_batch(encrypted, **by_path, tlsKey="env:MQTT_KEY") == [1]
    as_text = {name: Path(path).read_text() for name, path in by_path.items()}
    assert read_batch(encrypted, **as_text, tlsKey=certificates.client_key.read_text()) == [1]
    # No waiting mends these: at once, long before retryDeadline.
    with pytest.raises(AuthenticationError, match=r"certificate is not trusted: .*'tlsCa'"):
        read_batch(encrypted, tlsCa=str(certificates.other_ca))
    with pytest.raises(AuthenticationError, match="refuses the certificate of this client, or its lack"):
        read_batch(encrypted, tlsCa=str(certificates.ca))
    with pytest.raises(SourceError, match="option 'tlsCa': /not/there cannot be read on this host"):
        read_batch(encrypted, tlsCa="/not/there")


def test_a_broker_that_never_answers_is_not_waited_for_until_the_deadline(broker: LocalMqtt) -> None:
    """mosquitto closes a connection that begins with TLS where it expects none."""
    with pytest.raises(DeadlineError, match=r"nothing has ever answered there, .* check the address"):
        read_batch(broker.url.replace("mqtt:", "mqtts:"), retryDeadline="10m")


def test_user_and_password_may_be_secrets(broker: LocalMqtt, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.publish([("lamps/1", b'{"id": 2}')], retain=True)
    monkeypatch.setenv("MQTT_PASSWORD", "geheim")
    assert read_batch(broker.url, username="u", password="env:MQTT_PASSWORD") == [2]
    with pytest.raises(SourceError, match="option 'password': the environment variable NOBODY is not set"):
        read_batch(broker.url, username="u", password="env:NOBODY")


@pytest.mark.parametrize("payload", [b"[" * 100_000, b'{"id": ' + b"[" * 100_000, b"\xff", b"{", b"", b"7"])
def test_a_payload_that_has_no_key_is_a_message_without_a_key(payload: bytes) -> None:
    message = MqttMessage("topic", payload, 0, 0, False, 0, b"\0")
    assert key_of(message, "payload", "id") is None
