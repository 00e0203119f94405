"""The split reader among brokers that move, fail and contradict each other: every record once, or an error that names what is missing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enumerators.kafka.pool import ConnectionPool
from headwater_core.clock import ManualClock
from headwater_core.emitter import SplitState
from headwater_core.errors import AuthorizationError, CorruptRecordError, DataLossError, TransientSourceError
from headwater_core.split import SplitRange
from readers.kafka import leaders
from readers.kafka.emitter import KafkaRecordEmitter
from readers.kafka.losses import BELIEVED_AFTER_MS
from readers.kafka.split_reader import KafkaSplitReader
from tests.enumerators.kafka.listeners import Listen, client, listening
from tests.scripted_kafka import (
    NOT_AUTHORIZED,
    NOT_LEADER,
    OUT_OF_RANGE,
    UNKNOWN_TOPIC_ID,
    Fetch,
    HangUp,
    Part,
    ScriptedKafka,
    Surprise,
    batch,
)

POLL_TIMEOUT_MS = 10_000


@pytest.fixture
def listen() -> Iterator[Listen]:
    with listening() as start:
        yield start


@pytest.fixture
def kafka(listen: Listen) -> ScriptedKafka:
    return ScriptedKafka(listen)


class Task:
    """A reader and what its task has emitted."""

    def __init__(self, kafka: ScriptedKafka, *, loss: bool = True, **properties: str) -> None:
        self.clock, self.pool = ManualClock(), ConnectionPool()
        config = client(kafka.bootstrap, **{"max_partition_fetch_bytes": "1", **properties})
        self.reader = KafkaSplitReader(config, poll_timeout_ms=POLL_TIMEOUT_MS, fail_on_data_loss=loss, clock=self.clock, pool=self.pool)
        self.states: dict[tuple[str, ...], SplitState[Any, int]] = {}
        self.rows: dict[tuple[str, ...], list[int]] = {}

    def take(self, *ranges: SplitRange[Any, int]) -> Task:
        self.states.update((piece.split.path, SplitState(piece)) for piece in ranges)
        self.rows.update((piece.split.path, []) for piece in ranges)
        self.reader.handle_splits_changes(ranges)
        return self

    def step(self) -> bool:
        """Do what the task's loop does with one fetch; say whether there is more to do."""
        fetched = self.reader.fetch()
        for path, records in fetched.records.items():
            emitter = KafkaRecordEmitter(["offset"])
            for record in records:
                for rows in (*emitter.emit(record, self.states[path]), *emitter.flush()):
                    self.rows[path] += rows.column("offset").to_numpy().tolist()
        for path in fetched.finished:
            del self.states[path]
        return bool(self.states)

    def finish(self) -> list[list[int]]:
        """Read to the end; return the offsets of each partition."""
        while self.step():
            pass
        self.reader.close()
        self.pool.clear()
        return list(self.rows.values())


@pytest.fixture
def task(kafka: ScriptedKafka, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Task]]:
    monkeypatch.setattr(leaders, "_clusters", {})  # a port that the system gives out again is another cluster
    made: list[Task] = []

    def make(**options: Any) -> Task:
        made.append(Task(kafka, **options))
        return made[-1]

    yield make
    for each in made:
        each.reader.close()
        each.pool.clear()


def upto(*ends: int) -> list[list[int]]:
    return [list(range(end)) for end in ends]


class TestTheOrdinaryCourse:
    def test_each_record_of_each_range_comes_once_and_in_order(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 3, [3, 1, 4])
        ranges = [kafka.range("t", 0), kafka.range("t", 1, 2, 7), kafka.range("t", 2, 5, 6)]
        assert task().take(*ranges).finish() == [list(range(8)), [2, 3, 4, 5, 6], [5]]

    def test_an_empty_range_is_finished_and_nobody_is_asked(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [3])
        assert task().take(kafka.range("t", 0, 2, 2)).finish() == [[]]
        assert kafka.metadata_asked == 0

    def test_the_next_request_is_under_way_before_records_are_handed_out(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [3, 4])
        task().take(kafka.range("t")).step()
        assert [fetch.wanted[0].offset for fetch in kafka.asked(2)] == [0, 3]

    def test_a_gap_in_the_middle_is_passed_without_a_question(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        log = kafka.topic("t", 1, [3]).logs[0]
        log.append(b"x", gap=100)
        assert task().take(kafka.range("t")).finish() == [[0, 1, 2, 103]]

    def test_a_stop_inside_of_a_gap_is_reached(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        log = kafka.topic("t", 1, [3]).logs[0]
        log.append(b"x", gap=100)
        assert task().take(kafka.range("t", 0, 0, 50)).finish() == upto(3)

    def test_more_partitions_than_fit_into_one_request_are_all_read(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 450, [1, 1])
        assert task().take(*(kafka.range("t", partition) for partition in range(450))).finish() == upto(2) * 450
        assert max(len(fetch.wanted) for fetch in kafka.asked(3)) == 200

    def test_leaders_are_looked_up_once_for_many_tasks_of_a_process(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [3])
        kafka.topic("u", 1, [3])
        for name in ("t", "u", "t", "u"):
            assert task().take(kafka.range(name)).finish() == upto(3)
        assert kafka.metadata_asked == 2

    def test_connections_come_back_unless_an_answer_is_under_way(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [3, 3])
        whole = task().take(kafka.range("t"))
        while whole.step():
            pass
        whole.reader.close()
        left_early = task().take(kafka.range("t"))
        left_early.step()
        left_early.reader.close()
        assert (len(whole.pool), len(left_early.pool)) == (1, 0)


class TestRecordsLargerThanTheFetch:
    def test_a_batch_that_was_cut_is_asked_for_whole(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        whole = batch(0, b"x" * 1_000)
        kafka.topic("t").logs[0].batches, kafka.topics["t"].logs[0].end = [(0, 0, whole)], 1
        kafka.surprises.append(lambda _: {0: Part(whole[:500], end=1)})
        assert task().take(kafka.range("t")).finish() == upto(1)
        assert [fetch.wanted[0].max_bytes for fetch in kafka.asked(2)] == [1, len(whole)]

    def test_without_even_a_length_twice_as_much_is_asked_for(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [1])
        kafka.surprises.append(lambda _: {0: Part(b"1234", end=1)})
        assert task(max_partition_fetch_bytes="64").take(kafka.range("t")).finish() == upto(1)
        assert [fetch.wanted[0].max_bytes for fetch in kafka.asked(2)] == [64, 128]

    def test_a_length_that_cannot_be_is_corruption_and_not_a_huge_request(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [1])
        kafka.surprises.append(lambda _: {0: Part(batch(0, b"x")[:8] + b"\x7f\xff\xff\xff" + b"x" * 50, end=1)})
        with pytest.raises(CorruptRecordError, match=r"a record batch is larger than .* \[source kafka, split t-0, position 0\]"):
            task().take(kafka.range("t")).finish()

    def test_records_from_before_the_position_are_no_answer(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [5])
        kafka.surprises.append(lambda _: {0: Part(batch(0, b"x"), end=5)})
        with pytest.raises(CorruptRecordError, match=r"records up to offset 0 instead \[source kafka, split t-0, position 3\]"):
            task().take(kafka.range("t", 0, 3)).finish()


class TestBrokersThatMove:
    @pytest.fixture
    def kafka(self, listen: Listen) -> ScriptedKafka:
        return ScriptedKafka(listen, nodes=(1, 2))

    def test_a_new_leader_is_found_and_goes_on_where_the_old_one_ended(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        log = kafka.topic("t", 1, [2, 2, 2]).logs[0]
        reading = task().take(kafka.range("t"))
        reading.step()
        log.leader = 2
        assert reading.finish() == upto(6)
        assert kafka.metadata_asked == 2

    def test_what_the_others_sent_in_the_same_answer_is_kept(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 3, [2, 2])
        kafka.surprises.append(lambda _: {1: Part(error=NOT_LEADER)})
        assert task().take(*(kafka.range("t", partition) for partition in range(3))).finish() == upto(4, 4, 4)

    def test_as_long_as_nobody_leads_it_waits_longer_each_time(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        log = kafka.topic("t", 1, [2]).logs[0]
        log.leader = -1
        reading = task().take(kafka.range("t"))
        for _ in range(4):
            reading.step()
        assert reading.clock.monotonic_ms() == 50 + 100 + 200 + 400
        log.leader = 2
        assert reading.finish() == upto(2)

    def test_a_partition_without_a_leader_does_not_hold_up_the_others(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        topic = kafka.topic("t", 2, [2, 2])
        topic.logs[0].leader = -1
        reading = task().take(kafka.range("t", 0), kafka.range("t", 1))
        while reading.rows["t", "1"] != [0, 1, 2, 3]:
            reading.step()
        topic.logs[0].leader = 2
        assert reading.finish() == upto(4, 4)

    def test_metadata_that_lags_behind_does_not_make_it_hammer_the_brokers(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2])
        kafka.surprises.extend([lambda _: {0: Part(error=NOT_LEADER)}] * 5)
        reading = task().take(kafka.range("t"))
        assert reading.finish() == upto(2)
        assert reading.clock.monotonic_ms() >= 50 + 100 + 200 + 400 + 800

    def test_a_leader_without_an_address_is_looked_up_again(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        log = kafka.topic("t", 1, [2]).logs[0]
        log.leader = 7
        reading = task().take(kafka.range("t"))
        reading.step()
        log.leader = 2
        assert reading.finish() == upto(2)

    def test_a_broker_that_hangs_does_not_hold_up_the_others(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 2, [1] * 5).logs[1].leader = 2
        reading = task().take(kafka.range("t", 0), kafka.range("t", 1))
        let_go = threading.Event()

        def hang(fetch: Fetch) -> dict[int, Part]:
            assert fetch.node == 1 or let_go.wait(30)
            return {}

        kafka.surprises.extend([hang] * 20)
        while len(reading.states) == 2:
            reading.step()
        assert reading.rows["t", "0"] == [0, 1, 2, 3, 4]
        let_go.set()
        assert reading.finish() == upto(5, 5)


class TestConnectionsThatBreak:
    @pytest.mark.parametrize("after_bytes", [0, 3, 9, 40, 100])
    def test_an_answer_that_breaks_off_is_asked_for_again(self, kafka: ScriptedKafka, task: Callable[..., Task], after_bytes: int) -> None:
        kafka.topic("t", 1, [2, 2])
        kafka.surprises.extend([plain, hang_up(after_bytes)])
        assert task().take(kafka.range("t")).finish() == upto(4)

    def test_records_in_hand_outlive_the_connection_they_came_by(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        """The next request is sent before they are handed out: its failure is not theirs."""
        kafka.topic("t", 1, [2, 2])
        reading = task().take(kafka.range("t"))
        fail_once(reading.reader._sessions, "send", TransientSourceError("gone"), after=1)
        assert reading.finish() == upto(4)

    def test_records_in_hand_outlive_a_question_about_another_partition(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 2, [2, 2])
        kafka.surprises.append(lambda _: {1: Part(error=OUT_OF_RANGE)})
        kafka.offset_errors[1] = [NOT_LEADER, NOT_LEADER, NOT_LEADER]
        assert task().take(kafka.range("t", 0), kafka.range("t", 1)).finish() == upto(4, 4)

    def test_the_poll_time_out_ends_it_and_names_the_last_failure_once(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2])
        kafka.surprises.extend([hang_up(0)] * 100)
        with pytest.raises(TransientSourceError) as caught:
            task().take(kafka.range("t")).finish()
        message = str(caught.value)
        assert message.startswith("nothing could be fetched for 10000 ms (kafkaConsumer.pollTimeoutMs): reading from the Kafka broker 127.0.0.1:")
        assert message.endswith("[source kafka, split t-0, position 0]")
        assert message.count("pollTimeoutMs") == message.count("[source") == 1

    def test_time_that_spark_takes_for_the_rows_does_not_count(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2, 2])
        kafka.surprises.extend([plain, hang_up(0)])
        reading = task().take(kafka.range("t"))
        reading.step()
        reading.clock.advance(POLL_TIMEOUT_MS * 10)
        assert reading.finish() == upto(4)

    def test_a_throttled_answer_without_any_partition_is_no_end(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2])
        kafka.surprises.extend([lambda _: None] * 20)
        assert task().take(kafka.range("t")).finish() == upto(2)

    @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
    @given(st.data())
    def test_whatever_happens_each_record_comes_once_and_in_order(self, data: st.DataObject) -> None:
        with listening() as listen:
            kafka = ScriptedKafka(listen, nodes=(1, 2))
            topic = kafka.topic("t", 3, data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))

            def move(fetch: Fetch) -> dict[int, Part]:
                topic.logs[fetch.wanted[0].partition].leader = 3 - fetch.node
                return {}

            def refuse(code: int) -> Surprise:
                return lambda fetch: {fetch.wanted[-1].partition: Part(error=code)}

            def silence(fetch: Fetch) -> dict[int, Part]:
                return {each.partition: Part(end=topic.logs[each.partition].end) for each in fetch.wanted}

            def redirect(fetch: Fetch) -> dict[int, Part]:
                return {each.partition: Part(end=topic.logs[each.partition].end, replica=3 - fetch.node) for each in fetch.wanted}

            kinds = [plain, move, silence, redirect, lambda _: None, *map(hang_up, (0, 9, 60)), *map(refuse, (NOT_LEADER, OUT_OF_RANGE, 100, 78))]
            kafka.surprises.extend(data.draw(st.lists(st.sampled_from(kinds), max_size=12)))
            task = Task(kafka).take(*(kafka.range("t", partition) for partition in range(3)))
            assert task.finish() == upto(*(log.end for log in topic.logs.values()))


class TestReplicas:
    @pytest.fixture
    def kafka(self, listen: Listen) -> ScriptedKafka:
        return ScriptedKafka(listen, nodes=(1, 2))

    def follow(self, fetch: Fetch) -> dict[int, Part]:
        return {0: Part(end=6, replica=2)} if fetch.node == 1 else {0: Part(self.log.read(fetch.wanted[0].offset, 1).records, end=6)}

    @pytest.fixture(autouse=True)
    def _one_partition(self, kafka: ScriptedKafka) -> None:
        self.log = kafka.topic("t", 1, [2, 2, 2]).logs[0]

    def test_the_leader_names_the_nearest_and_that_one_is_read(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        """The answer that names it holds no records, which means nothing else."""
        kafka.surprises.extend([self.follow] * 10)
        assert task(client_rack="b").take(kafka.range("t")).finish() == upto(6)
        asked = kafka.asked(4)
        assert [(fetch.node, fetch.wanted[0].offset, fetch.rack) for fetch in asked] == [(1, 0, "b"), (2, 0, "b"), (2, 2, "b"), (2, 4, "b")]

    @pytest.mark.parametrize("code", [OUT_OF_RANGE, 78, NOT_LEADER, NOT_AUTHORIZED])
    def test_what_a_replica_refuses_the_leader_decides(self, kafka: ScriptedKafka, task: Callable[..., Task], code: int) -> None:
        kafka.surprises.extend([self.follow, self.follow, lambda _: {0: Part(error=code)}])
        assert task().take(kafka.range("t")).finish() == upto(6)
        assert [fetch.node for fetch in kafka.asked(4)] == [1, 2, 2, 1]

    def test_a_replica_that_falls_silent_is_left(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.surprises.extend([self.follow, lambda _: {0: Part(end=6)}])
        assert task().take(kafka.range("t")).finish() == upto(6)
        assert [fetch.node for fetch in kafka.asked(3)] == [1, 2, 1]

    def test_after_a_while_the_leader_is_asked_who_is_nearest_now(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        """The replica has been sent one request ahead by then: which broker notes down its own first is chance."""
        kafka.surprises.extend([self.follow] * 10)
        reading = task(metadata_max_age_ms="60000").take(kafka.range("t"))
        reading.step()  # the leader names the replica
        reading.step()  # the replica gives two records, and is asked for the next two
        reading.clock.advance(60_000)
        assert reading.finish() == upto(6)
        assert [fetch.wanted[0].offset for fetch in kafka.asked(4) if fetch.node == 1] == [0, 2]

    def test_a_replica_without_an_address_is_not_waited_for(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.surprises.append(lambda _: {0: Part(end=6, replica=9)})
        assert task().take(kafka.range("t")).finish() == upto(6)


class TestWhatIsGone:
    def test_retention_is_an_error_that_names_the_range(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2, 2, 2]).logs[0].start = 4
        with pytest.raises(DataLossError) as caught:
            task().take(kafka.range("t", 0, 1)).finish()
        assert str(caught.value) == (
            "topic 't', partition 0, offsets 1 to 3 were lost: the log now begins at offset 4: retention or an administrator removed them. "
            "Set failOnDataLoss=false to go on with what is there [source kafka, split t-0, position 1]"
        )

    def test_or_a_warning_and_the_rest_is_read(self, kafka: ScriptedKafka, task: Callable[..., Task], caplog: pytest.LogCaptureFixture) -> None:
        kafka.topic("t", 1, [2, 2, 2]).logs[0].start = 4
        with caplog.at_level(logging.WARNING):
            assert task(loss=False).take(kafka.range("t", 0, 1)).finish() == [[4, 5]]
        assert "topic 't', partition 0, offsets 1 to 3 were lost" in caplog.text

    def test_a_range_that_is_gone_as_a_whole_is_finished(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2, 2, 2]).logs[0].start = 4
        assert task(loss=False).take(kafka.range("t", 0, 1, 3)).finish() == [[]]

    def test_records_before_the_beginning_do_not_come_with_their_batch(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        """Brokers delete records by offset, and store them by batch."""
        kafka.topic("t", 1, [6]).logs[0].start = 4
        assert task(loss=False).take(kafka.range("t", 0, 1)).finish() == [[4, 5]]

    def test_a_stale_out_of_range_is_asked_again(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2, 2])
        kafka.surprises.extend([plain, lambda _: {0: Part(error=OUT_OF_RANGE)}])
        assert task().take(kafka.range("t")).finish() == upto(4)

    def test_a_log_that_ends_before_the_position_is_believed_after_a_while(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2])
        reading = task().take(kafka.range("t", 0, 5, 9))
        with pytest.raises(
            DataLossError, match=r"offsets 5 to 8 were lost: the log now ends at offset 2: .* \[source kafka, split t-0, position 5\]"
        ):
            reading.finish()
        assert reading.clock.monotonic_ms() >= BELIEVED_AFTER_MS

    def test_a_log_that_only_seems_to_end_early_is_waited_for(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        log = kafka.topic("t", 1, [2, 2, 2]).logs[0]
        reading = task().take(kafka.range("t", 0, 3))
        log.end = 2
        for _ in range(3):
            reading.step()
        log.end = 6
        assert reading.finish() == [[3, 4, 5]]

    def test_a_log_that_ends_before_the_stop_loses_the_rest_only(
        self, kafka: ScriptedKafka, task: Callable[..., Task], caplog: pytest.LogCaptureFixture
    ) -> None:
        kafka.topic("t", 1, [2, 2])
        reading = task(loss=False).take(kafka.range("t", 0, 0, 9))
        kafka.surprises.extend([plain, plain, *[waiting(reading.clock)] * 20])
        assert reading.finish() == upto(4)
        assert "offsets 4 to 8 were lost: the log now ends at offset 4" in caplog.text

    @pytest.mark.parametrize(("again", "why"), [(False, "the topic or partition was deleted"), (True, "the topic was deleted and created anew")])
    @pytest.mark.parametrize("loss", [True, False])
    def test_a_topic_that_is_gone(
        self, kafka: ScriptedKafka, task: Callable[..., Task], caplog: pytest.LogCaptureFixture, *, again: bool, why: str, loss: bool
    ) -> None:
        kafka.topic("t", 1, [2, 2])
        kafka.topic("u", 1, [2, 2])
        reading = task(loss=loss).take(kafka.range("t"), kafka.range("u"))

        def delete(_: Fetch) -> dict[int, Part]:
            del kafka.topics["t"]
            if again:
                kafka.topic("t", 1, [9])
            return {}

        kafka.surprises.extend([plain, delete])
        expected = f"topic 't', partition 0, offsets 2 to 3 were lost: {why}"
        if loss:
            with pytest.raises(DataLossError, match=expected):
                reading.finish()
        else:
            assert reading.finish() == upto(2, 4)
            assert caplog.text.count(expected) == 1
        assert reading.clock.monotonic_ms() >= BELIEVED_AFTER_MS

    def test_a_topic_that_one_broker_does_not_know_yet_is_waited_for(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2])
        reading = task(loss=False).take(kafka.range("t"))
        hidden = kafka.topics.pop("t")
        for _ in range(5):
            reading.step()
        kafka.topics["t"] = hidden
        assert reading.finish() == upto(2)

    def test_a_broker_that_does_not_know_the_topics_id_is_asked_again(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2])
        kafka.surprises.extend([lambda _: {0: Part(error=UNKNOWN_TOPIC_ID)}] * 3)
        assert task().take(kafka.range("t")).finish() == upto(2)

    def test_a_missing_permission_is_named_with_the_command_that_grants_it(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2])
        kafka.surprises.append(lambda _: {0: Part(error=NOT_AUTHORIZED)})
        with pytest.raises(AuthorizationError, match=r"lacks the permission Read on topic 't'\. Grant it: .*--operation Read --topic t"):
            task().take(kafka.range("t")).finish()


class TestSilence:
    """The log reaches our stop, but the broker sends nothing."""

    def test_a_gap_at_the_end_is_believed_after_a_while(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        log = kafka.topic("t", 1, [2]).logs[0]
        log.end = 10
        reading = task().take(kafka.range("t"))
        kafka.surprises.extend([plain, *[waiting(reading.clock)] * 20])
        assert reading.finish() == upto(2)
        assert BELIEVED_AFTER_MS <= reading.clock.monotonic_ms() < 2 * BELIEVED_AFTER_MS

    def test_two_silences_with_something_else_between_are_two_first_ones(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2, 2])
        reading = task().take(kafka.range("t"))
        for other in (lambda _: {0: Part(error=NOT_LEADER)}, hang_up(0)):
            kafka.surprises.extend([nothing(4), waiting(reading.clock, other, BELIEVED_AFTER_MS)])
        kafka.surprises.append(nothing(4))
        assert reading.finish() == upto(4)

    def test_records_that_come_after_all_are_read(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        kafka.topic("t", 1, [2, 2])
        reading = task().take(kafka.range("t"))
        kafka.surprises.extend([plain, *[nothing(4)] * 10])
        assert reading.finish() == upto(4)

    def test_records_in_tiered_storage_are_waited_for(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        """A broker that cannot get them in time says nothing, too (KIP-405)."""
        log = kafka.topic("t", 1, [2, 2]).logs[0]
        log.local_start = 3
        reading = task().take(kafka.range("t"))
        kafka.surprises.extend([plain, *[waiting(reading.clock, nothing(4))] * 15])
        assert reading.finish() == upto(4)
        assert reading.clock.monotonic_ms() > 2 * BELIEVED_AFTER_MS

    def test_an_open_transaction_is_waited_for_and_named(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        """The batch was planned without read_committed, which counts at once."""
        kafka.topic("t", 1, [2, 2])
        reading = task(isolation_level="read_committed").take(kafka.range("t"))
        kafka.surprises.extend([plain, *[waiting(reading.clock, nothing(2))] * 100])
        with pytest.raises(TransientSourceError, match=r"can be read up to offset 2; an open transaction .* \[source kafka, split t-0, position 2\]"):
            reading.finish()

    def test_other_partitions_in_the_same_answer_explain_it(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        """A response has room for some of the partitions only."""
        kafka.topic("t", 2, [1] * 50)
        reading = task().take(kafka.range("t", 0), kafka.range("t", 1))

        def only_the_first(fetch: Fetch) -> dict[int, Part]:
            reading.clock.advance(BELIEVED_AFTER_MS)
            return {each.partition: Part(end=50) for each in fetch.wanted[1:]}

        kafka.surprises.extend([only_the_first] * 100)
        assert reading.finish() == upto(50, 50)


def plain(_: Fetch) -> dict[int, Part]:
    return {}


def nothing(end: int) -> Surprise:
    return lambda fetch: {each.partition: Part(end=end) for each in fetch.wanted}


def waiting(clock: ManualClock, answer: Surprise = plain, wait_ms: int = 500) -> Surprise:
    """A long poll: the answer takes a while."""

    def surprise(fetch: Fetch) -> Any:
        clock.advance(wait_ms)
        return answer(fetch)

    return surprise


def hang_up(after_bytes: int) -> Surprise:
    def surprise(_: Fetch) -> None:
        raise HangUp(after_bytes)

    return surprise


def fail_once(target: object, method: str, error: Exception, *, after: int) -> None:
    """Let a method fail once, after so many calls."""
    original, calls = getattr(target, method), iter(range(10_000))

    def failing(*args: Any) -> Any:
        if next(calls) == after:
            raise error
        return original(*args)

    setattr(target, method, failing)
