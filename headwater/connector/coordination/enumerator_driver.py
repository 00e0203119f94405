"""The life of a query's enumerator: made or restored, asked once a round, notified of checkpoints, closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from headwater.connector.coordination.coordinator_loop import CoordinatorLoop
from headwater.connector.coordination.round_context import RoundContext
from headwater.core.enumerator import Checkpoint, SplitEnumerator
from headwater.core.split import Split

EnumeratorT = TypeVar("EnumeratorT", bound=SplitEnumerator[Any, Any])
T = TypeVar("T")


class EnumeratorDriver(Generic[EnumeratorT]):
    """Keeps the promises of `SplitEnumerator`: which method is called when, how often, on which thread.

    Called by Spark's thread; each method blocks until the coordinator thread has done its work.

    Committed offsets go by a key: any value that is equal for equal offsets.

    Args:
        loop: the threads. The driver closes it.
        context: receives the enumerator's assignments.
        create: makes the enumerator of a query that has logged nothing.
        restore: makes that of a query which goes on from a checkpoint.
    """

    def __init__(
        self,
        loop: CoordinatorLoop,
        context: RoundContext[Any, Any],
        *,
        create: Callable[[], EnumeratorT],
        restore: Callable[[Checkpoint[Any, Any]], EnumeratorT],
    ) -> None:
        self._loop = loop
        self._context = context
        self._create = create
        self._restore = restore
        # The splits that each plan assigned for the first time (Flink's ``SplitAssignmentTracker``), by the
        # plan's key.
        self._planned: list[tuple[object, tuple[Split, ...]]] = []
        self._enumerator: EnumeratorT | None = None
        self._notified: object = None

    def ask(self, question: Callable[[EnumeratorT], T]) -> T:
        """Return the enumerator's answer. After the first `look`; does not wait for slow calls."""
        return self._loop.run(lambda: question(self._made()))

    def look(
        self,
        committed: object,
        checkpoint: Checkpoint[Any, Any] | None,
        first: Callable[[EnumeratorT], None] = lambda _: None,
    ) -> None:
        """Let the enumerator look at the outside, and wait until it has. Makes it if there is none.

        Args:
            committed: the key of the committed offset.
            checkpoint: that offset, as an enumerator sees it; None for the genesis.
            first: called just before the enumerator is told that this offset is complete, if it is told.
        """
        self._loop.run(lambda: self._begin_round(committed, checkpoint, first))
        self._loop.wait_idle()

    def request(self, question: Callable[[EnumeratorT], None]) -> None:
        """Ask the enumerator for more in the same round, and wait until its slow calls are handled."""
        self.ask(question)
        self._loop.wait_idle()

    def notify_complete(
        self,
        committed: object,
        checkpoint: Checkpoint[Any, Any],
        first: Callable[[EnumeratorT], None] = lambda _: None,
    ) -> None:
        """Tell the enumerator once that a checkpoint is complete. Makes it if there is none.

        Args:
            committed: the key of the checkpoint.
            checkpoint: the same, as an enumerator sees it.
            first: called just before, to hand over anything else about this checkpoint.
        """
        self._loop.run(lambda: self._notify(committed, checkpoint, first))

    def record_plan(self, key: object, assigned: Iterable[Split]) -> None:
        """Note which splits a plan assigns anew. Should it never be logged, `look` gives them back."""
        # Noted on Spark's thread and resolved on the coordinator's: never at once, since Spark's thread waits
        # for every call that it makes there.
        self._planned.append((key, tuple(assigned)))

    def close(self) -> None:
        """Close the enumerator and end the threads, as far as there is time."""
        enumerator = self._enumerator
        self._enumerator = None
        self._loop.close(enumerator.close if enumerator is not None else lambda: None)

    def _begin_round(
        self,
        committed: object,
        checkpoint: Checkpoint[Any, Any] | None,
        first: Callable[[EnumeratorT], None],
    ) -> None:
        """On the coordinator thread, in the order that the contract of enumerators promises."""
        enumerator = self._made(checkpoint)
        # Spark plans one batch at a time: every plan but the committed one was given up.
        unlogged = [split for key, splits in self._planned if key != committed for split in splits]
        self._planned.clear()
        if unlogged:
            enumerator.add_splits_back(unlogged)
        if checkpoint is not None:
            self._notify(committed, checkpoint, first)
        # Before `refresh`, whose answers are the round.
        self._context.begin_round(checkpoint)
        enumerator.refresh(checkpoint)

    def _notify(
        self, committed: object, checkpoint: Checkpoint[Any, Any], first: Callable[[EnumeratorT], None]
    ) -> None:
        enumerator = self._made(checkpoint)
        if committed != self._notified:
            first(enumerator)
            enumerator.notify_checkpoint_complete(checkpoint)
            self._notified = committed

    def _made(self, checkpoint: Checkpoint[Any, Any] | None = None) -> EnumeratorT:
        """Return the enumerator. If there is none, make and start it."""
        if self._enumerator is None:
            if checkpoint is not None:
                self._loop.expect_answers()
            enumerator = self._create() if checkpoint is None else self._restore(checkpoint)
            enumerator.start()
            self._enumerator = enumerator
        return self._enumerator
