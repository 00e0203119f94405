"""The split reader of brokers that answer, in pieces or after a broken connection.

Every record once and in order.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import CorruptRecordError, TransientSourceError
from tests.enumerators.kafka.client.listeners import Listen, listening
from tests.enumerators.kafka.client.pools import idle
from tests.readers.kafka.split_reading import POLL_TIMEOUT_MS, Task, fail_once, hang_up, plain, upto
from tests.scripted_kafka import NOT_LEADER, OUT_OF_RANGE, Fetch, Part, ScriptedKafka, Surprise, batch


@pytest.fixture
def kafka(listen: Listen) -> ScriptedKafka:
    return ScriptedKafka(listen)


class TestTheOrdinaryCourse:
    def test_each_record_of_each_range_comes_once_and_in_order(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 3, [3, 1, 4])
        ranges = [kafka.range("t", 0), kafka.range("t", 1, 2, 7), kafka.range("t", 2, 5, 6)]
        assert task().take(*ranges).finish() == [list(range(8)), [2, 3, 4, 5, 6], [5]]

    def test_an_empty_range_is_finished_and_nobody_is_asked(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [3])
        assert task().take(kafka.range("t", 0, 2, 2)).finish() == [[]]
        assert kafka.metadata_asked == 0

    def test_the_next_request_is_under_way_before_records_are_handed_out(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [3, 4])
        task().take(kafka.range("t")).step()
        assert [fetch.wanted[0].offset for fetch in kafka.asked(2)] == [0, 3]

    def test_a_gap_in_the_middle_is_passed_without_a_question(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        log = kafka.topic("t", 1, [3]).logs[0]
        log.append(b"x", gap=100)
        assert task().take(kafka.range("t")).finish() == [[0, 1, 2, 103]]

    def test_a_stop_inside_of_a_gap_is_reached(self, kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
        log = kafka.topic("t", 1, [3]).logs[0]
        log.append(b"x", gap=100)
        assert task().take(kafka.range("t", 0, 0, 50)).finish() == upto(3)

    def test_more_partitions_than_fit_into_one_request_are_all_read(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 450, [1, 1])
        assert (
            task().take(*(kafka.range("t", partition) for partition in range(450))).finish() == upto(2) * 450
        )
        assert max(len(fetch.wanted) for fetch in kafka.asked(3)) == 200

    def test_leaders_are_looked_up_once_for_many_tasks_of_a_process(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [3])
        kafka.topic("u", 1, [3])
        for name in ("t", "u", "t", "u"):
            assert task().take(kafka.range(name)).finish() == upto(3)
        assert kafka.metadata_asked == 2

    def test_connections_come_back_unless_an_answer_is_under_way(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [3, 3])
        whole = task().take(kafka.range("t"))
        while whole.step():
            pass
        whole.reader.close()
        left_early = task().take(kafka.range("t"))
        left_early.step()
        left_early.reader.close()
        assert (idle(whole.pool), idle(left_early.pool)) == (1, 0)


class TestRecordsLargerThanTheFetch:
    def test_a_batch_that_was_cut_is_asked_for_whole(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        whole = batch(0, b"x" * 1_000)
        kafka.topic("t").logs[0].batches = [(0, 0, whole)]
        kafka.topics["t"].logs[0].end = 1
        kafka.surprises.append(lambda _: {0: Part(whole[:500], end=1)})
        assert task().take(kafka.range("t")).finish() == upto(1)
        assert [fetch.wanted[0].max_bytes for fetch in kafka.asked(2)] == [1, len(whole)]

    def test_without_even_a_length_twice_as_much_is_asked_for(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [1])
        kafka.surprises.append(lambda _: {0: Part(b"1234", end=1)})
        assert task(max_partition_fetch_bytes="64").take(kafka.range("t")).finish() == upto(1)
        assert [fetch.wanted[0].max_bytes for fetch in kafka.asked(2)] == [64, 128]

    def test_a_length_that_cannot_be_is_corruption_and_not_a_huge_request(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [1])
        kafka.surprises.append(
            lambda _: {0: Part(batch(0, b"x")[:8] + b"\x7f\xff\xff\xff" + b"x" * 50, end=1)}
        )
        with pytest.raises(
            CorruptRecordError,
            match=r"a record batch is larger than .* \[source kafka, split t-0, position 0\]",
        ):
            task().take(kafka.range("t")).finish()

    def test_records_from_before_the_position_are_no_answer(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [5])
        kafka.surprises.append(lambda _: {0: Part(batch(0, b"x"), end=5)})
        with pytest.raises(
            CorruptRecordError,
            match=r"records up to offset 0 instead \[source kafka, split t-0, position 3\]",
        ):
            task().take(kafka.range("t", 0, 3)).finish()


class TestConnectionsThatBreak:
    @pytest.mark.parametrize("after_bytes", [0, 3, 9, 40, 100])
    def test_an_answer_that_breaks_off_is_asked_for_again(
        self, kafka: ScriptedKafka, task: Callable[..., Task], after_bytes: int
    ) -> None:
        kafka.topic("t", 1, [2, 2])
        kafka.surprises.extend([plain, hang_up(after_bytes)])
        assert task().take(kafka.range("t")).finish() == upto(4)

    def test_records_in_hand_outlive_the_connection_they_came_by(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        """The next request is sent before they are handed out: its failure is not theirs."""
        kafka.topic("t", 1, [2, 2])
        reading = task().take(kafka.range("t"))
        fail_once(reading.reader._fetchers, "send", TransientSourceError("gone"), after=1)
        assert reading.finish() == upto(4)

    def test_records_in_hand_outlive_a_question_about_another_partition(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 2, [2, 2])
        kafka.surprises.append(lambda _: {1: Part(error=OUT_OF_RANGE)})
        kafka.offset_errors[1] = [NOT_LEADER, NOT_LEADER, NOT_LEADER]
        assert task().take(kafka.range("t", 0), kafka.range("t", 1)).finish() == upto(4, 4)

    def test_the_poll_time_out_ends_it_and_names_the_last_failure_once(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2])
        kafka.surprises.extend([hang_up(0)] * 100)
        with pytest.raises(TransientSourceError) as caught:
            task().take(kafka.range("t")).finish()
        message = str(caught.value)
        assert message.startswith(
            "nothing could be fetched for 10000 ms (kafkaConsumer.pollTimeoutMs): "
            "reading from the Kafka broker 127.0.0.1:"
        )
        assert message.endswith("[source kafka, split t-0, position 0]")
        assert message.count("pollTimeoutMs") == message.count("[source") == 1

    def test_time_that_spark_takes_for_the_rows_does_not_count(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2, 2])
        kafka.surprises.extend([plain, hang_up(0)])
        reading = task().take(kafka.range("t"))
        reading.step()
        reading.clock.advance(POLL_TIMEOUT_MS * 10)
        assert reading.finish() == upto(4)

    def test_a_throttled_answer_without_any_partition_is_no_end(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2])
        kafka.surprises.extend([lambda _: None] * 20)
        assert task().take(kafka.range("t")).finish() == upto(2)

    @settings(max_examples=40)
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
                return {
                    each.partition: Part(end=topic.logs[each.partition].end, replica=3 - fetch.node)
                    for each in fetch.wanted
                }

            kinds = [
                plain,
                move,
                silence,
                redirect,
                lambda _: None,
                *map(hang_up, (0, 9, 60)),
                *map(refuse, (NOT_LEADER, OUT_OF_RANGE, 100, 78)),
            ]
            kafka.surprises.extend(data.draw(st.lists(st.sampled_from(kinds), max_size=12)))
            task = Task(kafka).take(*(kafka.range("t", partition) for partition in range(3)))
            assert task.finish() == upto(*(log.end for log in topic.logs.values()))
