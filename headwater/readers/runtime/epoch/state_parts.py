"""The large parts of a task's state: rows in flight, and found splits that were not begun.

They lie in segments beside the manifest, which names them. A driver passes the names on; only tasks read the
segments.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.core.epoch import EpochState, FoundSplit, InFlight, StoredRows, WaitingSplits
from headwater.core.errors import StateLocationError
from headwater.core.jsons import JsonObject, dumps
from headwater.core.source import Source
from headwater.core.state_store import StateStore, get_segment, put_segment, segment_name

SPLITS_FOLDER: Final = "found"
"""Below the query's folder: segments of found splits, which may be needed for longer than any epoch."""

_SEGMENT_SPLITS: Final = 10_000
_WRITERS: Final = 8
_COMPRESSION: Final = 1
"""Paths of found splits repeat each other: this makes them ten times smaller at 100 MB/s."""


@dataclass(frozen=True)
class StateParts:
    """Puts the parts of one epoch's states aside, and brings them in again.

    Attributes:
        source: writes splits.
        epoch: the epoch's folder in the state location, ``query/epoch-0000000007-nonce``.
        task: the number of the task whose states they are.
    """

    source: Source[Any, Any, Any]
    epoch: str
    task: int

    def put_aside(self, state: EpochState, store: StateStore) -> EpochState:
        """Write the parts of a state, durably; return the state that names them."""
        with closing(PartsUpload(self, store)) as upload:
            return upload.finish(state)

    def named(self, state: EpochState) -> EpochState:
        """Return the state as `put_aside` does, and write nothing."""
        return self.divided(state)[0]

    def bring_in(self, state: EpochState, store: StateStore) -> EpochState:
        """Return a state with the parts that it names.

        Raises:
            StateLocationError: a part is not there, or was changed.
        """
        splits = SplitSegments(self.source, self._query, store)
        waiting = [split for piece in state.waiting for split in splits.read(piece)]
        return replace(state, found=(*state.found, *waiting), in_flight=self.rows(state, store), waiting=())

    def rows(self, state: EpochState, store: StateStore) -> tuple[InFlight, ...]:
        """Return the entries in flight of a state, with their rows.

        Raises:
            StateLocationError: they are not there, or were changed.
        """
        names = {entry.stored.name for entry in state.in_flight if entry.stored is not None}
        # Several at once: object stores answer late.
        with ThreadPoolExecutor(_WRITERS, "headwater-parts") as pool:
            reads = {name: pool.submit(_present, store, self.epoch, name) for name in names}
        objects = {name: read.result() for name, read in reads.items()}

        def filled(entry: InFlight) -> InFlight:
            if entry.stored is None:
                return entry
            rows = objects[entry.stored.name][entry.stored.first : entry.stored.stop]
            return replace(entry, rows=rows, stored=None)

        return tuple(filled(entry) for entry in state.in_flight)

    def divided(self, state: EpochState) -> tuple[EpochState, dict[tuple[str, str], bytes]]:
        """Return the state that names its parts, and the parts by folder and name."""
        of_splits, parts = self._rows_aside(entry for entry in state.in_flight if entry.path)
        # In an object of their own: they are known later.
        with_calls, part = self._rows_aside(entry for entry in state.in_flight if not entry.path)
        parts |= part
        waiting = list(state.waiting)
        for first in range(0, len(state.found), _SEGMENT_SPLITS):
            segment = state.found[first : first + _SEGMENT_SPLITS]
            data = _encoded(self.source, segment)
            # The epoch in the name tells when a segment may be deleted that no checkpoint names.
            name = segment_name(f"{_number(self.epoch)}-{self.task:05d}-", data)
            parts[f"{self._query}/{SPLITS_FOLDER}", name] = data
            waiting.append(WaitingSplits(name, 0, len(segment)))
        in_flight = (*of_splits, *with_calls)
        return replace(state, found=(), in_flight=in_flight, waiting=tuple(waiting)), parts

    def _rows_aside(
        self, in_flight: Iterable[InFlight]
    ) -> tuple[tuple[InFlight, ...], dict[tuple[str, str], bytes]]:
        """Return the entries in flight without their rows, and the one object that they are in."""
        entries = list(in_flight)
        data = b"".join(entry.rows for entry in entries)
        if not data:
            return tuple(entries), {}
        name = segment_name(f"{self.task:05d}.rows-", data)
        stops = itertools.accumulate(len(entry.rows) for entry in entries)
        aside = tuple(
            replace(entry, rows=b"", stored=StoredRows(name, stop - len(entry.rows), stop))
            if entry.rows
            else entry
            for entry, stop in zip(entries, stops, strict=True)
        )
        return aside, {(self.epoch, name): data}

    @property
    def _query(self) -> str:
        return self.epoch.partition("/")[0]


class PartsUpload:
    """Writes the parts of one task's state, several at once: object stores answer late.

    Belongs to the task's thread. What is written and named by no manifest is deleted with its epoch.

    Args:
        parts: of the task.
        store: the state location.
    """

    def __init__(self, parts: StateParts, store: StateStore) -> None:
        self._parts = parts
        self._store = store
        self._pool = ThreadPoolExecutor(_WRITERS, "headwater-parts")
        self._writes: dict[tuple[str, str], Future[None]] = {}

    def begin(self, state: EpochState) -> EpochState:
        """Begin to write the parts of a state, or of what is known of it; return the state that names them.

        A part that is begun already is written once: its name follows from its content.
        """
        stored, parts = self._parts.divided(state)
        for (folder, name), data in parts.items():
            if (folder, name) not in self._writes:
                write = self._pool.submit(put_segment, self._store, folder, name, data)
                self._writes[folder, name] = write
        return stored

    def finish(self, state: EpochState) -> EpochState:
        """Return the state that names its parts, once all of them are durable.

        Raises:
            StateLocationError: one could not be written.
        """
        stored = self.begin(state)
        for write in self._writes.values():
            write.result()
        return stored

    def close(self) -> None:
        """Wait for what is being written: no thread outlives this."""
        self._pool.shutdown()


@dataclass(frozen=True)
class SplitSegments:
    """Reads segments of found splits of one query.

    Attributes:
        source: reads splits.
        query: its folder.
        store: the state location.
    """

    source: Source[Any, Any, Any]
    query: str
    store: StateStore

    def read(self, segment: WaitingSplits) -> list[FoundSplit]:
        """Return the splits of a part of a segment, in order.

        Raises:
            StateLocationError: the segment is not there, or was changed.
        """
        data = _present(self.store, f"{self.query}/{SPLITS_FOLDER}", segment.segment)
        whole = json.loads(zlib.decompress(data))
        entries = [(self.source.path_of(tuple(path)), start) for path, start in whole["found"]]
        splits = self.source.deserialize_splits([path for path, _ in entries], whole["splits"])
        return [FoundSplit(splits[path], start) for path, start in entries[segment.first : segment.stop]]


class WaitingQueue:
    """The splits that wait for one task, in order. Reads a segment when its first split is taken.

    Belongs to the task's thread.

    Attributes:
        taken: how many were taken.

    Args:
        pieces: of segments.
        read: returns the splits of a piece.
        most: the most that are taken; None for all.
    """

    def __init__(
        self,
        pieces: Iterable[WaitingSplits] = (),
        read: Callable[[WaitingSplits], list[FoundSplit]] = lambda _: [],
        most: int | None = None,
    ) -> None:
        self.taken = 0
        self._splits: Iterator[FoundSplit] = itertools.islice(
            itertools.chain.from_iterable(map(read, pieces)), most
        )

    def take(self, most: int) -> list[FoundSplit]:
        """Return the next splits: ``most``, or as many as there are.

        Raises:
            StateLocationError: a segment is not there, or was changed.
        """
        splits = list(itertools.islice(self._splits, most))
        self.taken += len(splits)
        return splits


def without_taken(pieces: Iterable[WaitingSplits], count: int) -> list[WaitingSplits]:
    """Return the rest of the pieces after some splits were taken, from the first one on."""
    rest = []
    for segment in pieces:
        first = segment.first + min(count, len(segment))
        count -= first - segment.first
        if first < segment.stop:
            rest.append(replace(segment, first=first))
    return rest


def epoch_of(segment: str) -> int:
    """Return the number of the epoch in which a segment of found splits was written."""
    return int(segment.partition("-")[0])


def _number(epoch: str) -> str:
    return epoch.rpartition("/")[2].split("-")[1]


def _encoded(source: Source[Any, Any, Any], splits: Iterable[FoundSplit]) -> bytes:
    entries = list(splits)
    whole: JsonObject = {
        "splits": source.serialize_splits([entry.split for entry in entries]),
        "found": [[list(entry.split.path), entry.start] for entry in entries],
    }
    return zlib.compress(dumps(whole).encode(), _COMPRESSION)


def _present(store: StateStore, folder: str, name: str) -> bytes:
    data = get_segment(store, folder, name)
    if data is None:
        raise StateLocationError(
            f"{folder}/{name} is gone, and with it what was found or read and not handed over: restore "
            "stateLocation from the backup that was taken with the checkpoint",
            location=str(store),
        )
    return data
