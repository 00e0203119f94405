"""What an enumerator says in a round, and what the next offset makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headwater.connector.coordination.coordinator_loop import CoordinatorLoop
from headwater.connector.coordination.round_context import BarrierRoundContext
from headwater.core.clock import ManualClock
from headwater.core.enumerator import Checkpoint
from headwater.core.errors import ContractError
from headwater.core.retry import Backoff
from tests.doubles import NumberSplit

A = NumberSplit("a")
B = NumberSplit("b")
BEFORE: Checkpoint[NumberSplit, int] = Checkpoint({("a",): A}, {("a",): 5}, None)


@pytest.fixture
def context() -> Iterator[BarrierRoundContext[Any, Any]]:
    loop = CoordinatorLoop(Backoff(deadline_ms=100), ManualClock())
    yield BarrierRoundContext(loop)
    loop.close()


def test_what_is_assigned_joins_what_is_live_and_what_is_retired_leaves(
    context: BarrierRoundContext[Any, Any],
) -> None:
    context.assign_splits({("b",): (B, 2)})
    assert context.live(BEFORE) == ({("a",): A, ("b",): B}, {("a",): 5, ("b",): 2})
    assert context.starts() == {("b",): 2}
    context.retire_splits([("a",)], "gone")
    assert context.live(BEFORE) == ({("b",): B}, {("b",): 2})


def test_the_last_word_of_a_round_counts(context: BarrierRoundContext[Any, Any]) -> None:
    context.retire_splits([("a",)], "gone")
    context.assign_splits({("a",): (A, 0)})
    assert context.live(BEFORE) == ({("a",): A}, {("a",): 0})
    context.retire_splits([("a",)], "gone again")
    assert context.live(BEFORE) == ({}, {})


def test_only_what_the_checkpoint_says_otherwise_is_a_change(context: BarrierRoundContext[Any, Any]) -> None:
    context.assign_splits({("b",): (B, 2)})
    context.retire_splits([("c",)], "never known")
    assert not context.changes(BEFORE)
    context.assign_splits({("a",): (A, 6)})
    assert context.changes(BEFORE)


def test_a_new_round_forgets_assignments_retirements_and_events(
    context: BarrierRoundContext[Any, Any],
) -> None:
    context.assign_splits({("b",): (B, 2)})
    context.retire_splits([("a",)], "gone")
    context.send_event_to_source_reader(("a",), "hello")
    assert context.events_for([("b",), ("a",)]) == ("hello",)
    context.begin_round()
    assert context.live(BEFORE) == ({("a",): A}, {("a",): 5})
    assert context.events_for([("a",)]) == ()


def test_a_split_under_another_path_breaks_the_contract(context: BarrierRoundContext[Any, Any]) -> None:
    with pytest.raises(ContractError, match="split b was assigned under the path"):
        context.assign_splits({("a",): (B, 0)})
