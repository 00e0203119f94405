"""A batch read that was loaded once binds its open ends each time it runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.parity import Parity
from tests.parity.results import Row, failure_of, values
from tests.parity.sources import Source


def test_latest_is_the_latest_of_each_run(parity: Parity) -> None:
    def scenario(source: Source) -> list[list[Row]]:
        topic = source.filled(10, 10, 1)
        df = source.load(subscribe=topic, startingOffsets="earliest", endingOffsets="latest")
        before = source.rows(df)
        source.produce(topic, [b"later"] * 9, partition=2)
        return [before, source.rows(df)]

    assert [len(rows) for rows in parity.same(scenario)] == [21, 30]


def test_earliest_is_the_earliest_of_each_run(parity: Parity) -> None:
    def scenario(source: Source) -> list[list[Row]]:
        topic = source.filled(10)
        df = source.load(subscribe=topic)
        before = source.rows(df)
        source.kafka.delete_records(topic, {0: -1})
        source.produce(topic, [b"later"] * 10)
        return [before, source.rows(df)]

    assert [len(rows) for rows in parity.same(scenario)] == [10, 10]


def test_a_given_end_stays(parity: Parity) -> None:
    def scenario(source: Source) -> list[list[Row]]:
        topic = source.filled(10, 10, 1)
        df = source.load(
            subscribe=topic,
            startingOffsets=f'{{"{topic}":{{"0":-2,"1":-2,"2":0}}}}',
            endingOffsets=f'{{"{topic}":{{"0":-1,"1":-1,"2":1}}}}',
        )
        before = source.rows(df)
        source.produce(topic, [b"beyond the end"] * 9, partition=2)
        source.produce(topic, [b"later"] * 10, partition=1)
        return [before, source.rows(df)]

    before, after = parity.same(scenario)
    assert (len(before), len(after)) == (21, 31)
    assert b"beyond the end" not in values(after)


@pytest.mark.parametrize("cut", [{"minPartitions": 6}, {"maxRecordsPerPartition": 4}, {}])
def test_an_rdd_of_pieces_too(parity: Parity, cut: dict[str, Any]) -> None:
    def scenario(source: Source) -> list[list[Row]]:
        topic = source.filled(10, 10, 1)
        df = source.load(subscribe=topic, **cut).selectExpr("partition", "offset")
        rdd = df.rdd
        before = sorted(map(tuple, rdd.collect()))
        source.produce(topic, [b"later"] * 10, partition=1)
        return [before, sorted(map(tuple, rdd.collect())), sorted(map(tuple, df.rdd.collect()))]

    assert [len(rows) for rows in parity.same(scenario, needs_spark=True)] == [21, 31, 31]


def test_two_uses_of_one_frame(parity: Parity) -> None:
    def scenario(source: Source) -> list[Row]:
        df = source.load(subscribe=source.filled(11))
        return source.rows(df.union(df))

    assert len(parity.same(scenario, needs_spark=True)) == 22


def test_a_view(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(3)
        source.load(subscribe=topic).createOrReplaceTempView("bound_late")
        count = "select count(*) from bound_late"
        before = source.spark.sql(count).first()
        source.produce(topic, [b"later"] * 4)
        return [before, source.spark.sql(count).first()]

    assert [row[0] for row in parity.same(scenario, needs_spark=True)] == [3, 7]


def test_transactions_that_end_between_two_runs(parity: Parity) -> None:
    def scenario(source: Source, level: str) -> list[list[Row]]:
        topic = source.topic()
        df = source.load(subscribe=topic, kafka_isolation_level=level)
        found: list[list[Row]] = []
        for commit in (True, False, True):
            transaction = source.kafka.begin(topic)
            transaction.produce([b"%d" % len(found)] * 5)
            found.append(source.rows(df))
            (transaction.commit if commit else transaction.abort)()
            found.append(source.rows(df))
        return [[row[:5] for row in rows] for rows in found]  # transactions are made at their own time

    committed = parity.same(lambda source: scenario(source, "read_committed"))
    assert [len(rows) for rows in committed] == [0, 5, 5, 5, 5, 10]


@pytest.mark.parametrize("given", [{}, {"endingTimestamp": 1 << 50}])
def test_partitions_and_timestamps_are_those_of_the_first_run(parity: Parity, given: dict[str, Any]) -> None:
    def scenario(source: Source) -> list[int]:
        topic = source.filled(3)
        df = source.load(subscribe=topic, **given)
        before = source.rows(df)
        if given:
            source.produce(topic, [b"later"] * 4)
        else:
            source.kafka.add_partitions(topic, 2)
            source.produce(topic, [b"added"] * 4, partition=1)
        return [len(before), len(source.rows(df))]

    assert parity.differs("planned-once", scenario) == ([3, 7], [3, 3])


def test_a_topic_that_was_deleted_after_the_first_run(parity: Parity) -> None:
    def scenario(source: Source) -> bool:
        topic = source.filled(3)
        df = source.load(subscribe=topic, kafkaConsumer_pollTimeoutMs=2000)
        assert len(source.rows(df)) == 3
        source.kafka.delete_topic(topic)
        try:
            source.rows(df)
        except Exception as error:  # noqa: BLE001 - the error is the result
            print(failure_of(error))
            return True
        return False

    assert parity.same(scenario)
