"""The work of a receiver, and the messages between it and its tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headwater.core.errors import HeadwaterError
from headwater.core.retry import Backoff
from headwater.core.split import Split
from headwater.readers.runtime.staging.staged_client import StagedClient
from headwater.readers.runtime.staging.staging import Staging


@dataclass(frozen=True)
class ReceiverTask:
    """The work of a receiver. Picklable and comparable; opens nothing.

    Attributes:
        queue: names the queue among all that this host may receive, whichever query reads it: two receivers
            of one queue would take it from each other.
        staging: where messages go.
        split: the queue.
        client: makes a connection that is not open yet. Equal to another one that makes the same.
        backoff: for how long a queue that is away is asked again.
        idle_ms: a receiver that no task has asked for this time ends.
        remedy: the remedy where another client takes the queue too, for errors.
    """

    queue: str
    staging: Staging
    split: Split
    client: Callable[[], StagedClient[Any]]
    backoff: Backoff
    idle_ms: int
    remedy: str

    @property
    def query(self) -> str:
        """The query, by the place of its logs: a store is known by its name."""
        return f"{self.staging.store}/{self.staging.folder}"

    def is_same(self, other: ReceiverTask) -> bool:
        """Whether a receiver that does the one does the other."""
        return self._says() == other._says()

    def _says(self) -> tuple[object, ...]:
        staging = self.staging
        # By its place: the two stores come from two processes.
        return (
            self.queue,
            self.query,
            staging.idle_ms,
            staging.segment_rows,
            staging.remembered_keys,
            self.split,
            self.client,
            self.backoff,
            self.idle_ms,
        )


@dataclass(frozen=True)
class TaskQuestion:
    """A question of a task to its receiver.

    Attributes:
        number: the first segment that the task has not read. The answer comes when there is one, when the
            queue is caught up, when the receiver has ended, or when it has waited long enough.
        timeout_ms: how long that is.
        begins: whether the task begins with an epoch: then the receiver makes sure first that it is the
            writer still, and stores its window of keys.
    """

    number: int
    timeout_ms: int
    begins: bool = False


@dataclass(frozen=True)
class ReceiverAnswer:
    """An answer of a receiver.

    Attributes:
        end: the number behind the last durable segment; None: not known yet.
        caught_up: whether all that the queue had is before it.
        finished: whether the queue has ended, and all that it ever had is before it.
        error: why the receiver has ended; None if it has not.
    """

    end: int | None
    caught_up: bool = False
    finished: bool = False
    error: HeadwaterError | None = None
