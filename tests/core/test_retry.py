"""Asking again: later and later, until the deadline, never after a final answer."""

from __future__ import annotations

import threading

import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import DataLossError, DeadlineError, NoConnectionError, TransientSourceError
from headwater.core.retry import Backoff, Retry, backoff_ms, retrying

AWAY = TransientSourceError("away")
BACKOFF = Backoff(deadline_ms=1_000, first_ms=100, most_ms=400, jitter=0)


def test_waits_double_up_to_the_most() -> None:
    assert [BACKOFF.wait_ms(failures) for failures in (1, 2, 3, 4, 100)] == [100, 200, 400, 400, 400]


def test_waits_grow_by_the_multiplier_and_never_overflow() -> None:
    waits = [
        backoff_ms(attempts, 100, 1e9, multiplier=3, jitter=0.5, random=1.0) for attempts in (1, 2, 3, 10**6)
    ]
    assert waits == [50, 150, 450, 5e8]


def test_jitter_only_shortens() -> None:
    backoff = Backoff(deadline_ms=1, first_ms=100, jitter=0.5)
    assert all(50 <= backoff.wait_ms(1) <= 100 for _ in range(100))


def test_a_passing_failure_is_asked_again_and_the_answer_returned() -> None:
    failures = [TransientSourceError("away"), TransientSourceError("away")]
    clock = ManualClock()

    def call() -> str:
        if failures:
            raise failures.pop()
        return "answer"

    assert (
        retrying(call, backoff=BACKOFF, clock=clock, cancelled=threading.Event(), what="a question")
        == "answer"
    )
    assert clock.monotonic_ms() == 300


def test_the_deadline_ends_it_with_the_last_failure_as_the_cause() -> None:
    def call() -> None:
        raise TransientSourceError("away", source="kafka", split="orders-0", position=3)

    with pytest.raises(
        DeadlineError,
        match=r"a question: no answer after 4 attempts in 700 ms: away "
        r"\[source kafka, split orders-0, position 3\]",
    ) as caught:
        retrying(call, backoff=BACKOFF, clock=ManualClock(), cancelled=threading.Event(), what="a question")
    assert isinstance(caught.value.__cause__, TransientSourceError)


def test_a_final_failure_is_raised_at_once() -> None:
    calls = []

    def call() -> None:
        calls.append(1)
        raise DataLossError("gone")

    with pytest.raises(DataLossError):
        retrying(call, backoff=BACKOFF, clock=ManualClock(), cancelled=threading.Event(), what="a question")
    assert calls == [1]


def test_a_cancelled_wait_ends_at_once() -> None:
    cancelled = threading.Event()
    clock = ManualClock()
    cancelled.set()

    def call() -> None:
        raise TransientSourceError("away")

    with pytest.raises(DeadlineError):
        retrying(call, backoff=BACKOFF, clock=clock, cancelled=cancelled, what="a question")
    assert clock.monotonic_ms() == 0


def test_failures_count_until_there_is_an_answer() -> None:
    retry = Retry(BACKOFF, ManualClock(), "a question")
    assert [retry.failed(AWAY), retry.failed(AWAY)] == [100, 200]
    retry.succeeded()
    assert retry.failed(AWAY) == 100


def test_the_deadline_counts_from_the_first_failure_in_a_row_or_from_the_beginning_of_the_first_attempt() -> (
    None
):
    clock = ManualClock()
    retry = Retry(BACKOFF, clock, "a question")
    clock.advance(5_000)
    assert retry.failed(AWAY) == 100
    retry.succeeded()
    clock.advance(5_000)
    assert retry.failed(AWAY) == 100
    clock.advance(900)
    with pytest.raises(DeadlineError, match="a question: no answer after 2 attempts in 900 ms: away"):
        retry.failed(AWAY)
    asked = Retry(BACKOFF, clock, "a question")
    asked.begin()
    clock.advance(901)
    with pytest.raises(DeadlineError, match="after 1 attempts in 901 ms"):
        asked.failed(AWAY)


def test_the_first_failure_says_when_and_for_how_long_it_is_asked_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Retry(BACKOFF, ManualClock(), "a question").failed(AWAY)
    assert caplog.messages == ["a question: away; asking again in 100 ms, and on for 1 s"]


class TestFirstAnswer:
    """A server that has never answered is asked for seconds, another one up to the deadline."""

    LONG = Backoff(deadline_ms=600_000)

    @pytest.mark.parametrize(
        ("is_new", "error", "most_ms", "hint"),
        [
            (True, NoConnectionError("refused"), 8_000, "nothing has ever answered there"),
            (False, NoConnectionError("refused"), 600_000, ""),
            (True, TransientSourceError("busy"), 600_000, ""),
        ],
    )
    def test_only_a_connection_that_never_came_is_given_up_early(
        self, is_new: bool, error: TransientSourceError, most_ms: int, hint: str
    ) -> None:
        def call() -> None:
            raise error

        clock = ManualClock()
        with pytest.raises(DeadlineError, match=f"no answer.*{hint}") as caught:
            retrying(
                call, backoff=self.LONG, clock=clock, cancelled=threading.Event(), what="q", is_new=is_new
            )
        assert most_ms * 0.6 < clock.monotonic_ms() <= most_ms
        assert ("nothing has ever answered" in str(caught.value)) == bool(hint)

    @pytest.mark.parametrize("seen", ["an answer", "a failure of something that is there"])
    def test_what_shows_that_something_is_there_makes_the_wait_for_a_connection_long(self, seen: str) -> None:
        clock = ManualClock()
        retry = Retry(self.LONG, clock, "q", is_new=True)
        retry.failed(NoConnectionError("refused"))
        if seen == "an answer":
            retry.succeeded()
        else:
            retry.failed(TransientSourceError("busy"))
        clock.advance(20_000)
        assert retry.failed(NoConnectionError("refused")) > 0
