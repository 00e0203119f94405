"""Sessions at a real broker, what is published to them, and the receivers that hold them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from headwater.connector.sources.mqtt.options import configure_mqtt
from headwater.connector.sources.mqtt.source import MqttSource
from headwater.core.epoch import Barrier, EpochState
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.enumerators.mqtt.sessions import MqttSessionSplit
from headwater.readers.mqtt.client import MqttClient
from headwater.readers.runtime.staging.receiver_place import ReceiverPlace
from headwater.readers.runtime.staging.receiver_task import ReceiverTask
from local_mqtt import LocalMqtt
from tests.readings import epoch_task, read_task

POLL_MS = 30_000


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


def configured(broker: str, **options: str) -> MqttSource:
    given = {"broker": broker, "topics": "a", "clientid": "c", "statelocation": "/state", **options}
    made = configure_mqtt(given, Boundedness.CONTINUOUS_UNBOUNDED).source
    assert isinstance(made, MqttSource)
    return made


def receiver_task(source: MqttSource) -> ReceiverTask:
    """Return what the receiver of a source's only session is to do."""
    split = MqttSessionSplit(source.sessions.client_id, source.settings.topics)
    return source.receiver_task(split, source.staging(source.folder))


def receiver_processes(source: MqttSource) -> list[int]:
    """Return the processes of a source's receiver, which work in the folder of its place."""
    folder = ReceiverPlace(receiver_task(source)).folder
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder:
                found.append(int(process.name))
    return found


def receiver_process(source: MqttSource) -> int:
    """Return the process of a source's receiver, which there is."""
    (process,) = receiver_processes(source)
    return process
