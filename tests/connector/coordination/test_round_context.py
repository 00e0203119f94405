"""What an enumerator says in a round, and what the next offset makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headwater.connector.coordination.coordinator_loop import CoordinatorLoop
from headwater.connector.coordination.round_context import BarrierRoundContext, PlannedRoundContext
from headwater.core.clock import ManualClock
from headwater.core.enumerator import Checkpoint, KeptSplit
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
    context.begin_round(None)
    assert context.live(BEFORE) == ({("a",): A}, {("a",): 5})
    assert context.events_for([("a",)]) == ()


def test_a_split_under_another_path_breaks_the_contract(context: BarrierRoundContext[Any, Any]) -> None:
    with pytest.raises(ContractError, match="split b was assigned under the path"):
        context.assign_splits({("a",): (B, 0)})


OUT_OF_SIGHT: Checkpoint[NumberSplit, int] = Checkpoint(
    {("a",): A}, {("a",): 5}, None, {("b",): KeptSplit(B, 2, 100)}
)


@pytest.fixture
def planned() -> Iterator[PlannedRoundContext[Any, Any]]:
    loop = CoordinatorLoop(Backoff(deadline_ms=100), ManualClock())
    yield PlannedRoundContext(loop)
    loop.close()


def test_a_split_out_of_sight_keeps_its_position_and_is_not_live(
    planned: PlannedRoundContext[Any, Any],
) -> None:
    planned.keep_splits([("a",), ("never known",)], "not seen")
    assert planned.live(BEFORE) == ({}, {})
    assert planned.unavailable(BEFORE, 300) == {("a",): KeptSplit(A, 5, 300)}
    assert not planned.changes(BEFORE)


def test_a_split_that_is_back_is_kept_no_longer(planned: PlannedRoundContext[Any, Any]) -> None:
    planned.assign_splits({("b",): (B, 2)})
    assert planned.live(OUT_OF_SIGHT) == ({("a",): A, ("b",): B}, {("a",): 5, ("b",): 2})
    assert planned.starts() == {("b",): 2}
    assert planned.unavailable(OUT_OF_SIGHT, 300) == {}
    assert not planned.changes(OUT_OF_SIGHT)


def test_a_kept_split_that_begins_elsewhere_or_leaves_is_a_change(
    planned: PlannedRoundContext[Any, Any],
) -> None:
    planned.assign_splits({("b",): (B, 3)})
    assert planned.changes(OUT_OF_SIGHT)
    planned.begin_round(None)
    planned.retire_splits([("b",)], "deselected")
    assert planned.unavailable(OUT_OF_SIGHT, 300) == {}
    assert planned.changes(OUT_OF_SIGHT)


def test_a_split_that_comes_and_goes_within_a_round_is_what_was_said_last(
    planned: PlannedRoundContext[Any, Any],
) -> None:
    planned.keep_splits([("a",)], "not seen")
    planned.assign_splits({("a",): (A, 5)})
    assert planned.unavailable(BEFORE, 300) == {}
    assert planned.live(BEFORE) == ({("a",): A}, {("a",): 5})
    planned.retire_splits([("a",)], "gone")
    planned.keep_splits([("a",)], "not seen")
    assert planned.unavailable(BEFORE, 300) == {("a",): KeptSplit(A, 5, 300)}


def test_a_loss_is_a_change_and_a_new_round_forgets_it(planned: PlannedRoundContext[Any, Any]) -> None:
    planned.report_losses({("a",): (5, 9)})
    planned.keep_splits([("a",)], "not seen")
    assert planned.losses() == [(("a",), 5, 9)]
    assert planned.changes(BEFORE)
    planned.begin_round(None)
    assert planned.losses() == []
    assert planned.unavailable(BEFORE, 300) == {}
    assert not planned.changes(BEFORE)
