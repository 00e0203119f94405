"""A checkpoint of an earlier version goes on: it says nothing of what sessions are subscribed to.

``mqtt_checkpoint`` holds what that version left: the offset log and the state location. The batch of the last
epoch was not committed; its four messages have the ids 10 to 13.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.connector.sources.mqtt.options import configure_mqtt
from headwater.core.source import Boundedness
from headwater.testing import MicroBatchEngine
from local_mqtt import LocalMqtt
from tests.connector.sources.test_mqtt_spark import begin_session

SAMPLE = Path(__file__).parent / "mqtt_checkpoint"


@pytest.fixture
def broker() -> Iterator[LocalMqtt]:
    with LocalMqtt() as running:
        yield running


def ids(rows: list[dict[str, bytes]]) -> list[int]:
    return [json.loads(row["payload"])["id"] for row in rows]


def test_a_checkpoint_of_an_earlier_version_goes_on_and_may_change(broker: LocalMqtt, tmp_path: Path) -> None:
    shutil.copytree(SAMPLE / "state", tmp_path / "state")
    options = {
        "broker": broker.url,
        "topics": "orders/#",
        "clientId": "sample",
        "messageKey": "payload:id",
        "idleTimeout": "1s",
        "receiverIdleTimeout": "5s",
        "stateLocation": f"{tmp_path}/state",
    }
    # The broker has the session still.
    begin_session({"source": "mqtt", **options})
    engine = MicroBatchEngine(lambda: configure_mqtt(options, Boundedness.CONTINUOUS_UNBOUNDED))
    engine.offsets = (SAMPLE / "offsets.jsonl").read_text().splitlines()
    logged = len(engine.offsets)
    engine.run()
    assert ids(engine.sink[logged - 1]) == [10, 11, 12, 13]
    # The broker delivers once more what it had no acknowledgement for.
    broker.publish((f"orders/{number % 2}", json.dumps({"id": number}).encode()) for number in range(12, 17))
    engine.run()
    assert ids(engine.rows) == list(range(10, 17))
    options["topics"] = "orders/#,returns"
    engine.run()
    broker.publish([("orders/1", b'{"id": 17}'), ("returns", b'{"id": 18}')])
    engine.run()
    assert sorted(ids(engine.rows)) == list(range(10, 19))
    assert json.loads(engine.offsets[-1])["splits"] == {"sample": {"topics": ["orders/#", "returns"]}}
