"""Records that are gone or do not come: waited for, then an error or a warning that names what is missing."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from headwater.core.errors import AuthorizationError, DataLossError, TransientSourceError
from headwater.readers.kafka.loss_detector import BELIEVED_AFTER_MS
from tests.enumerators.kafka.client.listeners import Listen
from tests.readers.kafka.split_reading import Task, hang_up, nothing, plain, upto, waiting
from tests.scripted_kafka import (
    NOT_AUTHORIZED,
    NOT_LEADER,
    OUT_OF_RANGE,
    UNKNOWN_TOPIC_ID,
    Fetch,
    Part,
    ScriptedKafka,
)


@pytest.fixture
def kafka(listen: Listen) -> ScriptedKafka:
    return ScriptedKafka(listen)


class TestWhatIsGone:
    def test_retention_is_an_error_that_names_the_range(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2, 2, 2]).logs[0].start = 4
        with pytest.raises(DataLossError) as caught:
            task().take(kafka.range("t", 0, 1)).finish()
        assert str(caught.value) == (
            "topic 't', partition 0, offsets 1 to 3 were lost: the log now begins at offset 4: "
            "retention or an administrator removed them. "
            "Set failOnDataLoss=false to go on with what is there [source kafka, split t-0, position 1]"
        )

    def test_or_a_warning_and_the_rest_is_read(
        self, kafka: ScriptedKafka, task: Callable[..., Task], caplog: pytest.LogCaptureFixture
    ) -> None:
        kafka.topic("t", 1, [2, 2, 2]).logs[0].start = 4
        with caplog.at_level(logging.WARNING):
            assert task(loss=False).take(kafka.range("t", 0, 1)).finish() == [[4, 5]]
        assert "t-0: positions 1 to 3 were lost" in caplog.text

    def test_a_range_that_is_gone_as_a_whole_is_finished(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2, 2, 2]).logs[0].start = 4
        assert task(loss=False).take(kafka.range("t", 0, 1, 3)).finish() == [[]]

    def test_records_before_the_beginning_do_not_come_with_their_batch(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        """Brokers delete records by offset, and store them by batch."""
        kafka.topic("t", 1, [6]).logs[0].start = 4
        assert task(loss=False).take(kafka.range("t", 0, 1)).finish() == [[4, 5]]

    def test_a_stale_out_of_range_is_asked_again(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2, 2])
        kafka.surprises.extend([plain, lambda _: {0: Part(error=OUT_OF_RANGE)}])
        assert task().take(kafka.range("t")).finish() == upto(4)

    def test_a_log_that_ends_before_the_position_is_believed_after_a_while(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2])
        reading = task().take(kafka.range("t", 0, 5, 9))
        with pytest.raises(
            DataLossError,
            match=r"offsets 5 to 8 were lost: the log now ends at offset 2: .* "
            r"\[source kafka, split t-0, position 5\]",
        ):
            reading.finish()
        assert reading.clock.monotonic_ms() >= BELIEVED_AFTER_MS

    def test_a_log_that_only_seems_to_end_early_is_waited_for(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
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
        assert "positions 4 to 8 were lost: the log now ends at offset 4" in caplog.text

    @pytest.mark.parametrize(
        ("again", "why"),
        [(False, "the topic or partition was deleted"), (True, "the topic was deleted and created anew")],
    )
    @pytest.mark.parametrize("loss", [True, False])
    def test_a_topic_that_is_gone(
        self,
        kafka: ScriptedKafka,
        task: Callable[..., Task],
        caplog: pytest.LogCaptureFixture,
        *,
        again: bool,
        why: str,
        loss: bool,
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
        if loss:
            expected = f"topic 't', partition 0, offsets 2 to 3 were lost: {why}"
            with pytest.raises(DataLossError, match=expected):
                reading.finish()
        else:
            assert reading.finish() == upto(2, 4)
            assert caplog.messages == [f"t-0: positions 2 to 3 were lost: {why}; going on"]
        assert reading.clock.monotonic_ms() >= BELIEVED_AFTER_MS

    def test_a_topic_that_one_broker_does_not_know_yet_is_waited_for(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2])
        reading = task(loss=False).take(kafka.range("t"))
        hidden = kafka.topics.pop("t")
        for _ in range(5):
            reading.step()
        kafka.topics["t"] = hidden
        assert reading.finish() == upto(2)

    def test_a_broker_that_does_not_know_the_topics_id_is_asked_again(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2])
        kafka.surprises.extend([lambda _: {0: Part(error=UNKNOWN_TOPIC_ID)}] * 3)
        assert task().take(kafka.range("t")).finish() == upto(2)

    def test_a_missing_permission_is_named_with_the_command_that_grants_it(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2])
        kafka.surprises.append(lambda _: {0: Part(error=NOT_AUTHORIZED)})
        with pytest.raises(
            AuthorizationError,
            match=r"lacks the permission Read on topic 't'\. Grant it: .*--operation Read --topic t",
        ):
            task().take(kafka.range("t")).finish()


@pytest.mark.parametrize("poll_timeout_ms", [200, 1_000, 3_000, 120_000])
class TestTheTimeOutOfATaskWaitsForADoubt:
    """A loss is told as a loss, also where ``kafkaConsumer.pollTimeoutMs`` ends before it is believed."""

    def read(self, reading: Task, expected: list[list[int]], *, loss: bool, lost: str) -> None:
        if loss:
            with pytest.raises(DataLossError, match=lost):
                reading.finish()
        else:
            assert reading.finish() == expected
        assert BELIEVED_AFTER_MS <= reading.clock.monotonic_ms() < 2 * BELIEVED_AFTER_MS

    @pytest.mark.parametrize("loss", [True, False])
    def test_a_topic_created_anew(
        self, kafka: ScriptedKafka, task: Callable[..., Task], *, poll_timeout_ms: int, loss: bool
    ) -> None:
        kafka.topic("t", 1, [2, 2])
        reading = task(loss=loss, poll_timeout_ms=poll_timeout_ms).take(kafka.range("t"))

        def create_anew(_: Fetch) -> dict[int, Part]:
            kafka.topic("t", 1, [9])
            return {}

        kafka.surprises.extend([plain, create_anew])
        self.read(
            reading, upto(2), loss=loss, lost="offsets 2 to 3 were lost: the topic was deleted and created"
        )

    @pytest.mark.parametrize("loss", [True, False])
    @pytest.mark.parametrize("start", [0, 5])
    def test_a_log_that_ends_early(
        self, kafka: ScriptedKafka, task: Callable[..., Task], *, poll_timeout_ms: int, loss: bool, start: int
    ) -> None:
        """The position is at its end, where the broker is silent, or beyond, where the broker refuses."""
        kafka.topic("t", 1, [2, 2])
        reading = task(loss=loss, poll_timeout_ms=poll_timeout_ms).take(kafka.range("t", 0, start, 9))
        poll_ms = min(500, poll_timeout_ms // 2)
        kafka.surprises.extend([plain, plain, *[waiting(reading.clock, wait_ms=poll_ms)] * 100])
        rest = f"offsets {max(start, 4)} to 8 were lost: the log now ends at offset 4"
        self.read(reading, [list(range(start, 4))], loss=loss, lost=rest)

    def test_waits_after_failures_end_when_the_doubt_may_be_believed(
        self, kafka: ScriptedKafka, task: Callable[..., Task], *, poll_timeout_ms: int
    ) -> None:
        kafka.topic("t", 1, [2, 2])
        backoff = {"reconnect_backoff_ms": "20000", "reconnect_backoff_max_ms": "20000"}
        reading = task(loss=False, poll_timeout_ms=poll_timeout_ms, **backoff).take(kafka.range("t"))
        del kafka.topics["t"]
        self.read(reading, [[]], loss=False, lost="")

    def test_other_silences_are_time_outs_as_ever(
        self, kafka: ScriptedKafka, task: Callable[..., Task], *, poll_timeout_ms: int
    ) -> None:
        """A doubt that proves nothing prolongs the time-out by some seconds, and not again and again."""
        kafka.topic("t", 1, [2, 2])
        reading = task(loss=False, poll_timeout_ms=poll_timeout_ms, isolation_level="read_committed")
        reading.take(kafka.range("t"))
        poll_ms = min(500, poll_timeout_ms // 2)
        kafka.surprises.extend([plain, *[waiting(reading.clock, nothing(2), poll_ms)] * 2_000])
        with pytest.raises(TransientSourceError, match=r"kafkaConsumer.pollTimeoutMs\): .* open transaction"):
            reading.finish()
        assert poll_timeout_ms <= reading.clock.monotonic_ms() <= poll_timeout_ms + 4 * BELIEVED_AFTER_MS


class TestSilence:
    """The log reaches our stop, but the broker sends nothing."""

    @pytest.mark.parametrize("loss", [True, False])
    def test_a_gap_at_the_end_is_skipped_after_a_while_with_a_warning(
        self, kafka: ScriptedKafka, task: Callable[..., Task], caplog: pytest.LogCaptureFixture, *, loss: bool
    ) -> None:
        log = kafka.topic("t", 1, [2]).logs[0]
        log.end = 10
        reading = task(loss=loss).take(kafka.range("t"))
        kafka.surprises.extend([plain, *[waiting(reading.clock)] * 20])
        with caplog.at_level(logging.WARNING):
            assert reading.finish() == upto(2)
        assert BELIEVED_AFTER_MS <= reading.clock.monotonic_ms() < 2 * BELIEVED_AFTER_MS
        (warning,) = caplog.records
        assert warning.getMessage() == (
            "t-0: positions 2 to 9 were skipped: the broker sends nothing for 3000 ms, "
            "though it says that the log goes on to offset 10. "
            "Compaction can leave such a gap at the end of a log, and so can damage to it"
        )

    def test_a_gap_with_records_after_it_is_no_doubt_and_no_warning(
        self, kafka: ScriptedKafka, task: Callable[..., Task], caplog: pytest.LogCaptureFixture
    ) -> None:
        """Compaction and aborted transactions leave such gaps; the broker sends what comes after them."""
        kafka.topic("t", 1, [2]).logs[0].append(b"after", gap=8)
        with caplog.at_level(logging.WARNING):
            assert task().take(kafka.range("t", 0, 0, 9)).finish() == upto(2)
        assert not caplog.records

    def test_two_silences_with_something_else_between_are_two_first_ones(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2, 2])
        reading = task().take(kafka.range("t"))
        for other in (lambda _: {0: Part(error=NOT_LEADER)}, hang_up(0)):
            kafka.surprises.extend([nothing(4), waiting(reading.clock, other, BELIEVED_AFTER_MS)])
        kafka.surprises.append(nothing(4))
        assert reading.finish() == upto(4)

    def test_records_that_come_after_all_are_read(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2, 2])
        reading = task().take(kafka.range("t"))
        kafka.surprises.extend([plain, *[nothing(4)] * 10])
        assert reading.finish() == upto(4)

    def test_records_in_tiered_storage_are_waited_for(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        """A broker that cannot get them in time says nothing, too (KIP-405)."""
        log = kafka.topic("t", 1, [2, 2]).logs[0]
        log.local_start = 3
        reading = task().take(kafka.range("t"))
        kafka.surprises.extend([plain, *[waiting(reading.clock, nothing(4))] * 15])
        assert reading.finish() == upto(4)
        assert reading.clock.monotonic_ms() > 2 * BELIEVED_AFTER_MS

    def test_an_open_transaction_is_waited_for_and_named(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        """The batch was planned without read_committed, which counts at once."""
        kafka.topic("t", 1, [2, 2])
        reading = task(isolation_level="read_committed").take(kafka.range("t"))
        kafka.surprises.extend([plain, *[waiting(reading.clock, nothing(2))] * 100])
        with pytest.raises(
            TransientSourceError,
            match=r"can be read up to offset 2; an open transaction .* "
            r"\[source kafka, split t-0, position 2\]",
        ):
            reading.finish()

    def test_other_partitions_in_the_same_answer_explain_it(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        """A response has room for some of the partitions only."""
        kafka.topic("t", 2, [1] * 50)
        reading = task().take(kafka.range("t", 0), kafka.range("t", 1))

        def only_the_first(fetch: Fetch) -> dict[int, Part]:
            reading.clock.advance(BELIEVED_AFTER_MS)
            return {each.partition: Part(end=50) for each in fetch.wanted[1:]}

        kafka.surprises.extend([only_the_first] * 100)
        assert reading.finish() == upto(50, 50)
