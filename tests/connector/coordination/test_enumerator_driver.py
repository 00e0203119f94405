"""The life of an enumerator, as its contract promises it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from headwater.connector.coordination.coordinator_loop import CoordinatorLoop
from headwater.connector.coordination.enumerator_driver import EnumeratorDriver
from headwater.connector.coordination.round_context import RoundContext
from headwater.core.clock import ManualClock
from headwater.core.enumerator import Checkpoint, SplitEnumerator
from headwater.core.errors import DeadlineError, NoConnectionError
from headwater.core.jsons import JsonValue
from headwater.core.retry import Backoff
from tests.doubles import NumberSplit

A = NumberSplit("a")
CHECKPOINT: Checkpoint[Any, Any] = Checkpoint({("a",): A}, {("a",): 5}, None)


class ToldEnumerator(SplitEnumerator[NumberSplit, int]):
    """Writes down what it is told, and the names of the threads that tell it."""

    def __init__(self, told: list[str], threads: set[str]) -> None:
        self._told = told
        self._threads = threads

    def _note(self, what: str) -> None:
        self._told.append(what)
        self._threads.add(threading.current_thread().name)

    def start(self) -> None:
        self._note("start")

    def refresh(self, checkpoint: Checkpoint[NumberSplit, int] | None) -> None:
        self._note("refresh" if checkpoint else "refresh without a checkpoint")

    def snapshot_state(self) -> JsonValue:
        self._note("snapshot")
        return None

    def add_splits_back(self, splits: Sequence[NumberSplit]) -> None:
        self._note(f"back {[split.label for split in splits]}")

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[NumberSplit, int]) -> None:
        self._note("complete")

    def close(self) -> None:
        self._note("close")


class Harness:
    """A driver, and what its enumerator was told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.threads: set[str] = set()
        self.clock = ManualClock()
        self.loop = loop = CoordinatorLoop(Backoff(deadline_ms=300_000), self.clock)
        self.driver: EnumeratorDriver[ToldEnumerator] = EnumeratorDriver(
            loop, RoundContext(loop), create=self._create, restore=self._restore
        )

    def _create(self) -> ToldEnumerator:
        self.told.append("created")
        return ToldEnumerator(self.told, self.threads)

    def _restore(self, checkpoint: Checkpoint[Any, Any]) -> ToldEnumerator:
        self.told.append("restored")
        return ToldEnumerator(self.told, self.threads)


@pytest.fixture
def harness() -> Iterator[Harness]:
    made = Harness()
    yield made
    made.driver.close()


def test_a_new_query_creates_its_enumerator_and_another_one_restores_it(harness: Harness) -> None:
    harness.driver.look("genesis", None)
    assert harness.told == ["created", "start", "refresh without a checkpoint"]
    other = Harness()
    other.driver.look("one", CHECKPOINT)
    other.driver.close()
    assert other.told == ["restored", "start", "complete", "refresh", "close"]


def test_a_checkpoint_is_notified_once_and_before_the_next_look(harness: Harness) -> None:
    harness.driver.notify_complete("one", CHECKPOINT, lambda made: made.add_splits_back([A]))
    harness.driver.notify_complete("one", CHECKPOINT)
    harness.driver.look("one", CHECKPOINT)
    assert harness.told == ["restored", "start", "back ['a']", "complete", "refresh"]


def test_a_plan_that_was_not_logged_is_given_back_before_the_next_look(harness: Harness) -> None:
    harness.driver.look("genesis", None)
    harness.driver.record_plan("one", [A])
    harness.driver.look("genesis", None)
    assert harness.told[3:] == ["back ['a']", "refresh without a checkpoint"]
    harness.driver.record_plan("one", [A])
    harness.driver.look("one", CHECKPOINT)
    assert harness.told[5:] == ["complete", "refresh"]


def test_plans_that_were_not_logged_are_given_back_once_in_order(harness: Harness) -> None:
    harness.driver.record_plan("one", [NumberSplit("b")])
    harness.driver.record_plan("two", [A])
    harness.driver.look("genesis", None)
    harness.driver.look("genesis", None)
    assert [told for told in harness.told if told.startswith("back")] == ["back ['b', 'a']"]


def test_every_call_is_made_on_the_coordinator_thread(harness: Harness) -> None:
    harness.driver.look("genesis", None)
    harness.driver.ask(lambda made: made.snapshot_state())
    harness.driver.request(lambda made: made.add_splits_back([]))
    harness.driver.close()
    assert harness.told[-1] == "close"
    assert harness.threads == {"headwater-coordinator"}


@pytest.mark.parametrize("checkpoint", [None, CHECKPOINT])
def test_a_checkpoint_tells_of_a_server_that_answered_so_it_is_waited_for(
    harness: Harness, checkpoint: Checkpoint[Any, Any] | None
) -> None:
    harness.driver.look("first", checkpoint)

    def refused() -> None:
        raise NoConnectionError("nothing listens there")

    harness.loop.call_async(refused, lambda _: None, what="q")
    with pytest.raises(DeadlineError):
        harness.loop.wait_idle()
    assert (harness.clock.monotonic_ms() > 8_000) == (checkpoint is not None)
