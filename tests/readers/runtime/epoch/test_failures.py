"""Splits that fail: counted since their last progress, from epoch to epoch, up to the deadline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecords
from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier, EpochState, Failing
from headwater.core.errors import DeadlineError, NoConnectionError, TransientSourceError
from headwater.readers.runtime.epoch.progress import SplitFailures
from tests.pages import Library, PageReader, PageSource, pages, start_of
from tests.readings import epoch_task, read_task

A = ("a",)
AWAY = TransientSourceError("away", source="pages")


def test_failures_are_counted_since_the_last_progress_and_time_from_the_first_of_them() -> None:
    clock = ManualClock()
    failures = SplitFailures({}, None, clock)
    assert failures.of(A) is None
    for _ in range(3):
        failures.failed(A, 5, AWAY)
        clock.advance(100)
    assert failures.of(A) == Failing(3, 300, "away")
    failures.got_on(A)
    assert failures.of(A) is None
    clock.advance(1_000)
    failures.failed(A, 5, AWAY)
    assert failures.of(A) == Failing(1, 0, "away")


def test_what_failed_in_earlier_epochs_goes_on_and_the_time_in_between_does_not_count() -> None:
    clock = ManualClock()
    failures = SplitFailures({A: Failing(7, 900)}, 1_000, clock)
    clock.advance(100)
    failures.failed(A, 5, AWAY)
    assert failures.of(A) == Failing(8, 1_000, "away")


def test_past_the_deadline_a_failure_is_an_error_that_says_how_often_and_how_long() -> None:
    clock = ManualClock()
    failures = SplitFailures({A: Failing(7, 5_000)}, 1_000, clock)
    # It was asked once more: a query that is started again goes on if the outside is back.
    with pytest.raises(
        DeadlineError, match=re.escape("no answer after 8 attempts in 5000 ms (option retryDeadline): away")
    ) as raised:
        failures.failed(A, 5, AWAY)
    assert raised.value.__cause__ is AWAY


@pytest.mark.parametrize("is_first", [True, False])
def test_a_server_that_has_never_answered_is_given_up_in_seconds(is_first: bool) -> None:
    clock = ManualClock()
    failures = SplitFailures({A: Failing(7, 9_000)}, 120_000, clock)
    refused = NoConnectionError("nothing listens", source="pages")
    refused.is_first = is_first
    if not is_first:
        failures.failed(A, 5, refused)
        return
    with pytest.raises(DeadlineError, match="nothing has ever answered there"):
        failures.failed(A, 5, refused)


@dataclass
class AwayLibrary(PageSource):
    """Pages behind a reader that fails so often before each page."""

    failures_before_page: int = 2

    def create_reader(self) -> BarrierSplitReader[Any, Any]:
        return AwayReader(self.library, self.failures_before_page)


class AwayReader(PageReader):
    def __init__(self, library: Library, failures: int) -> None:
        super().__init__(library)
        self._failures = failures
        self._left = failures

    def fetch(self) -> EpochRecords:
        if self._left and self.open:
            self._left -= 1
            return EpochRecords(failed={next(iter(self.open)): AWAY})
        self._left = self._failures
        return super().fetch()


def state_of(source: PageSource, barrier: Barrier, **task: Any) -> EpochState:
    reader = read_task(source, epoch_task([start_of("a")], barrier, **task))
    list(reader)
    return reader.state()


@pytest.fixture
def library() -> Library:
    return Library({"a": pages(3)})


def test_an_epoch_in_which_all_asking_was_in_vain_ends_and_says_so_in_its_state(library: Library) -> None:
    source = AwayLibrary(library, failures_before_page=1 << 30)
    [progress] = state_of(source, Barrier(duration_ms=1)).progress
    assert progress.position == 0
    assert progress.failing is not None
    assert progress.failing.failures >= 1
    assert progress.failing.reason == "away"


def test_a_split_that_made_progress_does_not_fail_any_more(library: Library) -> None:
    state = state_of(AwayLibrary(library), Barrier(), failing={A: Failing(9, 10_000)})
    assert [entry.failing for entry in state.progress] == [None]


def test_a_task_ends_when_a_split_has_failed_past_the_deadline_in_all_epochs_together(
    library: Library,
) -> None:
    source = AwayLibrary(library, failures_before_page=1 << 30)
    with pytest.raises(DeadlineError, match="option retryDeadline"):
        state_of(source, Barrier(), failing={A: Failing(9, 10_000)}, retry_deadline_ms=9_000)
