"""Where and how a staged source keeps messages, and the keys by which a second delivery is recognized."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

import pyarrow as pa

from headwater.core.barrier_reader import EpochRecord
from headwater.core.clock import wall_ms
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath
from headwater.core.state_store import StateStore
from headwater.readers.runtime.batches import read_batches, write_batches
from headwater.readers.runtime.partitions.segment_log import SegmentLog

KEY_COLUMN: Final = "__key"
_LOST: Final = b"headwater.lost_ms"
_LOSS: Final = b"headwater.loss"
"""In the metadata of a segment without rows: when, and how, messages were lost before the next segment."""


@dataclass(frozen=True)
class Staging:
    """How a staged source is read.

    Attributes:
        store: the state location.
        folder: of the query, below which each split has its log.
        idle_ms: a queue that delivers nothing for this time is caught up.
        segment_rows: the most messages of one segment.
        remembered_keys: how many keys of earlier messages are remembered, to recognize a second delivery; 0
            where messages have no keys.
    """

    store: StateStore
    folder: str
    idle_ms: int
    segment_rows: int
    remembered_keys: int

    def log(self, path: SplitPath, attempt: str) -> SegmentLog:
        """Return the log of a split."""
        return SegmentLog(self.store, f"{self.folder}/log/{'-'.join(path)}", attempt)

    def keys_folder(self, path: SplitPath) -> str:
        """Return where the windows of a split's keys are."""
        return f"{self.folder}/keys/{'-'.join(path)}"


def segment(rows: pa.RecordBatch, keys: list[bytes | None], loss: str | None) -> pa.RecordBatch:
    """Return a segment's rows: those of the source, and the key of each.

    Args:
        rows: none where something is lost.
        keys: of each.
        loss: how the queue has lost messages; None if it has lost none.
    """
    batch = rows.append_column(KEY_COLUMN, pa.array(keys, pa.binary()))
    if loss is None:
        return batch
    return batch.replace_schema_metadata({_LOST: str(wall_ms()), _LOSS: loss})


def lost_ms(batches: list[pa.RecordBatch]) -> int | None:
    """Return when a segment's queue had lost messages, in ms since 1970; None if it is a segment of rows."""
    metadata = batches[0].schema.metadata or {}
    return int(metadata[_LOST]) if _LOST in metadata else None


def record(number: int, batches: list[pa.RecordBatch], events: tuple[JsonValue, ...] = ()) -> EpochRecord:
    """Return the segment of a number as a record of the source, without the keys.

    Args:
        number: of the segment.
        batches: its one batch.
        events: for the enumerator.
    """
    (batch,) = batches
    names = [name for name in batch.schema.names if name != KEY_COLUMN]
    return EpochRecord(batch.select(names), number + 1, events=events)


_LAST: Final = "last"
"""The object that names the window that was written last."""
_KEPT_WINDOWS: Final = 2
"""One that is being written when its writer dies may be the last one: the one before it stays."""


class RecentKeys:
    """The keys of the last messages.

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
        earlier: set[bytes] = set()
        fresh = []
        for at, key in enumerate(keys):
            if key is None or (key not in self._keys and key not in earlier):
                fresh.append(at)
            if key is not None:
                earlier.add(key)
        return fresh

    def in_order(self) -> list[bytes]:
        """Return the keys, the oldest first."""
        return list(self._keys)


class KeyWindows:
    """The windows of one log in the state location, each under the number of the segment that follows it.

    Segments before a number never change, so every writer of a window there writes the same one.

    Args:
        store: where.
        folder: of this log's windows.
    """

    def __init__(self, store: StateStore, folder: str) -> None:
        self._store = store
        self._folder = folder

    def last(self) -> tuple[int, list[bytes]]:
        """Return the last window, with the number of the segment that follows it; 0 if there is none."""
        for name in self._latest_first():
            data = self._store.get(f"{self._folder}/{name}")
            # None: a later writer has just deleted it, or the listing is old.
            if data is not None:
                (batch,) = read_batches(data)
                return int(name), cast("list[bytes]", batch.column(0).to_pylist())
        return 0, []

    def keep(self, number: int, keys: Sequence[bytes]) -> None:
        """Write the window before a segment; durable when this returns. Earlier ones are deleted."""
        batch = pa.RecordBatch.from_arrays([pa.array(keys, pa.binary())], ["key"])
        name = f"{number:012d}"
        self._store.put_if_absent(f"{self._folder}/{name}", write_batches([batch]))
        # Named once it is there, and before others are deleted: the one that is named is always kept.
        self._store.put(f"{self._folder}/{_LAST}", name.encode())
        self._store.delete_all(f"{self._folder}/{old}" for old in self._listed()[:-_KEPT_WINDOWS])

    def _latest_first(self) -> list[str]:
        """Return the names of the windows: first the one that was written last, which may not be listed."""
        last = self._store.get(f"{self._folder}/{_LAST}")
        return [*([last.decode()] if last else []), *reversed(self._listed())]

    def _listed(self) -> list[str]:
        return [name for name in self._store.list(self._folder) if name != _LAST]
