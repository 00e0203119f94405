"""The segment log of a list that is read in rounds: its rows, and beside them where the rounds stand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import pyarrow as pa

from headwater.core.jsons import dumps
from headwater.core.split import SplitPath
from headwater.core.state_store import StateStore
from headwater.enumerators.http.log_position import LogPosition
from headwater.readers.http.incremental.known_items import DIGEST_BYTES, KnownItems, Ranked
from headwater.readers.http.incremental.rounds import Round
from headwater.readers.http.incremental.values import ValueOrder
from headwater.readers.runtime.partitions.segment_log import SegmentLog

_DIGEST: Final = "__digest"
_RANK: Final = "__rank"
_ROUND: Final = b"headwater.round"
_FOLDER_BYTES: Final = 16
_MOST_SINCE_KNOWN: Final = 64
"""After so many segments the versions that are known are written anew: a reader that begins reads no more."""


def log_folder(query: str, path: SplitPath) -> str:
    """Return the folder of a list's log, in the state location."""
    name = hashlib.blake2b(dumps(list(path)).encode(), digest_size=_FOLDER_BYTES).hexdigest()
    return f"{query}/log/{name}"


def segment_log(store: StateStore, query: str, path: SplitPath) -> SegmentLog:
    """Return the log of a list as the driver has it, which writes nothing."""
    return SegmentLog(store, log_folder(query, path), "driver")


@dataclass(frozen=True)
class Logged:
    """A segment, as it was appended.

    Attributes:
        rows: of a page; None in a segment with the versions that are known.
        versions: of the items in ``rows``, or all that are known.
        round: where the list stands after it.
        position: behind it.
    """

    rows: pa.RecordBatch | None
    versions: Sequence[Ranked]
    round: Round
    position: LogPosition


class RoundLog:
    """One attempt's way to the log of one list. Belongs to one thread.

    A batch read has no log: nothing is stored, and positions only tell pages apart.

    Args:
        store: the state location; None in a batch read.
        folder: of the log.
        attempt: unique among all attempts.
        order: of the values.
    """

    def __init__(self, store: StateStore | None, folder: str, attempt: str, order: ValueOrder) -> None:
        self._log = None if store is None else SegmentLog(store, folder, attempt)
        self._order = order
        self._at = LogPosition()

    def take_over(self, start: LogPosition) -> Iterator[Logged]:
        """Become the writer, which fences every earlier attempt; yield what the log holds.

        From the versions that were known at the start on, so that these are complete; the first segments may
        lie before the start.
        """
        if self._log is None:
            return
        end = self._log.take_over()
        begin = LogPosition(start.first_needed, start.known)
        for logged in self._records(self._log, begin, end):
            self._at = logged.position
            yield logged
        self._at = LogPosition(end, self._at.known)

    def between(self, start: LogPosition, stop: LogPosition) -> Iterator[Logged]:
        """Yield what the log holds between two positions."""
        if self._log is not None:
            yield from self._records(self._log, start, stop.segment)

    def append(self, rows: pa.RecordBatch, versions: Sequence[Ranked | None], state: Round) -> LogPosition:
        """Make the new items of a page durable; return the position behind them.

        Args:
            rows: of the page.
            versions: one for each row; None for a row that is no item.
            state: where the list stands after the page.

        Raises:
            FencedError: another attempt took over.
        """
        columns = [*rows.columns, *_columns(versions)]
        number = self._put(columns, [*rows.schema.names, _DIGEST, _RANK], state)
        self._at = LogPosition(number + 1, self._at.known)
        return self._at

    def keep(self, known: KnownItems, state: Round) -> LogPosition | None:
        """Write all versions that are known, if it is time; return the position behind them.

        Raises:
            FencedError: another attempt took over.
        """
        if self._log is None or self._at.segment - self._at.first_needed < _MOST_SINCE_KNOWN:
            return None
        number = self._put(_columns(known.versions()), [_DIGEST, _RANK], state)
        self._at = LogPosition(number + 1, number)
        return self._at

    def _put(self, columns: list[pa.Array[Any]], names: list[str], state: Round) -> int:
        if self._log is None:
            return self._at.segment
        # With the rows: so where the list stands and what was read of it never differ.
        metadata = {_ROUND: dumps(state.to_json()).encode()}
        return self._log.append([pa.RecordBatch.from_arrays(columns, names, metadata=metadata)])

    def _records(self, log: SegmentLog, start: LogPosition, end: int) -> Iterator[Logged]:
        known = start.known
        for number, (batch,) in log.view_after(start.segment, end).segments():
            names = batch.schema.names[:-2]
            if not names:
                known = number
            digests = batch.column(_DIGEST).to_pylist()
            ranks = cast("list[str]", batch.column(_RANK).to_pylist())
            yield Logged(
                batch.select(names).replace_schema_metadata() if names else None,
                [
                    (digest, self._order.rank(rank))
                    for digest, rank in zip(digests, ranks, strict=True)
                    if digest is not None
                ],
                Round.from_json(json.loads((batch.schema.metadata or {})[_ROUND]), self._order),
                LogPosition(number + 1, known),
            )


def _columns(versions: Sequence[Ranked | None]) -> list[pa.Array[Any]]:
    digests = [None if version is None else version[0] for version in versions]
    ranks = [None if version is None else str(version[1]) for version in versions]
    return [pa.array(digests, pa.binary(DIGEST_BYTES)), pa.array(ranks, pa.string())]
