"""What all fetchers of a task share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.core.barrier_reader import BarrierSplitReader
from headwater.core.clock import Clock
from headwater.core.jsons import JsonValue
from headwater.readers.runtime.fetchers.events import Fetched
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.pipelined import PipelinedResultPartition


@dataclass(frozen=True, slots=True)
class FetcherWork:
    """What all fetchers of a task share.

    Attributes:
        create_reader: makes a fetcher's reader; called on the fetcher's thread.
        partition: where the fetched records go; a fetcher has the channel of its own index.
        trigger: says when the barrier is due, and is told what was fetched.
        clock: time.
        events: of the enumerator, for each reader.
    """

    create_reader: Callable[[], BarrierSplitReader[Any, Any]]
    partition: PipelinedResultPartition[Fetched]
    trigger: BarrierTrigger
    clock: Clock
    events: Sequence[JsonValue] = ()
