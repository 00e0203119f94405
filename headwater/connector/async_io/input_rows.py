"""The rows of a task that are on their way: Python objects for the function, Arrow for the output."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

__all__ = ["InputRows"]

_SHIFT = 10
_PIECE = 1 << _SHIFT
"""Rows of a piece. A row that waits keeps its piece, not its whole batch, from being forgotten."""


class InputRows:
    """Owned by the task's thread; `describe` may be called from any.

    The function's rows are `pyspark.sql.Row` objects. Their identity leads back to their places, so input
    columns that the function does not ask for are never made into Python objects, and those that it gets come
    out as they went in, bit by bit.

    Args:
        columns: the names of the columns that the function gets.
        key_columns: the names of those that name a row in errors.
    """

    def __init__(self, columns: Sequence[str], key_columns: Sequence[str]) -> None:
        self._columns, self._key_columns = list(columns), list(key_columns)
        self._make = partial(tuple.__new__, _row_type(columns))
        self._pieces: dict[int, pa.RecordBatch] = {}
        self._waiting: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._places)

    def admit(self, batch: pa.RecordBatch) -> Iterator[list[Any]]:
        """Yield the rows of a batch, piece by piece."""
        for start in range(0, batch.num_rows, _PIECE):
            piece = batch.slice(start, _PIECE)
            rows: list[Any] = list(
                map(self._make, zip(*(piece.column(name).to_pylist() for name in self._columns), strict=True))
            )
            first = self._next << _SHIFT
            self._pieces[self._next], self._waiting[self._next] = piece, len(rows)
            self._places.update(zip(map(id, rows), range(first, first + len(rows)), strict=True))
            self._next += 1
            yield rows

    def gather(self, rows: Sequence[Any]) -> pa.RecordBatch:
        """Return all input columns of some rows, in their order. A row may come more than once."""
        places = [self._places[id(row)] for row in rows]
        offsets, pieces, offset = {}, [], 0
        for number in sorted({place >> _SHIFT for place in places}):
            piece = self._pieces[number]
            pieces.append(piece)
            offsets[number] = offset - (number << _SHIFT)
            offset += piece.num_rows
        indices = pa.array([offsets[place >> _SHIFT] + place for place in places], pa.int64())
        [gathered] = pa.Table.from_batches(pieces).combine_chunks().take(indices).to_batches()
        return gathered

    def forget(self, rows: Sequence[Any]) -> None:
        """Let go of rows that are out."""
        for row in rows:
            number = self._places.pop(id(row)) >> _SHIFT
            self._waiting[number] -= 1
            if not self._waiting[number]:
                del self._pieces[number], self._waiting[number]

    def describe(self, row: Any) -> str:
        """Return what names a row: ``id=7, region='eu'``; without key columns nothing."""
        place = self._places[id(row)]
        piece, index = self._pieces[place >> _SHIFT], place & (_PIECE - 1)
        return ", ".join(f"{name}={piece.column(name)[index].as_py()!r}" for name in self._key_columns)


def _row_type(columns: Sequence[str]) -> type[Row]:
    """Return a `Row` with its fields in the class.

    Quick to make, and quick to read as attributes where a name allows it.
    """
    names = [
        name
        for name in columns
        if name.isidentifier() and not keyword.iskeyword(name) and not hasattr(Row, name)
    ]
    attributes: dict[str, Any] = {name: property(itemgetter(columns.index(name))) for name in names}
    return type("Row", (Row,), {"__slots__": (), "__fields__": list(columns), **attributes})
