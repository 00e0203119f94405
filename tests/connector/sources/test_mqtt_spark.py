"""The MQTT source in Spark.

A real broker, a stream twice on one checkpoint, both scans of a union, and a batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.connector.sources.mqtt.options import configure_mqtt
from headwater.connector.sources.mqtt.source import MqttSource
from headwater.core.source import Boundedness
from headwater.enumerators.mqtt.sessions import MqttSessionSplit
from headwater.readers.mqtt.client import MqttClient
from local_mqtt import LocalMqtt
from tests.exactly_once.barrier_driver import start
from tests.patience import PATIENCE_S


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalMqtt]:
    with LocalMqtt() as running:
        yield running


def begin_session(options: dict[str, str]) -> None:
    """Make the session at the broker, so that what is published from now on waits in it."""
    given = {name.lower(): value for name, value in options.items() if name != "source"}
    source = configure_mqtt({**given, "statelocation": "/nowhere"}, Boundedness.CONTINUOUS_UNBOUNDED).source
    assert isinstance(source, MqttSource)
    client = MqttClient(source.settings)
    client.open(MqttSessionSplit(source.sessions.first_ids[0]))
    client.begin()
    client.close()


def test_available_now_takes_what_waits_once_and_both_scans_of_a_union_see_it(
    spark: SparkSession, broker: LocalMqtt, tmp_path: Path
) -> None:
    options = {
        "source": "mqtt",
        "broker": broker.url,
        "topics": "orders/+",
        "clientId": "spark",
        "messageKey": "property:id",
        "barrierRows": "40",
        "receiverIdleTimeout": "5s",
    }
    begin_session(options)
    job: dict[str, Any] = {
        "options": {**options, "stateLocation": f"{tmp_path}/state", "stateRetainedEpochs": "1"},
        "columns": ["topic", "cast(payload as string) as text"],
        "folder": str(tmp_path),
        "trigger": {"availableNow": True},
        "united": False,
    }
    sent = 0
    for count in (100, 7):
        broker.publish(
            ((f"orders/{number % 2}", str(sent + number).encode()) for number in range(count)),
            key_property=None,
        )
        sent += count
        assert start(spark, job).awaitTermination(PATIENCE_S)
        assert sorted(int(row.text) for row in spark.read.parquet(f"{tmp_path}/rows").collect()) == list(
            range(sent)
        )
    twice = {**options, "clientId": "twice", "stateLocation": f"{tmp_path}/state"}
    begin_session({**options, "clientId": "twice"})
    broker.publish((("orders/0", str(number).encode()) for number in range(50)), key_property="id")
    frame = (
        spark.readStream.format("headwater")
        .options(**twice)
        .load()
        .selectExpr("cast(payload as string) as text")
    )
    seen: list[int] = []

    def note(rows: DataFrame, batch_id: int) -> None:
        seen.extend(int(row.text) for row in rows.collect())

    query = (
        frame.union(frame)
        .writeStream.foreachBatch(note)
        .option("checkpointLocation", f"{tmp_path}/c2")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)
    assert sorted(seen) == sorted([*range(50), *range(50)])


def test_a_batch_reads_what_the_broker_gives_a_new_subscriber(spark: SparkSession, broker: LocalMqtt) -> None:
    broker.publish([("lamps/1", json.dumps({"on": True}).encode()), ("lamps/2", b"off")], retain=True)
    rows = spark.read.format("headwater").options(source="mqtt", broker=broker.url, topics="lamps/#").load()
    assert [(row.topic, bytes(row.payload), row.retained) for row in rows.orderBy("topic").collect()] == [
        ("lamps/1", b'{"on": true}', True),
        ("lamps/2", b"off", True),
    ]


def test_payloads_become_typed_columns_of_any_format(spark: SparkSession, broker: LocalMqtt) -> None:
    broker.publish([("typed/1", b'{"on": true}'), ("typed/2", b"off")], retain=True)
    options = {"source": "mqtt", "broker": broker.url, "topics": "typed/#", "columns": "topic,payload.*"}
    as_json = {"valueFormat": "json", "valueSchema": "on boolean", "columnNameOfCorruptRecord": "corrupt"}
    rows = spark.read.format("headwater").options(**options, **as_json).load().orderBy("topic").collect()
    assert [tuple(row) for row in rows] == [("typed/1", True, None), ("typed/2", None, "off")]
    dropped = spark.read.format("headwater").options(**options, **as_json, mode="DROPMALFORMED").load()
    assert [row.topic for row in dropped.collect()] == ["typed/1"]
    avro = {"valueFormat": "avro", "valueAvroSchema": '"boolean"', "mode": "PERMISSIVE"}
    broker.publish([("flags/1", b"\x01")], retain=True)
    flags = spark.read.format("headwater").options(**{**options, "topics": "flags/#"}, **avro).load()
    assert [tuple(row) for row in flags.collect()] == [("flags/1", True)]
