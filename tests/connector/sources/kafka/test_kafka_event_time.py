"""A backlog in Kafka is read in the order in which it happened: batches end at one time in all partitions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.errors import OptionError, SourceError
from headwater.core.source import Boundedness
from headwater.readers.runtime.loss_reports import LossReports
from local_kafka import LocalKafka
from tests.connector.sources.kafka.kafka_queries import Query, configure, places
from timed_records import append_at

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
BEGIN_MS = time.time_ns() // 1_000_000 - 30 * HOUR_MS
"""The broker removes what is older than a week, and refuses what is an hour ahead."""
LIMIT = 1_000


def even(begin_ms: int, end_ms: int, rows: int) -> list[int]:
    """Return times at equal distances."""
    return [begin_ms + (end_ms - begin_ms) * at // rows for at in range(rows)]


def query(kafka: LocalKafka, topics: str, **options: str) -> Query:
    """A query that reads from the beginning, aligned to a minute."""
    asked = {"maxOffsetsPerTrigger": str(LIMIT), "maxEventTimeSkew": "1m"} | options
    everything: Any = {"subscribe": topics, "startingOffsets": "earliest", **asked}
    return Query(kafka.bootstrap_servers, **everything)


def batches(reading: Query) -> Iterator[pa.Table]:
    while (rows := reading.step()) is not None:
        yield rows


def times_ms(rows: pa.Table) -> list[int]:
    return [int(value or 0) for value in rows.column("value").to_pylist()]


def late_rows(read: Sequence[pa.Table], delay_ms: int) -> int:
    """Return how many rows lie before the watermark of the batches before, as Spark moves it."""
    watermark = before = seen = 0
    late = 0
    for rows in read:
        times = times_ms(rows)
        late += sum(time_ms < before for time_ms in times)
        before = watermark
        seen = max([seen, *times])
        watermark = seen - delay_ms
    return late


@pytest.fixture
def behind(kafka: LocalKafka, topic: str) -> str:
    """Three partitions with the last hour, and one with three hours: 4,000 records in all."""
    kafka.create_topic(topic, 4)
    for partition in range(3):
        append_at(kafka, topic, partition, even(BEGIN_MS + 2 * HOUR_MS, BEGIN_MS + 3 * HOUR_MS, 1_000))
    append_at(kafka, topic, 3, even(BEGIN_MS, BEGIN_MS + 3 * HOUR_MS, 1_000))
    return topic


EVERY_ROW = sorted((partition, offset) for partition in range(4) for offset in range(1_000))


def test_no_row_of_a_partition_that_lags_is_late(kafka: LocalKafka, behind: str) -> None:
    with query(kafka, behind) as reading:
        read = list(batches(reading))
    assert sorted(place for rows in read for place in places(rows)) == EVERY_ROW
    assert late_rows(read, 10 * MINUTE_MS) == 0
    assert max(rows.num_rows for rows in read) <= LIMIT


def test_without_alignment_rows_are_late(kafka: LocalKafka, behind: str) -> None:
    """The world of these tests is unfriendly enough."""
    with Query(
        kafka.bootstrap_servers,
        subscribe=behind,
        startingOffsets="earliest",
        maxOffsetsPerTrigger=str(LIMIT),
    ) as reading:
        assert late_rows(list(batches(reading)), 10 * MINUTE_MS) > 100


def test_partitions_end_a_batch_within_the_skew(kafka: LocalKafka, behind: str) -> None:
    with query(kafka, behind) as reading:
        ends: dict[str, int] = {}
        for _rows in batches(reading):
            ends = positions(reading)[behind]
            unread = [
                BEGIN_MS + 2 * HOUR_MS + HOUR_MS * end // 1_000
                for partition, end in ends.items()
                if partition != "3" and 0 < end < 1_000
            ]
            if 0 < ends["3"] < 1_000:
                unread.append(BEGIN_MS + 3 * HOUR_MS * ends["3"] // 1_000)
            if len(unread) > 1:
                assert max(unread) - min(unread) <= MINUTE_MS + 3 * HOUR_MS // 1_000
        assert set(ends.values()) == {1_000}


def test_two_topics_of_very_different_age_are_read_in_the_order_of_time(
    kafka: LocalKafka, topic: str
) -> None:
    slow = f"{topic}-slow"
    fast = f"{topic}-fast"
    kafka.create_topic(slow, 2)
    kafka.create_topic(fast, 2)
    for partition in range(2):
        append_at(kafka, slow, partition, even(BEGIN_MS, BEGIN_MS + 24 * HOUR_MS, 700))
        append_at(kafka, fast, partition, even(BEGIN_MS + 23 * HOUR_MS, BEGIN_MS + 24 * HOUR_MS, 2_500))
    with query(kafka, f"{slow},{fast}") as reading:
        read = list(batches(reading))
    assert sum(rows.num_rows for rows in read) == 2 * 700 + 2 * 2_500
    assert late_rows(read, 10 * MINUTE_MS) == 0


@pytest.mark.parametrize("limits", [{"maxOffsetsPerTrigger": "700"}, {"maxBytesPerTrigger": "20000"}])
def test_a_restart_in_the_middle_goes_on_at_the_same_front(
    kafka: LocalKafka, behind: str, limits: dict[str, str]
) -> None:
    limits = {"maxOffsetsPerTrigger": "1000000"} | limits
    with query(kafka, behind, **limits) as reading:
        read = []
        fronts = []
        while (rows := reading.step()) is not None:
            read.append(rows)
            assert places(reading.replay()) == places(rows), "a replay asks nobody"
            fronts.append(front_ms(reading))
            reading.restart()
    assert sorted(place for rows in read for place in places(rows)) == EVERY_ROW
    assert late_rows(read, 10 * MINUTE_MS) == 0
    assert fronts[-1] is None, "all is read"
    known = [front for front in fronts if front is not None]
    assert len(known) > 2
    assert known == sorted(known)


def test_a_new_query_begins_at_its_starting_timestamp_and_is_aligned_from_there(
    kafka: LocalKafka, behind: str
) -> None:
    begin_ms = BEGIN_MS + 90 * MINUTE_MS
    with query(kafka, behind, startingTimestamp=str(begin_ms)) as reading:
        read = list(batches(reading))
    times = [at for rows in read for at in times_ms(rows)]
    assert min(times) >= begin_ms
    assert len(times) == 3_000 + 500
    assert len(read) > 3
    assert late_rows(read, 10 * MINUTE_MS) == 0


def test_times_of_the_payload_that_are_late_are_counted_with_a_format(kafka: LocalKafka, topic: str) -> None:
    """Batches are aligned by the records' times; the payload of one partition is two hours off."""
    kafka.create_topic(topic, 2)
    times = even(BEGIN_MS, BEGIN_MS + HOUR_MS, 300)
    for partition, off_ms in ((0, 0), (1, 2 * HOUR_MS)):
        values = [b'{"at": %d}' % ((at - off_ms) // 1_000) for at in times]
        kafka.produce(topic, values, timestamps_ms=times, partition=partition)
    given = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "valueFormat": "json",
        "valueSchema": "at timestamp",
        "columns": "value.*",
        "timeZone": "UTC",
        "maxOffsetsPerTrigger": "100",
        "maxEventTimeSkew": "1m",
        "eventTimeDelay": "10m",
        "eventTimeColumn": "at",
    }
    made = configure(given, Boundedness.CONTINUOUS_UNBOUNDED)
    with closing(made.create_coordinator()) as coordinator:
        start = coordinator.initial_offset()
        while (end := coordinator.plan_next(start, limited=True)) is not start:
            tasks: Any = coordinator.tasks(start, end)
            assert all(rows.num_rows for task in tasks for rows in made.read_task(task))
            # It is answered, and comes after what the tasks have reported.
            LossReports(tasks[0].reports_to)(hw.NamedSplit("0"), 0, 1, "were lost")
            start = end
        report: Any = coordinator.latest()
    assert 200 < report["metrics"]["lateInColumn"] <= 300


def test_a_query_that_was_not_aligned_takes_the_option_up(kafka: LocalKafka, behind: str) -> None:
    plain = {"subscribe": behind, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "400"}
    with Query(kafka.bootstrap_servers, **plain) as reading:  # type: ignore[arg-type]
        read = [rows for _ in range(2) if (rows := reading.step()) is not None]
        reading.restart(maxEventTimeSkew="1m")
        read += batches(reading)
    assert sorted(place for rows in read for place in places(rows)) == EVERY_ROW


def test_available_now_ends_where_the_partitions_ended_when_it_began(kafka: LocalKafka, behind: str) -> None:
    with query(kafka, behind) as reading:
        reading.available_now()
        read = []
        while (rows := reading.step()) is not None:
            read.append(rows)
            # Records at times that were read already, and after all of them.
            append_at(kafka, behind, 0, [BEGIN_MS, BEGIN_MS + 29 * HOUR_MS])
    assert sorted(place for rows in read for place in places(rows)) == EVERY_ROW
    assert late_rows(read, 10 * MINUTE_MS) == 0


def test_read_committed_ends_at_the_last_stable_offset(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic, 2)
    append_at(kafka, topic, 0, even(BEGIN_MS, BEGIN_MS + HOUR_MS, 2_000))
    append_at(kafka, topic, 1, even(BEGIN_MS, BEGIN_MS + HOUR_MS, 500))
    kafka.produce_transaction(topic, [b"0"] * 50, commit=False, partition=1)
    open_transaction = kafka.begin(topic, 1)
    open_transaction.produce([b"0"] * 2_000)
    try:
        with query(kafka, topic, kafka_isolation_level="read_committed") as reading:
            read = list(batches(reading))
    finally:
        open_transaction.abort()
    assert sum(rows.num_rows for rows in read) == 2_500
    assert late_rows(read, 10 * MINUTE_MS) == 0


class TestLateSplits:
    """A partition that is found when the query has read on."""

    @pytest.fixture
    def read_on(self, kafka: LocalKafka, topic: str) -> Iterator[Query]:
        """A query that has read an hour, and then a partition is added."""
        kafka.create_topic(topic, 1)
        append_at(kafka, topic, 0, even(BEGIN_MS, BEGIN_MS + HOUR_MS, 2_500))
        with query(kafka, topic, eventTimeDelay="10m") as reading:
            assert reading.step() is not None
            yield reading

    def add_partition(self, kafka: LocalKafka, topic: str, times: Sequence[int]) -> None:
        kafka.add_partitions(topic, 2)
        append_at(kafka, topic, 1, times)

    @pytest.mark.parametrize("all_read", [False, True])
    def test_old_rows_of_it_are_counted_and_read(
        self,
        read_on: Query,
        kafka: LocalKafka,
        topic: str,
        all_read: bool,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        if all_read:
            list(batches(read_on))
        [before] = positions(read_on)[topic].values()
        self.add_partition(kafka, topic, [BEGIN_MS] * 30 + [BEGIN_MS + HOUR_MS] * 5)
        assert before + sum(rows.num_rows for rows in batches(read_on)) == 2_535
        [told] = [message for message in caplog.messages if "eventTimeDelay" in message]
        assert told.startswith(f"30 rows of split {topic}-1, from 0 on, are older than what the query has")
        assert event_time(read_on)["late_rows"] == 30

    def test_it_is_an_error_with_fail(self, read_on: Query, kafka: LocalKafka, topic: str) -> None:
        read_on.restart(onLateSplit="fail")
        self.add_partition(kafka, topic, [BEGIN_MS] * 30)
        with pytest.raises(SourceError, match=r"30 rows of split .*Set onLateSplit=read to read them"):
            list(batches(read_on))

    def test_young_rows_are_not_late(
        self, read_on: Query, kafka: LocalKafka, topic: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        read_on.restart(onLateSplit="fail")
        list(batches(read_on))
        self.add_partition(kafka, topic, [BEGIN_MS + HOUR_MS - 9 * MINUTE_MS])
        assert sum(rows.num_rows for rows in batches(read_on)) == 1
        assert "eventTimeDelay" not in caplog.text


class TestIdleTimeout:
    """Whether a partition that is read to its end holds back the others."""

    @pytest.fixture
    def uneven(self, kafka: LocalKafka, topic: str) -> str:
        """One partition ends half an hour before the other."""
        kafka.create_topic(topic, 2)
        append_at(kafka, topic, 0, even(BEGIN_MS, BEGIN_MS + HOUR_MS // 2, 300))
        append_at(kafka, topic, 1, even(BEGIN_MS, BEGIN_MS + HOUR_MS, 600))
        return topic

    def test_nobody_waits_for_it_by_default(self, kafka: LocalKafka, uneven: str) -> None:
        with query(kafka, uneven) as reading:
            assert sum(rows.num_rows for rows in batches(reading)) == 900

    def test_the_others_wait_for_it_until_it_is_silent(self, kafka: LocalKafka, uneven: str) -> None:
        with query(kafka, uneven, eventTimeIdleTimeout="1h") as reading:
            read = list(batches(reading))
            assert sum(rows.num_rows for rows in read) == pytest.approx(600, abs=20)
            report: Any = reading.report()
            fronts = report["fronts_ms"][uneven]
            assert fronts["0"] < fronts["1"] <= fronts["0"] + MINUTE_MS, "partition 0 holds back the other"
            append_at(kafka, uneven, 0, even(BEGIN_MS + HOUR_MS // 2, BEGIN_MS + 2 * HOUR_MS, 10))
            read += batches(reading)
            assert sum(rows.num_rows for rows in read) == pytest.approx(600 + 300, abs=20)
            assert late_rows(read, 10 * MINUTE_MS) == 0
            reading.restart(eventTimeIdleTimeout="1ms")
            while sum(rows.num_rows for rows in read) < 910:
                # Time in which the query did not run does not count: the first look waits still.
                read += batches(reading)
        assert sum(rows.num_rows for rows in read) == 910

    def test_available_now_waits_for_nobody(self, kafka: LocalKafka, uneven: str) -> None:
        with query(kafka, uneven, eventTimeIdleTimeout="1h") as reading:
            reading.available_now()
            assert sum(rows.num_rows for rows in batches(reading)) == 900


def test_reports_tell_each_partitions_front(kafka: LocalKafka, behind: str) -> None:
    with query(kafka, behind) as reading:
        reading.step()
        report: Any = reading.report()
        fronts = report["fronts_ms"][behind]
        assert sorted(fronts) == ["0", "1", "2", "3"]
        assert set(fronts.values()) == {front_ms(reading)}
        list(batches(reading))
        assert "fronts_ms" not in reading.report()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxEventTimeSkew": "30s"}, r"maxEventTimeSkew.*needs a limit for a batch"),
        ({"maxEventTimeSkew": "0"}, r"maxEventTimeSkew.*must be more than 0"),
        ({"eventTimeDelay": "10m"}, r"eventTimeDelay.*requires option 'maxEventTimeSkew'"),
        ({"onLateSplit": "fail"}, r"onLateSplit.*requires option 'maxEventTimeSkew'"),
        ({"eventTimeIdleTimeout": "1m"}, r"eventTimeIdleTimeout.*requires option 'maxEventTimeSkew'"),
        ({"onLateSplit": "drop"}, r"onLateSplit.*read"),
        (
            {"maxEventTimeSkew": "10m", "eventTimeDelay": "1m", "maxOffsetsPerTrigger": "5"},
            r"eventTimeDelay.*must not be less than maxEventTimeSkew",
        ),
    ],
)
def test_options_that_mean_nothing_are_refused(options: Mapping[str, str], message: str) -> None:
    given = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders", **options}
    with pytest.raises(OptionError, match=message):
        configure(given, Boundedness.CONTINUOUS_UNBOUNDED)


def positions(reading: Query) -> dict[str, dict[str, int]]:
    logged: Any = reading.log[-1]["positions"]
    return dict(logged)


def event_time(reading: Query) -> dict[str, Any]:
    state: Any = reading.log[-1]["state"]
    return dict(state.get("event_time", {}))


def front_ms(reading: Query) -> int | None:
    return event_time(reading).get("front_ms")
