"""How long a task goes on asking in vain, and what it says then."""

from __future__ import annotations

import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import TransientSourceError
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka.cursor import Cursor
from headwater.readers.kafka.loss_detector import PollTimer
from tests.enumerators.kafka.client.listeners import client

AWAY = TransientSourceError("nobody is there", source="kafka")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000_000)


@pytest.fixture
def timer(clock: ManualClock) -> PollTimer:
    return PollTimer(
        client("nowhere:9092", reconnect_backoff_ms="100", reconnect_backoff_max_ms="500"), 5_000, clock
    )


def cursor(end: int = -1) -> Cursor:
    waiting = Cursor(KafkaPartitionSplit("t", 0), 7, 20, 1_000)
    waiting.answered(end)
    return waiting


def test_waits_after_failures_double_up_to_a_limit_and_begin_anew_with_progress(
    timer: PollTimer, clock: ManualClock
) -> None:
    def waited() -> int:
        before = clock.monotonic_ms()
        timer.begin()
        timer.failed(AWAY)
        timer.wait(cursor())
        return clock.monotonic_ms() - before

    assert [waited() for _ in range(5)] == [100, 200, 400, 500, 500]
    timer.end()
    assert waited() == 100


def test_several_failures_of_one_attempt_are_one_wait(timer: PollTimer, clock: ManualClock) -> None:
    timer.begin()
    for _ in range(5):
        timer.failed(AWAY)
    assert not timer.is_due
    timer.wait(cursor())
    assert (clock.monotonic_ms(), timer.is_due) == (1_000_100, True)


def test_without_a_failure_there_is_no_wait(timer: PollTimer, clock: ManualClock) -> None:
    timer.begin()
    timer.wait(cursor())
    assert clock.monotonic_ms() == 1_000_000


def test_only_time_in_vain_counts(timer: PollTimer, clock: ManualClock) -> None:
    timer.begin()
    clock.advance(4_000)
    assert timer.left_ms == 1_000
    timer.end()
    clock.advance(60_000)
    timer.begin()
    assert timer.left_ms == 5_000


@pytest.mark.parametrize(
    ("failure", "end", "reason"),
    [
        (AWAY, 9, "nobody is there"),
        (None, -1, "its broker does not answer"),
        (
            None,
            9,
            (
                "its broker sends nothing, and says that it can be read up to offset 9; "
                "an open transaction holds back what follows"
            ),
        ),
        (None, 20, "its broker sends nothing, and says that it can be read up to offset 20"),
    ],
)
def test_in_the_end_the_reason_is_named_once(
    timer: PollTimer, clock: ManualClock, failure: TransientSourceError | None, end: int, reason: str
) -> None:
    timer.begin()
    if failure:
        timer.failed(failure)
    clock.advance(5_000)
    with pytest.raises(TransientSourceError) as caught:
        timer.wait(cursor(end))
    assert str(caught.value) == (
        f"nothing could be fetched for 5000 ms (kafkaConsumer.pollTimeoutMs): {reason} "
        "[source kafka, split t-0, position 7]"
    )
