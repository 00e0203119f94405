"""A real broker: sessions outlive connections, acknowledgements count, and the next connection takes over."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from headwater.connector.sources.mqtt.configure import configure_mqtt
from headwater.connector.sources.mqtt.source import MqttSource
from headwater.core.epoch import Barrier, EpochState, SplitStatus
from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    OptionError,
    SourceError,
    TransientSourceError,
)
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.core.state_location import LocalStateStore
from headwater.enumerators.mqtt.sessions import MqttSessionSplit
from headwater.readers.mqtt.client import MqttClient, MqttClients
from headwater.readers.mqtt.messages import key_of
from headwater.readers.mqtt.packets import MqttMessage
from headwater.readers.mqtt.refusals import loss
from headwater.readers.runtime.staging.receiver import Receiver
from headwater.readers.runtime.staging.receiver_place import ReceiverPlace
from headwater.readers.runtime.staging.receiver_task import ReceiverTask, TaskQuestion
from headwater.readers.runtime.staging.staged_client import QueueTakenError
from local_kafka_tls import TlsFiles, make_certificates
from local_mqtt import LocalMqtt
from tests.exactly_once.waiting import until
from tests.readings import epoch_task, read_task

POLL_MS = 30_000
IDLE_MS = 600_000
"""No receiver ends by itself while a test is at work."""


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalMqtt]:
    with LocalMqtt() as running:
        yield running


@pytest.fixture
def source(broker: LocalMqtt, request: pytest.FixtureRequest, tmp_path: Any) -> MqttSource:
    """A source with a session of its own, which exists at the broker."""
    name = request.node.name.replace("[", "-").strip("]")
    given = {
        "broker": broker.url,
        "topics": f"{name}/#",
        "clientid": name,
        "messagekey": "payload:id",
        "idletimeout": "1s",  # a busy broker may pause between two messages
        "receiveridletimeout": "3s",
    }
    made = configure_mqtt({**given, "statelocation": str(tmp_path)}, Boundedness.CONTINUOUS_UNBOUNDED).source
    assert isinstance(made, MqttSource)
    connection = MqttClient(made.settings)
    connection.open(MqttSessionSplit(name))
    connection.begin()
    connection.close()
    return made.for_query("q")


def session(source: MqttSource) -> MqttSessionSplit:
    return MqttSessionSplit(source.sessions.first_ids[0], source.settings.topics)


def read(
    source: MqttSource,
    start: int = 0,
    stop_at: EpochState | None = None,
    barrier: Barrier = Barrier(),  # noqa: B008
) -> tuple[list[Any], EpochState]:
    starts = [SplitRange(session(source), start, None)]
    reader = read_task(source, epoch_task(starts, barrier), stop_at=stop_at)
    rows = [json.loads(row["payload"])["id"] for batch in reader for row in batch.to_pylist()]
    return rows, reader.state()


def publish(broker: LocalMqtt, source: MqttSource, first: int, count: int) -> None:
    topic = source.sessions.first_ids[0]
    broker.publish(
        (f"{topic}/{number % 3}", json.dumps({"id": number}).encode())
        for number in range(first, first + count)
    )


def taken(client: MqttClient, count: int) -> tuple[list[tuple[int, int]], list[bytes | None]]:
    """Poll until so many messages have come, in however many deliveries."""
    tokens: list[tuple[int, int]] = []
    keys: list[bytes | None] = []
    while len(tokens) < count:
        delivery = client.poll(POLL_MS, count)
        assert delivery is not None
        tokens += delivery.tokens
        keys += delivery.keys
    return tokens, keys


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


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_two_queries_with_one_client_id_take_it_from_each_other_a_few_times_and_one_fails(
    broker: LocalMqtt, tmp_path: Path, version: str
) -> None:
    """With state locations and hosts of their own, so that neither sees what the other one writes.

    mosquitto does not say why it closes a connection, in version 5 either.
    """
    receivers = []
    client_id = f"both-{version}"
    for name in ("one", "other"):
        given = {"clientid": client_id, "statelocation": str(tmp_path / name), "mqttversion": version}
        made = configured(broker.url, **given).for_query("q")
        receivers.append(Receiver(receiver_task(made)))
    threads = [threading.Thread(target=receiver.run) for receiver in receivers]
    for thread in threads:
        thread.start()
    until(lambda: any(receiver.has_news for receiver in receivers), "one of the two to notice")
    told = [heard.error for receiver in receivers if (heard := receiver.hear(TaskQuestion(0, 1))).error]
    for receiver in receivers:
        receiver.stop()
    for thread in threads:
        thread.join()
    assert "6 times within a minute" in str(told[0])
    assert f"Option 'clientId' ('{client_id}') is for one query alone" in str(told[0])
    assert "another 'clientId', with a new checkpointLocation" in str(told[0])


@pytest.mark.parametrize(
    "where", ["another state location", pytest.param("the same state location", marks=pytest.mark.long)]
)
def test_of_two_queries_with_one_client_id_on_one_host_the_first_one_fails(
    broker: LocalMqtt, source: MqttSource, tmp_path: Path, where: str
) -> None:
    """Neither has a task at work when the other one comes, so that nothing but the receiver is in the way."""
    first = replace(source, receiver_idle_ms=IDLE_MS)
    other = first.for_query("other")
    if where == "another state location":
        other = replace(first, store=LocalStateStore(tmp_path / "other"))
    # A query that ended, and a new one: that may be.
    assert read(first)[0] == []
    assert read(other)[0] == []
    publish(broker, source, 0, 3)
    rows, state = read(other)
    assert rows == [0, 1, 2]
    process = receiver(other)
    client_id = source.sessions.client_id
    for _ in range(2):
        with pytest.raises(
            SourceError, match=rf"has taken mqtt:.*{client_id} from this one.*Option 'clientId'"
        ):
            read(first)
    publish(broker, source, 3, 3)
    position = cast("int", state.progress[0].position)
    assert read(other, position)[0] == [3, 4, 5]
    assert receiver(other) == process
    # Once the other one is gone, the first one may go on.
    os.kill(process, signal.SIGTERM)
    until(lambda: not Path(f"/proc/{process}/cwd").exists(), "the receiver to end")
    publish(broker, source, 6, 3)
    assert read(first, 0)[0] == [6, 7, 8]
    os.kill(receiver(first), signal.SIGTERM)


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"messagekey": "property:id"}, r"messageKey.*MQTT 3\.1\.1 has no user properties"),
        ({"sessions": "2"}, r"sessions.*MQTT 3\.1\.1 has no shared subscriptions"),
        ({"mqttversion": "4"}, r"mqttVersion"),
    ],
)
def test_what_version_3_1_1_does_not_have_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        configured("mqtt://x", **{"mqttversion": "3.1.1", **options})


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


def configured(broker: str, **options: str) -> MqttSource:
    given = {"broker": broker, "topics": "a", "clientid": "c", "statelocation": "/state", **options}
    made = configure_mqtt(given, Boundedness.CONTINUOUS_UNBOUNDED).source
    assert isinstance(made, MqttSource)
    return made


def test_a_batch_read_leaves_the_session_of_a_stream_alone() -> None:
    source = configure_mqtt(
        {"broker": "mqtt://x", "topics": "a", "clientid": "mine"}, Boundedness.BOUNDED
    ).source
    assert isinstance(source, MqttSource)
    assert source.sessions.first_ids != ("mine",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topics": "a"}, "option 'broker': is required"),
        ({"broker": "http://x", "topics": "a"}, "must be mqtt://host:port"),
        ({"broker": "mqtt://x"}, "option 'topics': is required"),
        ({"broker": "mqtt://x", "topics": "a", "maxinflight": "65536"}, "maxInFlight.*at most 65535"),
        ({"broker": "mqtt://x", "topics": "a"}, "option 'clientId': is required for a stream"),
        ({"broker": "mqtt://me:pw@x", "topics": "a"}, "must hold no user and password"),
        ({"broker": "mqtt://x/a"}, "option 'broker': must end with the port, not with '/a'"),
        ({"broker": "mqtt://x", "topics": "a,b/#/c"}, "must be topic filters: .* not 'b/#/c'"),
        ({"broker": "mqtt://x", "topics": "a/b+"}, "must be topic filters: .* not 'a/b[+]'"),
        (
            {"broker": "mqtt://x", "topics": "$share/g/a", "clientId": "c", "sessions": "2"},
            "option 'topics': must not begin with \\$share",
        ),
        (
            {"broker": "mqtt://x", "topics": "a", "clientId": "c/d", "sessions": "2"},
            "option 'clientId': must have no /, [+] or # with several sessions",
        ),
        (
            {"broker": "mqtt://x", "topics": "a", "clientId": "c", "messageKey": "id"},
            "must be payload:<field",
        ),
        ({"broker": "mqtt://x", "topics": "a", "clientId": "c"}, "option 'stateLocation': is required"),
        (
            {"broker": "mqtt://x", "topics": "a", "clientId": "c", "stateLocation": "/x", "tlsCa": "/ca"},
            "option 'tlsCa': counts only with mqtts://",
        ),
        (
            {"broker": "mqtts://x", "topics": "a", "clientId": "c", "stateLocation": "/x", "tlsKey": "/key"},
            "option 'tlsKey': counts only with option 'tlsCertificate'",
        ),
        (
            {"broker": "mqtt://x", "topics": "a", "clientId": "c", "receiverIdleTimeout": "10ms"},
            "option 'receiverIdleTimeout': must be 1s at least",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        configure_mqtt(options, Boundedness.CONTINUOUS_UNBOUNDED)


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
    with pytest.raises(AuthenticationError, match="certificate verify failed"):
        read_batch(encrypted, tlsCa=str(certificates.other_ca))
    with pytest.raises(SourceError, match="option 'tlsCa': /not/there cannot be read on this host"):
        read_batch(encrypted, tlsCa="/not/there")


def test_user_and_password_may_be_secrets(broker: LocalMqtt, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.publish([("lamps/1", b'{"id": 2}')], retain=True)
    monkeypatch.setenv("MQTT_PASSWORD", "geheim")
    assert read_batch(broker.url, username="u", password="env:MQTT_PASSWORD") == [2]
    with pytest.raises(SourceError, match="option 'password': the environment variable NOBODY is not set"):
        read_batch(broker.url, username="u", password="env:NOBODY")


class SlowStore(LocalStateStore):
    """A store with the latency of an object store."""

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        time.sleep(0.05)
        return super().put_if_absent(name, data, durable=durable)

    def get(self, name: str) -> bytes | None:
        time.sleep(0.05)
        return super().get(name)

    def list(self, folder: str) -> list[str]:
        time.sleep(0.05)
        return super().list(folder)


@pytest.mark.long
def test_nothing_is_lost_at_the_brokers_default_limits_on_a_slow_store_whether_a_task_is_there_or_not(
    broker: LocalMqtt, source: MqttSource, tmp_path: Path
) -> None:
    """The broker keeps 1,000 messages a session. Four times as many come while no task asks."""
    slow = replace(source, store=SlowStore(tmp_path / "slow"))
    position = 0
    seen: list[int] = []
    for first in (0, 2_000, 4_000):
        rows, state = read(slow, position)
        seen += rows
        position = cast("int", state.progress[0].position)
        began = time.monotonic()
        for at in range(first, first + 2_000, 100):
            publish(broker, source, at, 100)
            time.sleep(max(0.0, began + (at - first + 100) / 1_000 - time.monotonic()))
    rows, _ = read(slow, position)
    seen += rows
    assert seen == list(range(6_000))


@pytest.mark.parametrize("payload", [b"[" * 100_000, b'{"id": ' + b"[" * 100_000, b"\xff", b"{", b"", b"7"])
def test_a_payload_that_has_no_key_is_a_message_without_a_key(payload: bytes) -> None:
    message = MqttMessage("topic", payload, 0, 0, False, 0, b"\0")
    assert key_of(message, "payload", "id") is None


def receiver_task(source: MqttSource) -> ReceiverTask:
    """Return what the receiver of a source's only session is to do."""
    client_id = source.sessions.client_id
    return ReceiverTask(
        source.queue(client_id),
        source.staging(source.folder),
        MqttSessionSplit(client_id, source.settings.topics),
        MqttClients(source.settings, source.note(client_id)),
        source.backoff,
        source.receiver_idle_ms,
        source.remedy,
    )


def receivers(source: MqttSource) -> list[int]:
    """Return the processes of a source's receiver, which work in the folder of its place."""
    folder = ReceiverPlace(receiver_task(source)).folder
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder:
                found.append(int(process.name))
    return found


def receiver(source: MqttSource) -> int:
    """Return the process of a source's receiver, which there is."""
    (process,) = receivers(source)
    return process


def test_a_receiver_ends_when_no_task_has_asked_it_for_its_time(source: MqttSource) -> None:
    brief = replace(source, receiver_idle_ms=1_000)
    assert read(brief)[0] == []
    until(lambda: not receivers(brief), "the receiver to end")


def test_a_receiver_that_is_killed_is_started_again_and_a_broker_that_is_away_is_waited_for(
    source: MqttSource, broker: LocalMqtt
) -> None:
    assert read(source)[0] == []
    killed = receiver(source)
    publish(broker, source, 0, 50)
    os.kill(killed, signal.SIGKILL)
    rows, state = read(source)
    assert rows == list(range(50))
    position = cast("int", state.progress[0].position)
    broker.stop()
    broker.start()
    publish(broker, source, 50, 50)
    assert read(source, position)[0] == list(range(50, 100))
