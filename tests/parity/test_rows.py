"""The columns of a row, whatever the record looks like."""

from __future__ import annotations

import pytest

from tests.parity.golden.settings import Settings
from tests.parity.parity import Parity
from tests.parity.results import Failure, Row, rows_read
from tests.parity.sources import ANY_TIME, FOREVER, NOON_MS, Source
from tests.readers.kafka import record_sets
from tests.readers.kafka.record_sets import Record


def test_the_schema(parity: Parity) -> None:
    def scenario(source: Source) -> list[str]:
        frames = [source.load(subscribe="any", includeHeaders=given) for given in ("true", "false")]
        return [df.schema.json() for df in frames]

    assert '"headers"' in parity.same(scenario)[0]


def test_headers_nulls_and_empty_bytes(parity: Parity) -> None:
    def scenario(source: Source) -> list[Row]:
        topic = source.topic()
        source.produce(
            topic,
            [b"1", b"2", b"3", None, b"", b"\x00\xff"],
            keys=[None, b"k", b"", b"x", None, b"\xff"],
            headers=[
                [],
                [("a", b"b"), ("c", b"d")],
                [("e", b"f"), ("e", b"g"), ("e", b"")],
                None,
                [("\u00fc", b"")],
                [],
            ],
        )
        source.kafka.append(
            topic,
            0,
            record_sets.batch(
                [Record(0, headers=[("null", None), ("", b"x")]), Record(1, key=None, value=None)]
            ),
        )
        return rows_read(source.batch(subscribe=topic, includeHeaders="true"))

    found = parity.same(scenario)
    assert [row[-1] for row in found][:3] == [
        None,
        [("a", b"b"), ("c", b"d")],
        [("e", b"f"), ("e", b"g"), ("e", b"")],
    ]
    assert found[6][-1] == [("null", None), ("", b"x")]


def test_times_of_all_kinds(parity: Parity, topic: str) -> None:
    kafka = parity.kafka
    kafka.create_topic(topic, 1, ANY_TIME)
    for time_ms in (NOON_MS, 0, -1, -12_219_292_800_000, 253_402_300_799_999):
        kafka.append(topic, 0, record_sets.batch([Record(0, time_ms)]))
    found = rows_read(parity.same(lambda source: source.batch(subscribe=topic)))
    assert {row[6] for row in found} == {0}


def test_times_at_which_the_broker_appended(live_parity: Parity, topic: str) -> None:
    live_parity.kafka.create_topic(topic, 1, {"message.timestamp.type": "LogAppendTime"})
    live_parity.kafka.produce(topic, [b"x"] * 3, timestamps_ms=[NOON_MS] * 3)
    found = rows_read(live_parity.same(lambda source: source.batch(subscribe=topic)))
    assert {row[6] for row in found} == {1}


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_codecs(parity: Parity, topic: str, codec: str) -> None:
    parity.kafka.create_topic(topic, 1, FOREVER)
    values = [b"%d" % i * 99 for i in range(99)]
    parity.kafka.produce(topic, values, timestamps_ms=[NOON_MS] * 99, compression=codec)
    assert len(rows_read(parity.same(lambda source: source.batch(subscribe=topic)))) == 99


def test_transactions(parity: Parity, topic: str) -> None:
    kafka = parity.kafka
    kafka.create_topic(topic)
    for i in range(6):
        kafka.produce_transaction(topic, [b"%d" % i] * 5, commit=i % 3 != 1)
    kafka.begin(topic).produce([b"open"])
    counts = parity.same(
        lambda source: [
            len(rows_read(source.batch(subscribe=topic, kafka_isolation_level=level)))
            for level in ("read_committed", "read_uncommitted")
        ]
    )
    assert counts == [20, 31]


def test_a_timestamp_before_the_calendar_was_changed(parity: Parity, topic: str) -> None:
    parity.kafka.create_topic(topic, 1, ANY_TIME)
    parity.kafka.append(topic, 0, record_sets.batch([Record(0, -62_135_596_799_000)]))
    sparks, ours = parity.differs(
        "timestamp-before-1582", lambda source: int(rows_read(source.batch(subscribe=topic))[0][5])
    )
    assert ours == -62_135_596_799_000_000
    assert sparks - ours == 2 * 86_400_000_000


def test_a_timestamp_that_no_timestamp_column_holds(parity: Parity, topic: str) -> None:
    parity.kafka.create_topic(topic, 1, ANY_TIME)
    parity.kafka.append(topic, 0, record_sets.batch([Record(0, 1_712_345_678_123_456_789)]))
    assert parity.same(lambda source: source.batch(subscribe=topic)) == Failure("malformed timestamp")


def test_a_large_record_that_compresses_well(parity: Parity, topic: str) -> None:
    parity.kafka.create_topic(topic, 1, FOREVER)
    parity.kafka.append(
        topic, 0, record_sets.batch([Record(0, value=bytes(70 << 20))], attributes=record_sets.ZSTD)
    )
    counts = parity.same(
        lambda source: source.load(subscribe=topic).selectExpr("length(value)").collect(), needs_spark=True
    )
    assert [row[0] for row in counts] == [70 << 20]


@pytest.mark.parametrize("time_ms", [-9_223_372_036_854_776, 9_223_372_036_854_775])
def test_a_timestamp_at_the_edge_of_what_the_column_holds(parity: Parity, topic: str, time_ms: int) -> None:
    parity.kafka.create_topic(topic, 1, ANY_TIME)
    parity.kafka.append(topic, 0, record_sets.batch([Record(0, time_ms)]))
    parity.same(lambda source: source.batch(subscribe=topic))


def test_a_timestamp_before_1900_in_another_time_zone(parity: Parity, settings: Settings, topic: str) -> None:
    parity.kafka.create_topic(topic, 1, ANY_TIME)
    parity.kafka.append(topic, 0, record_sets.batch([Record(0, -3_000_000_000_000)]))
    with settings.java_zone("America/Los_Angeles"):
        sparks, ours = parity.differs(
            "timestamp-of-local-mean-time", lambda source: int(rows_read(source.batch(subscribe=topic))[0][5])
        )
    assert ours == -3_000_000_000_000_000
    assert 0 < abs(sparks - ours) < 3_600_000_000
