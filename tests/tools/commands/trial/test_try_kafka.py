"""``headwater try`` on queries of Spark's own Kafka source, on a real broker and a real Spark."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

from headwater.tools.commands.trial import kafka_trial, report
from headwater.tools.commands.trial.kafka_ranges import OffsetRange, PresentRanges, present_ranges
from local_kafka import LocalKafka
from tests.parity.generated import write_logs
from tests.parity.sources import ANY_TIME
from tests.readers.kafka import record_sets
from tests.readers.kafka.record_sets import Record
from tests.tools.commands.trial.sparks_queries import SparksQuery, content

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Query = Callable[..., SparksQuery]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def query(spark: SparkSession, kafka: LocalKafka, tmp_path: Path) -> Query:
    """A query of Spark's Kafka source from the earliest records, by its options."""

    def querying(**options: Any) -> SparksQuery:
        every = {
            "kafka.bootstrap.servers": kafka.bootstrap_servers,
            "startingOffsets": "earliest",
            **{name.replace("_", "."): value for name, value in options.items()},
        }
        return SparksQuery(spark, "kafka", every, tmp_path / "checkpoint")

    return querying


def test_topics_of_all_kinds_are_the_same_and_nothing_is_touched(
    kafka: LocalKafka, query: Query, topic: str, rng: random.Random, capsys: Capture
) -> None:
    """Transactions, compaction, tombstones, gaps, deleted records; a group that the options name."""
    logs = write_logs(kafka, rng, topic, 4)
    tried = query(
        subscribe=",".join(log.topic for log in logs),
        kafka_isolation_level=rng.choice(["read_committed", "read_uncommitted"]),
        kafka_group_id=f"{topic}-group",
        includeHeaders="true",
        maxOffsetsPerTrigger=50,
    )
    tried.run()
    before = content(tried.checkpoint)
    group = f"{topic}-group"
    place = TopicPartition(logs[0].topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, group_id=group)
    consumer.commit({place: OffsetAndMetadata(1, "", -1)})
    assert tried.try_it("--batches", "1000", commitOffsetsToGroup=group) == 0
    said = capsys.readouterr().out
    assert "all columns of Kafka's records: " in said
    assert "rows, the same" in said
    assert content(tried.checkpoint) == before
    assert consumer.committed(place) == 1
    consumer.close()


def test_a_planted_difference_is_found_shown_and_explained(
    kafka: LocalKafka, query: Query, topic: str, capsys: Capture
) -> None:
    kafka.create_topic(topic, 2, ANY_TIME)
    kafka.produce(topic, [b"%d" % each for each in range(40)])
    kafka.append(topic, 1, record_sets.batch([Record(0, -62_135_596_799_000)]))
    kafka.produce(topic, [b"\xff", None], keys=[b"k", b"k"], partition=0)
    tried = query(subscribe=topic)
    tried.run()
    assert tried.try_it() == 1
    said = capsys.readouterr().out
    assert "NOT the same" in said
    assert f"  {topic} 1 20: timestamp is '0001-01-03 00:00:01' of Spark's source" in said
    assert "and '0001-01-01 00:00:01' of headwater" in said
    assert said.count(" of Spark's source and ") == 1
    assert "before 15 October 1582" in said
    assert "minOffsetsPerTrigger" not in said


def test_records_that_are_gone_are_named_and_the_rest_is_compared(
    kafka: LocalKafka, query: Query, topic: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    kafka.create_topic(topic, 2)
    kafka.produce(topic, [b"%d" % each for each in range(40)])
    tried = query(subscribe=topic)
    tried.run()
    kafka.delete_records(topic, {0: 7})
    assert tried.try_it() == 0
    said = capsys.readouterr().out
    assert f"{topic}-0 from 0 to 7: the log begins at 7 now" in said
    assert "33 rows, the same" in said

    stale = [PresentRanges(present_ranges(kafka_ranges(topic, 7), tried.options).ranges, ())]
    monkeypatch.setattr(
        kafka_trial, "present_ranges", lambda *given: stale.pop() if stale else present_ranges(*given)
    )
    kafka.delete_records(topic, {0: 12})
    assert tried.try_it() == 0
    assert "28 rows, the same" in capsys.readouterr().out

    kafka.delete_topic(topic)
    assert tried.try_it() == 1
    error = capsys.readouterr()
    assert f"{topic}-1 from 0 to 20: the cluster has no such partition" in error.out
    assert "no record of these batches is there any more" in error.err


def kafka_ranges(topic: str, start: int) -> list[Any]:
    return [OffsetRange(topic, 0, start, 20), OffsetRange(topic, 1, 0, 20)]


def test_typed_rows_are_compared_with_those_of_sparks_own_functions(
    kafka: LocalKafka, query: Query, topic: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    kafka.create_topic(topic, 2)
    values = [b'{"id":%d,"tags":{"a":[%d]},"at":"2026-01-01T00:00:00Z"}' % (each, each) for each in range(30)]
    kafka.produce(topic, [*values, b"{", b"null", b'{"id":"x"}'])
    tried = query(subscribe=topic)
    tried.run()
    schema = "id long, tags map<string,array<int>>, at timestamp, bad string"
    monkeypatch.setattr(report, "FEW_ROWS", 1)
    typed = {"valueFormat": "json", "valueSchema": schema, "columnNameOfCorruptRecord": "bad"}
    assert tried.try_it(**typed, timeZone="UTC") == 0
    said = capsys.readouterr().out
    assert "typed rows, beside from_json of the value: 33 rows, the same" in said
    assert said.count("times the rows a second, and ") == 2
    kafka.produce(topic, [b"\x04hi", b"\xff"])
    tried.run()
    avro = {"valueFormat": "avro", "valueAvroSchema": '"string"'}
    assert tried.try_it(**avro) == 0
    assert "typed rows, beside from_avro of the value: 35 rows, the same" in capsys.readouterr().out
    avro["mode"] = "DROPMALFORMED"
    assert tried.try_it(**avro) == 0
    said = capsys.readouterr().out
    assert "typed rows (valueFormat=avro) were not compared: from_avro has no mode DROPMALFORMED" in said


def test_an_option_that_headwater_refuses_is_named_before_anything_is_read(
    kafka: LocalKafka, query: Query, topic: str, capsys: Capture
) -> None:
    kafka.create_topic(topic)
    kafka.produce(topic, [b"x"])
    tried = query(subscribe=topic)
    tried.run()
    assert tried.try_it(maxOffsetPerTrigger="5") == 1
    assert "maxOffsetsPerTrigger" in capsys.readouterr().err


def test_what_a_year_costs_follows_from_how_fast_the_query_reads(
    kafka: LocalKafka, query: Query, topic: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(report, "FEW_ROWS", 1)
    kafka.create_topic(topic)
    kafka.produce(topic, [b"x"] * 90)
    tried = query(subscribe=topic, maxOffsetsPerTrigger=30)
    tried.run()
    assert tried.try_it() == 0
    said = capsys.readouterr().out
    assert "rows a second of this query: " in said
    assert "CPU hours a year" in said
    assert f"headwater checkpoint convert {tried.checkpoint} --to spark-kafka" in said
    assert tried.try_it("--batches", "1") == 0
    assert "batch 2, committed" in capsys.readouterr().out
