"""The driver half of a source: which splits exist (FLIP-27 ``SplitEnumerator``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from headwater.core.jsons import JsonValue
from headwater.core.split import PositionT, SplitPath, SplitT

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Checkpoint(Generic[SplitT, PositionT]):
    """What a completed checkpoint holds, as an enumerator sees it (`headwater.core.epoch` defines the word).

    Attributes:
        splits: every live split, by path.
        positions: of every live split, the next record to read.
        state: what the enumerator's ``snapshot_state`` returned when this checkpoint was planned.
    """

    splits: Mapping[SplitPath, SplitT]
    positions: Mapping[SplitPath, PositionT]
    state: JsonValue


class SplitEnumeratorContext(ABC, Generic[SplitT, PositionT]):
    """What the coordinator offers an enumerator (FLIP-27 ``SplitEnumeratorContext``).

    Called on the coordinator thread only.
    """

    @abstractmethod
    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        """Run a slow call on a worker thread, then its handler on the coordinator thread.

        A `TransientSourceError` of ``call`` is retried with back-off until the source's deadline; any other
        error, and any error of the handler, fails the query. A call started during `SplitEnumerator.refresh`
        is handled before the batch is planned. Calls of one enumerator run one after the other, in the order
        in which they were started.

        Args:
            call: asks the outside. May block. Must not touch the enumerator's state: it runs beside it.
            handler: takes the answer into the enumerator's state. Must not block.
            what: names the question in logs and errors, for example ``offsets of 12 partitions``.
        """

    @abstractmethod
    def assign_splits(self, starts: Mapping[SplitPath, tuple[SplitT, PositionT]]) -> None:
        """Hand splits to the coordinator, each with its first position (FLIP-27 ``assignSplits``).

        For a split that the checkpoint does not hold yet, or one that replaces a split of the same path (a
        topic deleted and created anew). From the next logged offset on the checkpoint owns the position.
        Until then the assignment is only in memory, and is asked for again after a crash.
        """

    @abstractmethod
    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        """Drop splits from the next offset on: unsubscribed, deleted or finished.

        A planned batch that holds them still reads them.
        """


class SplitEnumerator(ABC, Generic[SplitT, PositionT]):
    """Discovers splits. One per query, on the driver, in Spark's source runner process.

    What both modes share. An enumerator is either a
    `headwater.core.planned_enumerator.PlannedSplitEnumerator`, which also knows where its splits end, or a
    `headwater.core.barrier_enumerator.BarrierSplitEnumerator`, which also takes events of its readers.

    Life: made by the source's ``create_enumerator`` or ``restore_enumerator`` -> `start` once -> any number
    of rounds, each with one `refresh` and at most one `snapshot_state` -> `close` once, if the process is
    given the time. Every method runs on the ONE coordinator thread, never two at once; none may block: what
    is slow goes through `SplitEnumeratorContext.call_async`. An error from any method fails the query.
    """

    @abstractmethod
    def start(self) -> None:
        """Called once, before anything else. Opens nothing: the first slow call opens what it needs."""

    @abstractmethod
    def refresh(self, checkpoint: Checkpoint[SplitT, PositionT] | None) -> None:
        """Look at the outside: called before every batch is planned, and at every idle trigger.

        Compares what exists with what the checkpoint holds, through `SplitEnumeratorContext.call_async`; the
        handlers assign what is new, retire what is gone, and renew the heads. Finding nothing to assign is an
        ordinary answer; an empty answer from a system that cannot be empty (Kafka metadata during a restart)
        means "no change".

        Args:
            checkpoint: what the query has committed; None as long as nothing at all is logged. Positions like
                "latest" are resolved only while it is None, so once in the life of a checkpoint.
        """

    def snapshot_state(self) -> JsonValue:
        """Return the enumerator's own state as small JSON, to be logged with the batch that is being planned.

        Must not grow with history.
        """
        return None

    def add_splits_back(self, splits: Sequence[SplitT]) -> None:
        """Take back splits of a plan that never came to be logged (FLIP-27 ``addSplitsBack``).

        They must be assigned again by a later `refresh` for as long as the checkpoint does not hold them. The
        default does nothing, which is right for an enumerator that compares with the checkpoint in every
        `refresh` and keeps no list of what it handed out.
        """

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[SplitT, PositionT]) -> None:
        """Everything up to this checkpoint is durably written by the sink.

        Called at least once a checkpoint, in order, except that the last one before a stop may come only with
        the next start, or never; later checkpoints subsume earlier ones. Must be idempotent.
        """

    def close(self) -> None:
        """Close what is open.

        Spark kills the process on an ordinary stop: nothing may depend on this call.
        """
