"""What each option means on a real broker: coordinator, reader and emitter together, without Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from headwater.connector.planned.planning import ReadTask
from headwater.core.errors import DataLossError, OptionError, SourceError, UnknownSplitError
from local_kafka import LocalKafka
from tests.connector.sources.kafka.kafka_queries import Query, batch, batch_and_tasks, places, values

NOON_MS = 1_700_000_000_000
FOREVER = {"retention.ms": "-1"}  # records of 2023 are not deleted at once


@pytest.fixture
def timed(kafka: LocalKafka, topic: str) -> str:
    """Partition 0 has a record each second, 0 to 9; partition 1 the first three; partition 2 none."""
    kafka.create_topic(topic, 3, FOREVER)
    for partition, count in ((0, 10), (1, 3)):
        stamps = [NOON_MS + i * 1_000 for i in range(count)]
        kafka.produce(
            topic,
            [b"%d/%d" % (partition, i) for i in range(count)],
            timestamps_ms=stamps,
            partition=partition,
        )
    return topic


def upto(*counts: int) -> list[tuple[int, int]]:
    return [(partition, offset) for partition, count in enumerate(counts) for offset in range(count)]


class TestWhatIsRead:
    def test_a_pattern_is_searched_in_names_and_finds_topics_that_are_created_later(
        self, kafka: LocalKafka, topic: str, query: Callable[..., Query]
    ) -> None:
        for name in (topic, f"also-{topic}", topic[:-1]):
            kafka.create_topic(name)
            kafka.produce(name, [name.encode()])
        reading = query(subscribePattern=topic, startingOffsets="earliest")
        assert values(reading.step()) == [f"also-{topic}".encode(), topic.encode()]
        kafka.create_topic(f"{topic}-later")
        kafka.produce(f"{topic}-later", [b"late"])
        assert values(reading.step()) == [b"late"]
        assert values(reading.replay()) == [b"late"]

    def test_unknown_names_and_partitions(self, kafka: LocalKafka, timed: str) -> None:
        for options, message in (
            (
                {"subscribe": f"{timed},nope"},
                (
                    "topic 'nope' does not exist in the Kafka cluster, or this user may not see it: create "
                    "it, or mend"
                ),
            ),
            ({"assign": f'{{"{timed}":[0,7]}}'}, f"partition 7 of topic '{timed}' does not exist"),
        ):
            with pytest.raises(UnknownSplitError, match=message):
                batch(kafka.bootstrap_servers, fetchOffset_retryIntervalMs="10", **options)


class TestWhereReadingBegins:
    def test_a_stream_at_the_latest(self, kafka: LocalKafka, timed: str, query: Callable[..., Query]) -> None:
        reading = query(subscribe=timed)
        assert values(reading.step()) == []
        assert reading.step() is None
        kafka.produce(timed, [b"new"], partition=2)
        assert values(reading.step()) == [b"new"]

    def test_a_word_for_a_whole_topic(
        self, kafka: LocalKafka, timed: str, query: Callable[..., Query]
    ) -> None:
        kafka.create_topic(f"{timed}-b", 2)
        kafka.produce(f"{timed}-b", [b"old"], partition=1)
        given = f'{{"{timed}":{{"0":8,"1":-1,"2":-1}},"{timed}-b":"earliest"}}'
        reading = query(subscribe=f"{timed},{timed}-b", startingOffsets=given)
        assert values(reading.step()) == [b"0/8", b"0/9", b"old"]
        ending = given.replace("earliest", "latest").replace(":8", ":9")
        found = batch(
            kafka.bootstrap_servers,
            subscribe=f"{timed},{timed}-b",
            startingOffsets=f'{{"{timed}":"earliest","{timed}-b":"Earliest"}}',
            endingOffsets=ending,
        )
        assert places(found) == sorted([*upto(9, 3), (1, 0)])

    @pytest.mark.parametrize("named", ["subscribe", "subscribePattern"])
    def test_json_must_name_every_partition(
        self, timed: str, query: Callable[..., Query], named: str
    ) -> None:
        with pytest.raises(
            OptionError,
            match=f"option 'startingOffsets': must name every partition that is read; missing: {timed}-1, "
            f"{timed}-2",
        ):
            query(**{named: timed}, startingOffsets=f'{{"{timed}":{{"0":8}}}}').step()

    def test_and_no_other(self, timed: str, query: Callable[..., Query]) -> None:
        given = f'{{"{timed}":{{"0":8,"1":1,"2":0,"3":0}},"other":{{"0":1}}}}'
        with pytest.raises(
            OptionError, match=rf"names partitions that are not read or do not exist: other-0, {timed}-3"
        ):
            query(subscribe=timed, startingOffsets=given).step()

    def test_beyond_the_end_it_is_loss_or_the_end(
        self, kafka: LocalKafka, timed: str, query: Callable[..., Query], caplog: pytest.LogCaptureFixture
    ) -> None:
        given = {"assign": f'{{"{timed}":[1]}}', "startingOffsets": f'{{"{timed}":{{"1":50}}}}'}
        with pytest.raises(
            DataLossError,
            match=rf"topic '{timed}', partition 1, offset 50: the log ends at offset 3: .*position 50\]",
        ):
            query(**given).step()
        reading = query(**given, failOnDataLoss="false")
        assert values(reading.step()) == []
        assert f"topic '{timed}', partition 1, offset 50: the log ends at offset 3" in caplog.text
        kafka.produce(timed, [b"new"], partition=1)
        assert values(reading.step()) == [b"new"]

    @pytest.mark.parametrize(
        ("strategy", "expected"),
        [("latest", [(0, 5), (0, 6)]), ("earliest", [(0, 5), (0, 6), (1, 0), (1, 1), (1, 2)])],
    )
    def test_where_no_record_is_that_late(
        self, kafka: LocalKafka, timed: str, strategy: str, expected: list[tuple[int, int]]
    ) -> None:
        given = {
            "startingTimestamp": str(NOON_MS + 5_000),
            "endingTimestamp": str(NOON_MS + 7_000),
            "subscribe": timed,
        }
        assert (
            places(batch(kafka.bootstrap_servers, **given, startingOffsetsByTimestampStrategy=strategy))
            == expected
        )
        with pytest.raises(
            SourceError,
            match=f"startingTimestamp: topic '{timed}', partition [12] has no record at or after the "
            "timestamp",
        ):
            batch(kafka.bootstrap_servers, **given)

    def test_partitions_found_later_begin_at_their_earliest_record_whatever_the_options_say(
        self, kafka: LocalKafka, topic: str, query: Callable[..., Query]
    ) -> None:
        kafka.create_topic(topic)
        reading = query(subscribe=topic, startingOffsets="latest")
        reading.step()
        kafka.add_partitions(topic, 2)
        kafka.produce(topic, [b"first"], partition=1)
        reading.restart()
        assert values(reading.step()) == [b"first"]

    def test_startings_count_once_in_the_life_of_a_checkpoint(
        self, kafka: LocalKafka, timed: str, query: Callable[..., Query]
    ) -> None:
        reading = query(subscribe=timed, startingOffsets="latest")
        reading.step()
        kafka.produce(timed, [b"between"], partition=2)
        reading.restart(startingOffsets="latest")
        assert values(reading.step()) == [b"between"]


class TestWhereABatchEnds:
    def test_json_must_name_every_partition(self, kafka: LocalKafka, timed: str) -> None:
        for option in ("endingOffsets", "endingOffsetsByTimestamp"):
            with pytest.raises(
                OptionError,
                match=f"option '{option}': must name every partition that is read; missing: {timed}-1, "
                f"{timed}-2",
            ):
                batch(kafka.bootstrap_servers, subscribe=timed, **{option: f'{{"{timed}":{{"0":8}}}}'})

    def test_not_before_it_begins(self, kafka: LocalKafka, timed: str) -> None:
        given = {
            "assign": f'{{"{timed}":[0]}}',
            "startingOffsets": f'{{"{timed}":{{"0":5}}}}',
            "endingOffsets": f'{{"{timed}":{{"0":4}}}}',
        }
        with pytest.raises(
            OptionError,
            match=f"option 'startingOffsets': topic '{timed}', partition 0 begins at offset 5, but "
            "endingOffsets .* at 4",
        ):
            batch(kafka.bootstrap_servers, **given)

    def test_beyond_the_log_it_is_loss_or_the_end_of_the_log(
        self, kafka: LocalKafka, timed: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        given = {
            "assign": f'{{"{timed}":[1]}}',
            "endingOffsets": f'{{"{timed}":{{"1":50}}}}',
            "kafka_fetch_max_wait_ms": "100",
        }
        with pytest.raises(
            DataLossError,
            match=f"topic '{timed}', partition 1, offsets 3 to 49 were lost: the log now ends at offset "
            "3: .*lies beyond",
        ):
            batch(kafka.bootstrap_servers, **given)
        assert places(batch(kafka.bootstrap_servers, **given, failOnDataLoss="false")) == [
            (1, 0),
            (1, 1),
            (1, 2),
        ]
        assert "positions 3 to 49 were lost" in caplog.text


class TestTasks:
    @staticmethod
    def sizes(tasks: list[ReadTask[Any, int]]) -> list[int]:
        return sorted(sum(piece.stop - piece.start for piece in task.ranges) for task in tasks)

    @staticmethod
    def given_ends(topic: str) -> dict[str, str]:
        """With both ends given the ranges of tasks are numbers."""
        return {
            "subscribe": topic,
            "startingOffsets": f'{{"{topic}":{{"0":0,"1":0,"2":0}}}}',
            "endingOffsets": f'{{"{topic}":{{"0":10,"1":3,"2":0}}}}',
        }

    def test_a_partition_is_a_task(self, kafka: LocalKafka, timed: str) -> None:
        _, tasks = batch_and_tasks(kafka.bootstrap_servers, **self.given_ends(timed))
        assert self.sizes(tasks) == [3, 10]

    def test_up_to_the_parallelism(self, kafka: LocalKafka, timed: str) -> None:
        _, tasks = batch_and_tasks(kafka.bootstrap_servers, parallelism="1", **self.given_ends(timed))
        assert self.sizes(tasks) == [13]

    def test_min_partitions_cuts(self, kafka: LocalKafka, timed: str) -> None:
        rows, tasks = batch_and_tasks(kafka.bootstrap_servers, minPartitions="6", **self.given_ends(timed))
        assert (places(rows), self.sizes(tasks)) == (upto(10, 3), [2, 2, 2, 2, 2, 3])

    def test_max_records_per_partition_cuts_too(self, kafka: LocalKafka, timed: str) -> None:
        rows, tasks = batch_and_tasks(
            kafka.bootstrap_servers, maxRecordsPerPartition="4", **self.given_ends(timed)
        )
        assert (places(rows), self.sizes(tasks)) == (upto(10, 3), [3, 3, 3, 4])


class TestLimits:
    def test_the_most_offsets_of_a_batch_are_shared_in_proportion(
        self, timed: str, query: Callable[..., Query]
    ) -> None:
        reading = query(subscribe=timed, startingOffsets="earliest", maxOffsetsPerTrigger="7")
        assert [places(reading.step()), places(reading.step()), reading.step()] == [
            upto(5, 1),
            [*((0, i) for i in range(5, 10)), (1, 1), (1, 2)],
            None,
        ]

    def test_the_most_bytes_of_a_batch_are_an_estimate(
        self, kafka: LocalKafka, topic: str, query: Callable[..., Query]
    ) -> None:
        kafka.create_topic(topic)
        kafka.produce(topic, [b"x" * 1_000] * 100)
        first = query(subscribe=topic, startingOffsets="earliest", maxBytesPerTrigger="20000").step()
        assert first is not None
        assert 15 < first.num_rows < 20

    def test_the_fewest_offsets_of_a_batch_are_waited_for_but_not_by_the_first(
        self, kafka: LocalKafka, timed: str, query: Callable[..., Query]
    ) -> None:
        reading = query(subscribe=timed, startingOffsets="earliest", minOffsetsPerTrigger="14")
        assert places(reading.step()) == upto(10, 3)
        kafka.produce(timed, [b"x"], partition=2)
        assert reading.step() is None
        reading.restart()
        assert places(reading.step()) == [(2, 0)]

    def test_but_not_for_ever(self, timed: str, query: Callable[..., Query]) -> None:
        reading = query(
            subscribe=timed, startingOffsets="earliest", minOffsetsPerTrigger="14", maxTriggerDelay="0s"
        )
        assert places(reading.step()) == upto(10, 3)


class TestReadCommitted:
    def test_aborted_records_are_dropped_and_open_ones_not_read(
        self, kafka: LocalKafka, topic: str, query: Callable[..., Query]
    ) -> None:
        kafka.create_topic(topic)
        kafka.produce_transaction(topic, [b"a", b"b"], commit=True)
        kafka.produce_transaction(topic, [b"aborted"] * 5, commit=False)
        kafka.produce_transaction(topic, [b"c"], commit=True)
        transaction = kafka.begin(topic)
        transaction.produce([b"open"])
        kafka.produce(topic, [b"behind"])
        given = {"subscribe": topic, "startingOffsets": "earliest"}
        committed = query(**given, kafka_isolation_level="read_committed")
        everything = query(**given)
        assert values(committed.step()) == [b"a", b"b", b"c"]
        assert values(everything.step()) == [b"a", b"b", *[b"aborted"] * 5, b"c", b"open", b"behind"]
        assert committed.step() is None
        transaction.commit()
        assert values(until(committed)) == [b"open", b"behind"]

    def test_a_batch_that_is_cut_inside_of_a_transaction(self, kafka: LocalKafka, topic: str) -> None:
        kafka.create_topic(topic)
        expected = []
        for i in range(12):
            records = [b"%d/%d" % (i, j) for j in range(7)]
            kafka.produce_transaction(topic, records, commit=bool(i % 3))
            expected += records if i % 3 else []
        rows = batch(
            kafka.bootstrap_servers,
            subscribe=topic,
            kafka_isolation_level="read_committed",
            maxRecordsPerPartition="5",
        )
        assert values(rows) == expected

    def test_an_end_of_markers_alone_is_reached(
        self, kafka: LocalKafka, topic: str, query: Callable[..., Query]
    ) -> None:
        kafka.create_topic(topic)
        kafka.produce_transaction(topic, [b"aborted"], commit=False)
        reading = query(subscribe=topic, startingOffsets="earliest", kafka_isolation_level="read_committed")
        assert values(reading.step()) == []
        assert reading.log[-1]["positions"] == {topic: {"0": 2}}


class TestFailOnDataLoss:
    @pytest.fixture
    def lost(self, kafka: LocalKafka, topic: str, query: Callable[..., Query]) -> Query:
        """A query that has read 3 of 20 records when the first 10 are deleted."""
        kafka.create_topic(topic)
        kafka.produce(topic, [b"%d" % i for i in range(20)])
        reading = query(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="3")
        assert values(reading.step()) == [b"0", b"1", b"2"]
        kafka.delete_records(topic, {0: 10})
        reading.restart(maxOffsetsPerTrigger="1000")
        return reading

    def test_retention_fails_the_query_naming_what_is_gone(self, topic: str, lost: Query) -> None:
        with pytest.raises(DataLossError) as caught:
            lost.step()
        assert str(caught.value) == (
            f"topic {topic!r}, partition 0, offsets 3 to 9 were lost: the log now begins at offset 10: "
            "retention or an administrator removed them. Set failOnDataLoss=false to go on with what is "
            f"there, or start with a new checkpointLocation [source kafka, split {topic}-0, position 3]"
        )

    def test_or_is_passed_with_a_warning_and_counted_in_the_offset(
        self, topic: str, lost: Query, caplog: pytest.LogCaptureFixture
    ) -> None:
        lost.restart(failOnDataLoss="false")
        with caplog.at_level(logging.WARNING):
            assert values(until(lost)) == [b"%d" % i for i in range(10, 20)]
        assert caplog.text.count(f"topic {topic!r}, partition 0, offsets 3 to 9 were lost") == 1
        losses: Any = lost.log[-1]["losses"]
        assert (losses["rows"], losses["at_least_rows"]) == (7, 0)
        (found,) = losses["ranges"]
        assert {**found, "time_ms": 0} == {
            "split": f"{topic}-0",
            "first": 3,
            "until": 10,
            "found": "planning",
            "time_ms": 0,
        }
        assert lost.step() is None

    def test_a_batch_that_was_logged_before_finds_out_when_it_is_read(
        self, kafka: LocalKafka, topic: str, query: Callable[..., Query], caplog: pytest.LogCaptureFixture
    ) -> None:
        kafka.create_topic(topic)
        kafka.produce(topic, [b"%d" % i for i in range(20)])
        reading = query(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="3")
        reading.step()
        reading.restart(maxOffsetsPerTrigger="1000")
        reading.log.append(reading._coordinator.plan_next(reading.log[-1], limited=True))
        kafka.delete_records(topic, {0: 10})
        with pytest.raises(DataLossError, match="offsets 3 to 9 were lost"):
            reading.replay()
        reading.restart(failOnDataLoss="false")
        with caplog.at_level(logging.WARNING):
            assert values(reading.replay()) == [b"%d" % i for i in range(10, 20)]
        assert f"{topic}-0: positions 3 to 9 were lost" in caplog.text
        # What only a task found is counted by the next offset, here in a batch without rows.
        assert values(until(reading)) == []
        losses: Any = reading.log[-1]["losses"]
        assert (losses["rows"], losses["at_least_rows"]) == (0, 7)
        assert reading.step() is None


class TestTopicsThatGo:
    @pytest.fixture
    def reading(self, kafka: LocalKafka, topic: str, query: Callable[..., Query]) -> Query:
        kafka.create_topic(topic, 2)
        kafka.produce(topic, [b"old"] * 6)
        reading = query(subscribe=topic, startingOffsets="earliest")
        assert values(reading.step()) == [b"old"] * 6
        return reading

    @pytest.mark.parametrize("restarted", [False, True])
    @pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
    def test_all_out_of_sight_nothing_changes_until_they_are_there_anew(
        self,
        kafka: LocalKafka,
        topic: str,
        reading: Query,
        caplog: pytest.LogCaptureFixture,
        fail_on_data_loss: str,
        *,
        restarted: bool,
    ) -> None:
        reading.restart(failOnDataLoss=fail_on_data_loss)
        kafka.delete_topic(topic)
        if restarted:
            reading.restart()
        assert reading.step() is None
        assert reading.step() is None
        assert reading.log[-1]["positions"] == {topic: {"0": 3, "1": 3}}
        assert caplog.text.count("none of the 2 partitions that this query reads is in sight") == 1
        kafka.create_topic(topic)
        kafka.produce(topic, [b"new"])
        if fail_on_data_loss == "true":
            with pytest.raises(DataLossError, match="deleted and created anew"):
                until(reading)
        else:
            assert values(until(reading)) == [b"new"]

    @pytest.mark.parametrize("restarted", [False, True])
    @pytest.mark.parametrize("partitions", [1, 2])
    def test_created_anew_it_is_an_error_even_if_it_is_longer_now(
        self, kafka: LocalKafka, topic: str, reading: Query, partitions: int, *, restarted: bool
    ) -> None:
        anew(kafka, topic, partitions, [b"new"] * 50)
        if restarted:
            reading.restart()
        with pytest.raises(
            DataLossError,
            match=f"topic '{topic}', partition 0, offset 3: the topic was deleted and created anew",
        ):
            until(reading)

    @pytest.mark.parametrize("restarted", [False, True])
    @pytest.mark.parametrize("partitions", [1, 2])
    def test_or_a_warning_and_it_is_read_from_its_beginning(
        self,
        kafka: LocalKafka,
        topic: str,
        reading: Query,
        caplog: pytest.LogCaptureFixture,
        partitions: int,
        *,
        restarted: bool,
    ) -> None:
        reading.restart(failOnDataLoss="false")
        anew(kafka, topic, partitions, [b"new"] * 50)
        if restarted:
            reading.restart()
        assert values(until(reading)) == [b"new"] * 50
        assert reading.step() is None
        assert caplog.text.count("the topic was deleted and created anew (") == 2

    def test_ends_of_the_new_one_are_never_taken_for_the_old_ones_though_the_list_of_partitions_is_old(
        self, kafka: LocalKafka, topic: str, query: Callable[..., Query]
    ) -> None:
        kafka.create_topic(topic)
        kafka.produce(topic, [b"old"] * 3)
        reading = query(
            subscribe=topic,
            startingOffsets="earliest",
            failOnDataLoss="false",
            discovery_interval_ms=3_600_000,
        )
        reading.step()
        anew(kafka, topic, 1, [b"new"] * 50)
        assert values(reading.step()) == []
        reading.restart()
        assert values(reading.step()) == [b"new"] * 50

    def test_a_logged_batch_of_the_old_one_never_reads_the_new_one(
        self, kafka: LocalKafka, topic: str, reading: Query
    ) -> None:
        kafka.produce(topic, [b"never read"] * 4)
        end = reading._coordinator.plan_next(reading.log[-1], limited=True)
        reading.log.append(end)
        anew(kafka, topic, 2, [b"new"] * 50)
        with pytest.raises(
            DataLossError,
            match=f"topic '{topic}', partition [01], offsets 3 to 4 were lost: the topic was deleted and "
            "created anew",
        ):
            reading.replay()
        reading.restart(failOnDataLoss="false")
        assert values(reading.replay()) == []
        assert values(reading.step()) == [b"new"] * 50


def anew(kafka: LocalKafka, topic: str, partitions: int, records: list[bytes]) -> None:
    kafka.delete_topic(topic)
    kafka.create_topic(topic, partitions)
    kafka.produce(topic, records)


def until(reading: Query) -> pa.Table:
    """Step until there is something to do: brokers agree after a while."""
    while (rows := reading.step()) is None:
        pass
    return rows
