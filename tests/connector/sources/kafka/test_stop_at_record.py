"""``stopAtRecord``: a partition ends at a record, its position is right behind it, and stays there."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.connector.planned.report_listener import REPORTS_VARIABLE
from headwater.connector.sources.hybrid.configure import configure_hybrid
from headwater.core.errors import CorruptRecordError, OptionError
from headwater.core.metrics import COUNTERS, RECORDS_IN_ERRORS
from headwater.core.source import Boundedness
from headwater.readers.kafka.record_set import RecordSet
from local_kafka import LocalKafka
from tests.connector.sources.kafka.kafka_queries import Query, batch, configure, places
from tests.readers.kafka.record_sets import Record, state_of
from tests.readers.kafka.record_sets import batch as record_batch

END = '{"value": "end"}'
Queries = Callable[..., Query]


def ended(query: Query) -> dict[str, int]:
    """The partitions that have ended, with their positions, as the last offset says it."""
    offset: Any = query.log[-1]
    (partitions,) = offset["ends"].get("splits", {"": {}}).values()
    for partition, position in partitions.items():
        assert next(iter(offset["positions"].values()))[partition] == position
    return partitions  # type: ignore[no-any-return]


def rows_of(query: Query) -> list[tuple[int, int]]:
    """Step until there is nothing to do."""
    found: list[tuple[int, int]] = []
    while (rows := query.step()) is not None:
        found += places(rows)
    return sorted(found)


@pytest.fixture
def day(kafka: LocalKafka, topic: str) -> str:
    """Partition 0 ends at offset 3 and has three records behind it; partition 1 has no end."""
    kafka.create_topic(topic, 2)
    kafka.produce(topic, [b"0", b"1", b"2", b"end", b"4", b"end", b"6"], partition=0)
    kafka.produce(topic, [b"0", b"1"], partition=1)
    return topic


BEFORE = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]


def test_drawn_logs_are_read_as_by_a_filter_up_to_the_first_end(
    kafka: LocalKafka, topic: str, query: Queries, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka.create_topic(topic, 3)
    for partition, _ in itertools.product(range(3), range(6)):
        produced = [rng.choice([b"row"] * 30 + [b"end"]) for _ in range(rng.choice([1, 7, 40]))]
        compression = rng.choice([None, "zstd"])
        kafka.produce(
            topic,
            produced,
            keys=produced,
            headers=[[("kind", each)] for each in produced],
            partition=partition,
            compression=compression,
        )
    whole = batch(kafka.bootstrap_servers, subscribe=topic)
    by_partition: dict[int, list[tuple[int, bytes]]] = {0: [], 1: [], 2: []}
    for partition, offset, value in sorted(
        zip(*(whole.column(name).to_pylist() for name in ("partition", "offset", "value")), strict=True)
    ):
        by_partition[partition].append((offset, value))
    due = [
        (partition, offset)
        for partition, log in by_partition.items()
        for offset, _ in itertools.takewhile(lambda record: record[1] != b"end", log)
    ]
    ends = {
        str(partition): 1 + next(offset for offset, value in log if value == b"end")
        for partition, log in by_partition.items()
        if any(value == b"end" for _, value in log)
    }
    for condition, limit, reports in itertools.product(
        [END, '{"key": "end", "value": "end"}', '{"headers.kind": "end"}'], [None, "17"], ["", "off"]
    ):
        monkeypatch.setenv(REPORTS_VARIABLE, reports)
        limits = {} if limit is None else {"maxOffsetsPerTrigger": limit}
        reading = query(
            subscribe=topic,
            startingOffsets="earliest",
            stopAtRecord=condition,
            columns="partition,offset",
            **limits,
        )
        found: list[tuple[int, int]] = []
        while (rows := reading.step()) is not None:
            found += places(rows)
            assert places(reading.replay()) == places(rows)
            if rng.random() < 0.3:
                reading.restart()
        assert (sorted(found), ended(reading)) == (due, ends), (condition, limit, reports)
        in_batch = batch(kafka.bootstrap_servers, subscribe=topic, stopAtRecord=condition)
        assert places(in_batch) == due


def test_what_comes_behind_an_end_is_not_read_also_after_a_restart_and_other_partitions_go_on(
    kafka: LocalKafka, day: str, query: Queries
) -> None:
    reading = query(subscribe=day, startingOffsets="earliest", stopAtRecord=END)
    assert places(reading.step()) == BEFORE
    # The end is logged in a batch without rows, also if the driver that learnt of it is gone.
    reading.restart()
    assert places(reading.step()) == []
    assert ended(reading) == {"0": 4}
    assert reading.step() is None
    for _ in range(2):
        kafka.produce(day, [b"more"], partition=0)
        kafka.produce(day, [b"more"], partition=1)
        reading.restart()
        assert [partition for partition, _ in places(reading.step())] == [1]
        assert ended(reading) == {"0": 4}
    kafka.produce(day, [b"end", b"behind"], partition=1)
    assert rows_of(reading) == []
    assert ended(reading) == {"0": 4, "1": 5}
    assert reading.step() is None


def test_another_condition_or_none_goes_on_right_behind_the_end(
    kafka: LocalKafka, day: str, query: Queries
) -> None:
    reading = query(subscribe=day, startingOffsets="earliest", stopAtRecord=END)
    assert rows_of(reading) == BEFORE
    reading.restart(stopAtRecord='{"value": "6"}')
    assert rows_of(reading) == [(0, 4), (0, 5)]
    assert ended(reading) == {"0": 7}
    kafka.produce(day, [b"more"], partition=0)
    assert reading.step() is None
    del reading.options["stopAtRecord"]
    reading.restart()
    assert rows_of(reading) == [(0, 7)]
    assert "ends" not in reading.log[-1]


@pytest.mark.parametrize("later", [{"stopAtRecord": '{"value": "6"}'}, {}])
def test_a_batch_is_read_again_and_settled_by_the_condition_that_it_was_logged_with(
    day: str, query: Queries, later: dict[str, str]
) -> None:
    reading = query(subscribe=day, startingOffsets="earliest", stopAtRecord=END)
    assert reading.plan()
    del reading.options["stopAtRecord"]
    reading.restart(**later)
    assert places(reading.replay()) == BEFORE
    assert rows_of(reading) == ([(0, 4), (0, 5)] if later else [(0, 4), (0, 5), (0, 6)])


def test_a_batch_that_was_logged_without_a_condition_is_read_whole(day: str, query: Queries) -> None:
    reading = query(subscribe=day, startingOffsets="earliest")
    reading.plan()
    reading.restart(stopAtRecord=END)
    assert len(places(reading.replay())) == 9
    assert rows_of(reading) == []
    assert reading.log[-1]["positions"] == {day: {"0": 7, "1": 2}}


def test_an_available_now_run_ends_at_the_ends(day: str, query: Queries) -> None:
    reading = query(subscribe=day, startingOffsets="earliest", stopAtRecord=END, maxOffsetsPerTrigger="2")
    reading.available_now()
    assert rows_of(reading) == BEFORE
    assert ended(reading) == {"0": 4}


@pytest.mark.parametrize("at", [0, 2])
def test_an_end_may_be_the_first_record_or_the_last(
    kafka: LocalKafka, topic: str, query: Queries, at: int
) -> None:
    kafka.create_topic(topic)
    produced = [b"row"] * 3
    produced[at] = b"end"
    kafka.produce(topic, produced)
    reading = query(subscribe=topic, startingOffsets="earliest", stopAtRecord=END)
    assert rows_of(reading) == [(0, offset) for offset in range(at)]
    assert ended(reading) == {"0": at + 1}


def test_of_an_ended_partition_nothing_can_be_lost(kafka: LocalKafka, day: str, query: Queries) -> None:
    reading = query(subscribe=day, startingOffsets="earliest", stopAtRecord=END)
    assert rows_of(reading) == BEFORE
    kafka.delete_records(day, {0: 6})
    reading.restart()
    assert reading.step() is None
    kafka.produce(day, [b"more"], partition=1)
    assert places(reading.step()) == [(1, 2)]
    assert ended(reading) == {"0": 4}


def test_the_group_is_told_the_position_right_behind_the_end(day: str, query: Queries) -> None:
    reading = query(subscribe=day, startingOffsets="earliest", stopAtRecord=END, commitOffsetsToGroup=day)
    told: list[Any] = []
    assert places(reading.step()) == BEFORE
    committer: Any = reading._coordinator._driver.ask(lambda enumerator: enumerator)
    committer._committer.commit = told.append
    rows_of(reading)
    assert told
    assert all(positions[day, "0"] == 4 for positions in told)


def test_a_record_is_found_in_decoded_values_and_bad_ones_behind_it_are_no_error(
    kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic)
    kafka.produce(topic, [b'{"kind": "row"}', b'{"kind": "end"}', b"bad"])
    json = {
        "valueFormat": "json",
        "valueSchema": "kind STRING",
        "mode": "FAILFAST",
        "stopAtRecord": '{"value.kind": "end"}',
    }
    rows = batch(kafka.bootstrap_servers, subscribe=topic, columns="value.*", **json)
    assert rows.to_pylist() == [{"kind": "row"}]
    kafka.produce(topic, [b'{"kind": "end"}'])
    with pytest.raises(CorruptRecordError, match="position 2"):
        batch(
            kafka.bootstrap_servers,
            subscribe=topic,
            startingOffsets=f'{{"{topic}": {{"0": 2}}}}',
            **json,
        )


def test_a_value_that_cannot_be_decoded_counts_once_and_behind_the_end_not_at_all() -> None:
    options = {
        "kafka.bootstrap.servers": "nowhere:1",
        "subscribe": "orders",
        "valueFormat": "json",
        "valueSchema": "kind STRING",
        "stopAtRecord": '{"value.kind": "end"}',
    }
    emitter = configure(options, Boundedness.BOUNDED).source.create_emitter()
    values = [b'{"kind": "row"}', b"bad", b'{"kind": "end"}', b"bad"]
    records = [Record(delta, value=value) for delta, value in enumerate(values)]
    COUNTERS.take()
    rows = [*emitter.emit(RecordSet(record_batch(records)), state_of()), *emitter.flush()]
    assert sum(each.num_rows for each in rows) == 2
    assert COUNTERS.take() == {RECORDS_IN_ERRORS: 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"minPartitions": "4"}, "minPartitions.*end at records"),
        ({"maxRecordsPerPartition": "4"}, "maxRecordsPerPartition.*end at records"),
        ({"maxEventTimeSkew": "1s", "maxOffsetsPerTrigger": "9"}, "stopAtRecord.*maxEventTimeSkew"),
        ({"stopAtRecord": '{"what": 1}'}, "stopAtRecord.*'what' is not a column of the kafka source"),
        (
            {"stopAtRecord": '{"value.kind": "end"}'},
            "stopAtRecord.*'kind' of 'value.kind' is no field of binary",
        ),
        ({"stopAtRecord": '{"offset": "end"}'}, "stopAtRecord.*is no value of 'offset'"),
    ],
)
def test_contradictions_are_refused_by_name(options: dict[str, str], message: str) -> None:
    plain = {"kafka.bootstrap.servers": "nowhere:1", "subscribe": "orders", "stopAtRecord": END}
    with pytest.raises(OptionError, match=message):
        configure({**plain, **options}, Boundedness.CONTINUOUS_UNBOUNDED)


def test_a_part_of_a_chain_does_not_end_at_a_record() -> None:
    options = {
        "sources": "past,now",
        "past.source": "demo",
        "now.source": "kafka",
        "now.kafka.bootstrap.servers": "nowhere:1",
        "now.subscribe": "orders",
        "now.stopatrecord": END,
        "seamcolumn": "timestamp",
        "seamtime": "2026-01-01T00:00:00Z",
    }
    with pytest.raises(OptionError, match=r"now\.source.*ends splits at records"):
        configure_hybrid(options, Boundedness.CONTINUOUS_UNBOUNDED)


def test_spark_reads_up_to_the_end_as_a_batch_and_under_available_now(
    spark: SparkSession, kafka: LocalKafka, day: str, tmp_path: Path
) -> None:
    options = {
        "source": "kafka",
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "subscribe": day,
        "startingOffsets": "earliest",
        "stopAtRecord": END,
        "columns": "partition,offset",
    }
    frame = spark.read.format("headwater").options(**options).load()
    assert sorted(map(tuple, frame.collect())) == BEFORE
    for _ in range(2):
        stream = spark.readStream.format("headwater").options(**options).load()
        writer = stream.writeStream.format("parquet").option("path", str(tmp_path / "rows"))
        running = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        started = running.start()
        started.awaitTermination()
        kafka.produce(day, [b"later"], partition=0)
    assert sorted(map(tuple, spark.read.parquet(str(tmp_path / "rows")).collect())) == BEFORE
