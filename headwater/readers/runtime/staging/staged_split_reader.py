"""Reads a queue through a segment log: what a task emits is durable, and can be read again."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import pyarrow as pa

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecords
from headwater.core.jsons import JsonValue
from headwater.core.split import Split, SplitPath, SplitRange
from headwater.core.state_store import StateStore
from headwater.readers.runtime.partitions.segment_log import SegmentLog
from headwater.readers.runtime.staging.staged_client import Delivery, StagedClient

_KEY: Final = "__key"
_LOOK_BACK: Final = 64
"""How many segments before the end are read first for their keys; each further step reads twice as many."""


@dataclass(frozen=True)
class Staging:
    """How a staged source is read.

    Attributes:
        store: the state location.
        folder: of the query, below which each split has its log.
        idle_ms: a queue that delivers nothing for so long is caught up.
        segment_rows: the most messages of one segment.
        remembered_keys: of so many messages before, a second delivery is told by its key.
    """

    store: StateStore
    folder: str
    idle_ms: int
    segment_rows: int
    remembered_keys: int


def segment_log(staging: Staging, path: SplitPath, attempt: str) -> SegmentLog:
    """Return the log of a split."""
    return SegmentLog(staging.store, _folder(staging, path), attempt)


class StagedSplitReader(BarrierSplitReader[Any, int]):
    """A position is the number of the next segment.

    A split without a stop is read by the one attempt that has claimed the task. It becomes the log's writer,
    which fences the one before; hands on what the log holds already; then repeats: takes messages from the
    outside, drops those that were delivered before, appends the rest as one segment, and acknowledges all of
    them when the segment is durable. After a crash before that the next attempt gets the messages again.

    A split with a stop is read from the log alone.

    Args:
        staging: where, and how much at a time.
        client: makes the connection of one split.
    """

    def __init__(self, staging: Staging, client: Callable[[], StagedClient[Any]]) -> None:
        self._staging = staging
        self._make_client = client
        self._open: dict[SplitPath, Iterator[EpochRecords]] = {}
        self._paused: dict[SplitPath, Iterator[EpochRecords]] = {}
        self._clients: dict[SplitPath, StagedClient[Any]] = {}
        self._woken = threading.Event()

    def handle_splits_changes(self, added: Sequence[SplitRange[Any, int]]) -> None:
        for piece in added:
            steps = self._read_live(piece.split, piece.start) if piece.stop is None else self._read_log(piece)
            self._open[piece.split.path] = steps

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        for path in removed:
            self._leave(path)

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        """What is delivered meanwhile waits in the client, which stays connected."""
        for path in paused:
            if path in self._open:
                self._paused[path] = self._open.pop(path)
        for path in resumed:
            if path in self._paused:
                self._open[path] = self._paused.pop(path)

    def handle_source_event(self, event: JsonValue) -> None:
        """Queues take no events."""

    def fetch(self) -> EpochRecords:
        if not self._open:
            self._woken.wait(self._staging.idle_ms / 1000)
            self._woken.clear()
            return EpochRecords()
        path, steps = next(iter(self._open.items()))
        fetched = next(steps)
        if path in fetched.caught_up or path in fetched.finished:
            self._leave(path)
        else:
            # To the end of the row: of several splits the one that waited longest comes next.
            self._open[path] = self._open.pop(path)
        return fetched

    def wake_up(self) -> None:
        # The flag first: a client that returns nothing looks whether it was woken.
        self._woken.set()
        # A copy: the fetching thread may open or close one meanwhile.
        for client in list(self._clients.values()):
            client.wake_up()

    def close(self) -> None:
        for path in [*self._open, *self._paused]:
            self._leave(path)

    def _leave(self, path: SplitPath) -> None:
        self._open.pop(path, None)
        self._paused.pop(path, None)
        client = self._clients.pop(path, None)
        if client is not None:
            client.close()

    def _read_log(self, piece: SplitRange[Any, int]) -> Iterator[EpochRecords]:
        """Yield what the log holds, up to where the first reading came."""
        path = piece.split.path
        view = segment_log(self._staging, path, "reader").view_after(piece.start, piece.stop)
        for number, batches in view.segments():
            yield EpochRecords({path: [_record(batches, number + 1)]})
        yield EpochRecords(finished=frozenset([path]))

    def _read_live(self, split: Split, start: int) -> Iterator[EpochRecords]:
        """Yield what the log holds, then what the outside delivers. Has no end."""
        path = split.path
        log = segment_log(self._staging, path, secrets.token_hex(8))
        end = log.take_over()
        known = RecentKeys(self._staging.remembered_keys)
        known.add(self._last_keys(log, path, end))
        for number, batches in log.view_after(start, end).segments():
            yield EpochRecords({path: [_record(batches, number + 1)]})
        client = self._make_client()
        self._clients[path] = client
        client.open(split)
        while True:
            delivery = client.poll(self._staging.idle_ms, self._staging.segment_rows)
            if delivery is not None:
                yield self._stage(path, log, client, known, delivery)
            elif self._woken.is_set():
                # Woken before anything came, which says nothing of the queue.
                self._woken.clear()
                yield EpochRecords()
            else:
                yield EpochRecords(caught_up={path: None})

    def _stage(
        self,
        path: SplitPath,
        log: SegmentLog,
        client: StagedClient[Any],
        known: RecentKeys,
        delivery: Delivery[Any],
    ) -> EpochRecords:
        """Make what is new of a delivery durable, then acknowledge all of it."""
        fresh = known.first_deliveries(delivery.keys)
        if not fresh:
            client.acknowledge(delivery.tokens)
            return EpochRecords()
        rows = delivery.rows
        if len(fresh) < len(delivery.keys):
            rows = rows.take(pa.array(fresh, pa.int64()))
        keys = [delivery.keys[at] for at in fresh]
        segment = rows.append_column(_KEY, pa.array(keys, pa.binary()))
        # In this order: what is acknowledged is durable, and what is known is durable.
        number = log.append([segment])
        known.add(keys)
        client.acknowledge(delivery.tokens)
        return EpochRecords({path: [_record([segment], number + 1)]})

    def _last_keys(self, log: SegmentLog, path: SplitPath, end: int) -> list[bytes | None]:
        """Return the keys of as many messages before the end as are remembered or more, or of all there are.

        Among them are all messages that are staged and of whose acknowledgement the outside does not know.
        """
        keys: list[bytes | None] = []
        begin = _begin(self._staging, path)
        step = _LOOK_BACK
        while end > begin and len(keys) < self._staging.remembered_keys:
            first = max(begin, end - step)
            batches = log.view_after(first, end).batches()
            keys = [
                key for batch in batches for key in cast("list[bytes | None]", batch.column(_KEY).to_pylist())
            ] + keys
            end = first
            step *= 2
        return keys


class RecentKeys:
    """The keys of the last messages, by which a second delivery of one of them is told.

    A window over the keys, in the order in which they came.

    Args:
        most: how many keys are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._keys: dict[bytes, None] = {}

    def add(self, keys: Iterable[bytes | None]) -> None:
        """Note the keys of messages that are durable."""
        for key in keys:
            if key is not None:
                self._keys.pop(key, None)
                self._keys[key] = None
        while len(self._keys) > self._most:
            del self._keys[next(iter(self._keys))]

    def first_deliveries(self, keys: Sequence[bytes | None]) -> list[int]:
        """Return the indices of the messages that are new.

        The key of a new message is neither in the window nor earlier in the same list. A message without a
        key is always new.
        """
        seen: set[bytes] = set()
        fresh = []
        for at, key in enumerate(keys):
            if key is None or (key not in self._keys and key not in seen):
                fresh.append(at)
            if key is not None:
                seen.add(key)
        return fresh


def _record(batches: Sequence[pa.RecordBatch], position: int) -> EpochRecord:
    (batch,) = batches
    kept = [name for name in batch.schema.names if name != _KEY]
    return EpochRecord(batch.select(kept), position)


def _folder(staging: Staging, path: SplitPath) -> str:
    return f"{staging.folder}/log/{'-'.join(path)}"


def _begin(staging: Staging, path: SplitPath) -> int:
    """Return the number of the first record that is kept."""
    return min((int(name) for name in staging.store.list(_folder(staging, path))), default=0)
