"""The source of queues that forget what was acknowledged, as far as it is the same for all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self

from headwater.core.barrier_reader import BarrierSplitReader
from headwater.core.barrier_source import BarrierSource
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.split import Split, SplitPath, SplitT
from headwater.core.state_store import MemoryStateStore, StateStore

if TYPE_CHECKING:
    from headwater.readers.runtime.staging.receiver_task import ReceiverTask
    from headwater.readers.runtime.staging.staged_client import StagedClient
    from headwater.readers.runtime.staging.staging import Staging

_LEAST_REMEMBERED: Final = 2_000
"""So many keys of messages are remembered at least, to tell a second delivery from the first."""
_REMEMBERED_SEGMENTS: Final = 8
"""And the keys of so many full segments.

One would not do: messages that come again need not be the last ones, and may come between new ones.
"""


@dataclass(frozen=True, kw_only=True)
class StagedSource(BarrierSource[SplitT, int]):
    """A source of queues: each delivers a message until it is acknowledged, and forgets it then.

    A split is a queue. On the executor's host a process, the receiver, takes messages by a `StagedClient`,
    writes them into a log in the state location, and acknowledges them then, whether a task runs or not.
    Tasks read the log: so an epoch that is read again brings the same rows, though the outside has forgotten
    them. A position is the number of a segment of that log. In a batch read the receiver is a thread of the
    task, and the log is in its memory.

    A frozen dataclass with fields for the settings of its own, all of which can be compared: a receiver goes
    on for as long as tasks come with an equal source. In a stream its class must be in a module that driver
    and executors can import: the receiver is a process of its own, which is told the class by its name.

    The fields below are filled in from the query's options, after `FromOptions.from_options`.

    Attributes:
        mode: a batch or a stream.
        store: the state location; None in a batch read.
        idle_ms: a queue that brings nothing for so long is caught up.
        backoff: for how long an outside that is away is asked again.
        receiver_idle_ms: a receiver that no task has asked for so long ends.
        folder: of the query, in the state location.
    """

    mode: Boundedness = Boundedness.BOUNDED
    store: StateStore | None = None
    idle_ms: int = 500
    backoff: Backoff = field(default_factory=lambda: Backoff(deadline_ms=120_000))
    receiver_idle_ms: int = 600_000
    folder: str = ""

    @abstractmethod
    def queue(self, split: SplitT) -> str:
        """Return what names the queue among all queues, whichever query reads it: ``amqp://host/orders``.

        A pure function; no secrets, since errors show it. A queue belongs to one query: of two that read one
        of the same name, the one that began later goes on, and the other one ends with an error.
        """

    @abstractmethod
    def create_client(self, split: SplitT) -> StagedClient[Any]:
        """Make a connection to a queue that is not open yet.

        In the receiver, once for each connection; no I/O. The fields of the query, such as `store`, are not
        set there.
        """

    @property
    def segment_rows(self) -> int:
        """The most messages of one segment of the log: `StagedClient.poll` is asked for no more."""
        return 1_000

    @property
    def remembered_keys(self) -> int:
        """How many keys of messages are remembered, to tell a second delivery; 0 where messages have none.

        At least as many as can be delivered and not acknowledged.
        """
        return max(_LEAST_REMEMBERED, _REMEMBERED_SEGMENTS * self.segment_rows)

    @property
    def remedy(self) -> str:
        """The way out where another client takes a queue too, for errors."""
        return (
            "A queue is for one query alone: stop any other client that reads it, or give one of the queries "
            "a queue of its own, with a new checkpointLocation."
        )

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    @property
    def is_staged(self) -> bool:
        return True

    def is_before(self, position: int, other: int) -> bool:
        return position < other

    def create_reader(self) -> BarrierSplitReader[SplitT, int]:
        from headwater.readers.runtime.staging.receiver_link import HostReceiverLink, OwnReceiverLink
        from headwater.readers.runtime.staging.staged_split_reader import StagedSplitReader

        # A batch read keeps its messages in the task's memory: nothing reads them later.
        link = OwnReceiverLink if self.store is None else HostReceiverLink
        staging = self.staging(self.folder)
        return StagedSplitReader(staging, lambda split: link(self.receiver_task(split, staging)))

    def for_query(self, folder: str) -> Self:
        return replace(self, folder=folder)

    def release_before(self, folder: str, positions: Mapping[SplitPath, int]) -> None:
        from headwater.readers.runtime.partitions.segment_log import release_logs

        staging = self.staging(folder)
        release_logs((staging.log(path, "driver"), position) for path, position in positions.items())

    def forget_splits(self, folder: str, paths: Collection[SplitPath]) -> None:
        staging = self.staging(folder)
        for path in paths:
            staging.log(path, "driver").delete()
            staging.store.delete_folder(staging.keys_folder(path))

    def clients(self, split: SplitT) -> Callable[[], StagedClient[Any]]:
        """Return what makes the connections to a queue: picklable, and equal where the source is equal."""
        # Without what the receiver is told beside it: two stores of one place are not equal.
        return _Clients(replace(self, store=None, folder=""), split)

    def receiver_task(self, split: SplitT, staging: Staging) -> ReceiverTask:
        """Return the work of a queue's receiver."""
        from headwater.readers.runtime.staging.receiver_task import ReceiverTask

        return ReceiverTask(
            self.queue(split),
            staging,
            split,
            self.clients(split),
            self.backoff,
            self.receiver_idle_ms,
            self.remedy,
        )

    def staging(self, folder: str) -> Staging:
        """Return where and how a query's messages are staged."""
        from headwater.readers.runtime.staging.staging import Staging

        store = self.store or MemoryStateStore()
        return Staging(store, folder, self.idle_ms, self.segment_rows, self.remembered_keys)


@dataclass(frozen=True)
class _Clients:
    """Makes the connections to one queue."""

    source: StagedSource[Any]
    split: Split

    def __call__(self) -> StagedClient[Any]:
        return self.source.create_client(self.split)
