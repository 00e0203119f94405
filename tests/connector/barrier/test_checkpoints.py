"""Flink's CheckpointCoordinatorTest, as far as it has a meaning where manifests are the acknowledgements."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.connector.barrier.checkpoints import CheckpointCoordinator
from headwater.connector.barrier.offsets import EpochId
from headwater.connector.barrier.tasks import deal_splits, deal_waiting
from headwater.connector.coordination.dealing import SplitTimes
from headwater.core.epoch import EpochState, WaitingSplits
from headwater.core.errors import StateLocationError
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.claims import STALE_MS, Claim, ClaimProtocol
from headwater.readers.runtime.epoch.task_slot import SEALED, Manifest, TaskSlot, encode_manifest
from tests.epoch_doubles import LogSource, MainThreadClock

FIRST, SECOND = EpochId("q", 1, "a"), EpochId("q", 2, "b")
TIMEOUT_MS = 5_000


class Desk:
    """A coordinator and the slots of its tasks."""

    def __init__(self, retained: int = 1) -> None:
        self.store = MemoryStateStore()
        self.clock = MainThreadClock()
        self.source = LogSource()
        self.coordinator = CheckpointCoordinator(
            self.store, self.source, timeout_ms=TIMEOUT_MS, retained=retained, clock=self.clock
        )

    def slot(self, epoch: EpochId, number: int) -> TaskSlot:
        return TaskSlot(self.store, epoch.folder, number)

    def claim(self, epoch: EpochId, number: int) -> Claim:
        claim = ClaimProtocol(self.slot(epoch, number), self.clock).try_acquire()
        assert isinstance(claim, Claim)
        return claim

    def manifest(self, event: str = "read", **metrics: int) -> bytes:
        return encode_manifest(Manifest(EpochState(events=(event,)), dict(metrics)), self.source)

    def acknowledge(self, epoch: EpochId, number: int, event: str = "read") -> bytes:
        return self.slot(epoch, number).publish(self.manifest(event))

    def prune(self, epoch: EpochId, oldest_needed: int) -> None:
        outdated = self.coordinator.outdated(epoch, oldest_needed)
        if outdated is not None:
            self.coordinator.prune(outdated)

    def came_to(self, epoch: EpochId, tasks: int) -> list[object]:
        """Return the event of each task's state, None for one whose slot was sealed."""
        return [
            manifest.state and manifest.state.events[0]
            for manifest in self.coordinator.complete(epoch, tasks).manifests
        ]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_trigger_and_confirm_simple_checkpoint(desk: Desk) -> None:
    """It completes with the last acknowledgement; a second one of a task changes nothing."""
    desk.coordinator.trigger(FIRST, 2, {})
    desk.acknowledge(FIRST, 0, "zero")
    desk.acknowledge(FIRST, 1, "one")
    assert desk.acknowledge(FIRST, 1, "again") == desk.manifest("one")
    assert desk.came_to(FIRST, 2) == ["zero", "one"]


def test_completing_again_comes_to_the_same(desk: Desk) -> None:
    desk.coordinator.trigger(FIRST, 2, {})
    desk.acknowledge(FIRST, 0, "zero")
    found = desk.came_to(FIRST, 2)
    desk.acknowledge(FIRST, 1, "late")
    assert desk.came_to(FIRST, 2) == found == ["zero", None]
    assert (
        CheckpointCoordinator(desk.store, desk.source, timeout_ms=1, retained=1, clock=desk.clock)
        .complete(FIRST, 2)
        .manifests[1]
        .state
        is None
    )


def test_trigger_and_decline_checkpoint_simple(desk: Desk) -> None:
    """A task that gave up is not waited for; that it says so twice changes nothing."""
    desk.coordinator.trigger(FIRST, 1, {})
    claim = desk.claim(FIRST, 0)
    claim.end("SourceError: no")
    claim.end("SourceError: no")
    assert desk.came_to(FIRST, 1) == [None]
    assert desk.clock.monotonic_ms() == 0


def test_trigger_and_decline_checkpoint_complex(desk: Desk) -> None:
    """One task that declines leaves the others as they are."""
    desk.coordinator.trigger(FIRST, 3, {})
    desk.acknowledge(FIRST, 0, "zero")
    desk.claim(FIRST, 1).end("SourceError: no")
    desk.acknowledge(FIRST, 2, "two")
    assert desk.came_to(FIRST, 3) == ["zero", None, "two"]


def test_a_retry_of_a_task_that_declined_may_still_acknowledge(desk: Desk) -> None:
    desk.coordinator.trigger(FIRST, 1, {})
    desk.claim(FIRST, 0).end("SourceError: no")
    desk.claim(FIRST, 0)
    desk.acknowledge(FIRST, 0, "retried")
    assert desk.came_to(FIRST, 1) == ["retried"]


def test_checkpoint_timeout_isolated(desk: Desk) -> None:
    """A task that is at work and does not publish is waited for, but not for ever.

    Then its state counts for nothing.
    """
    desk.coordinator.trigger(FIRST, 2, {})
    claim = desk.claim(FIRST, 0)
    desk.acknowledge(FIRST, 1, "one")
    assert desk.came_to(FIRST, 2) == [None, "one"]
    assert TIMEOUT_MS <= desk.clock.monotonic_ms() < TIMEOUT_MS + 1_000
    assert claim.slot.publish(desk.manifest("late")) == SEALED


def test_a_task_that_is_still_publishing_is_waited_for(desk: Desk) -> None:
    """As one is that LIMIT left early: Spark commits while it writes."""

    class Publishing(MainThreadClock):
        def wait(self, event: object, timeout_ms: int) -> bool:
            desk.acknowledge(FIRST, 0, "left early")
            return False

    desk.coordinator.trigger(FIRST, 1, {})
    desk.claim(FIRST, 0)
    coordinator = CheckpointCoordinator(
        desk.store, desk.source, timeout_ms=TIMEOUT_MS, retained=1, clock=Publishing()
    )
    (manifest,) = coordinator.complete(FIRST, 1).manifests
    assert manifest.state == EpochState(events=("left early",))


def test_a_silent_task_is_waited_for_no_longer_than_its_beats_allow() -> None:
    desk = Desk()
    desk.coordinator = CheckpointCoordinator(
        desk.store, desk.source, timeout_ms=10 * STALE_MS, retained=1, clock=desk.clock
    )
    desk.coordinator.trigger(FIRST, 1, {})
    desk.claim(FIRST, 0)
    assert desk.came_to(FIRST, 1) == [None]
    assert STALE_MS <= desk.clock.monotonic_ms() < STALE_MS + 1_000


def test_successful_checkpoint_subsumes_unsuccessful(desk: Desk) -> None:
    """An epoch that was opened and never logged is thrown away, with what came of it.

    What comes late does not bring it back.
    """
    lost = EpochId("q", 1, "lost")
    desk.coordinator.trigger(lost, 1, {})
    desk.acknowledge(lost, 0)
    desk.coordinator.trigger(FIRST, 1, {})
    assert desk.coordinator.epochs("q") == [FIRST]
    desk.acknowledge(lost, 0, "late")
    desk.acknowledge(FIRST, 0)
    assert desk.came_to(FIRST, 1) == ["read"]


def test_handle_messages_for_non_existing_checkpoints(desk: Desk) -> None:
    """Of another epoch, another query, another task: nothing is raised, nothing counts."""
    desk.coordinator.trigger(FIRST, 1, {})
    for epoch, number in ((SECOND, 0), (EpochId("other", 1, "a"), 0), (FIRST, 7)):
        desk.acknowledge(epoch, number, "stray")
    assert desk.came_to(FIRST, 1) == [None]


def test_state_cleanup_for_late_or_unknown_messages(desk: Desk) -> None:
    """What strays into an epoch goes with it; another query's stays."""
    other = EpochId("other", 1, "a")
    for number in range(1, 5):
        epoch = EpochId("q", number, "a")
        desk.coordinator.trigger(epoch, 1, {})
        desk.acknowledge(epoch, 0)
        desk.acknowledge(epoch, 9, "stray")
        desk.acknowledge(other, 0)
        desk.coordinator.complete(epoch, 1)
        desk.prune(epoch, epoch.number)
    assert [epoch.number for epoch in desk.coordinator.epochs("q")] == [3, 4]
    assert desk.coordinator.epochs("other") == [other]


def test_externalized_checkpoints() -> None:
    """So many as the user says are kept, and one from which rows are still in flight, however old."""
    desk = Desk(retained=2)
    for number in range(1, 7):
        epoch = EpochId("q", number, "a")
        desk.coordinator.trigger(epoch, 0, {})
        desk.coordinator.complete(epoch, 0)
        desk.prune(epoch, min(number, 3))
    assert [epoch.number for epoch in desk.coordinator.epochs("q")] == [3, 4, 5, 6]


def test_stats_tracker_completed_checkpoint_callback(desk: Desk) -> None:
    assert desk.coordinator.stats is None
    desk.coordinator.trigger(FIRST, 3, {})
    for number, alignment_ms in enumerate((5, 12)):
        desk.slot(FIRST, number).publish(desk.manifest(alignment_ms=alignment_ms, in_flight_bytes=7))
    desk.coordinator.complete(FIRST, 3)
    found = desk.coordinator.stats
    assert found is not None
    assert (found["places"], found["not_run"], found["alignment_ms"], found["in_flight_bytes"]) == (
        3,
        1,
        12,
        7,
    )


def test_restore_without_the_checkpoint_is_an_error(desk: Desk) -> None:
    with pytest.raises(StateLocationError, match="does not hold epoch 1"):
        desk.coordinator.complete(FIRST, 1)
    desk.coordinator.trigger(FIRST, 1, {})
    with pytest.raises(StateLocationError, match="holds another epoch 1"):
        desk.coordinator.complete(FIRST, 2)


@given(st.integers(0, 60), st.integers(1, 9))
def test_partitionable_state_repartitioning(splits: int, tasks: int) -> None:
    """Every split is dealt once, and no two tasks differ by more than one."""
    due = [(f"{number:03d}",) for number in range(splits)]
    dealt = deal_splits(due, tasks, SplitTimes())
    assert sorted(path for paths in dealt for path in paths) == due
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert len(dealt) == tasks


@given(st.lists(st.integers(1, 50), max_size=12), st.integers(1, 9))
def test_found_splits_that_wait_are_dealt_once_and_a_piece_is_cut_only_for_a_task_without_one(
    sizes: list[int], tasks: int
) -> None:
    pieces = [WaitingSplits(f"{number:010d}-00000-aa", 5, 5 + size) for number, size in enumerate(sizes)]
    dealt = deal_waiting(pieces, tasks)

    def splits(of: Iterable[WaitingSplits]) -> list[tuple[str, int]]:
        return sorted((piece.segment, at) for piece in of for at in range(piece.first, piece.stop))

    flat = [piece for has in dealt for piece in has]
    assert splits(flat) == splits(pieces)
    assert len(dealt) == tasks
    assert len(flat) <= max(len(pieces), tasks)
    assert all(dealt) or sum(sizes) < tasks
