"""The rows of a task that are on their way: Python objects for the function, Arrow for the output."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from types import NoneType
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

_SHIFT = 10
MOST_ROWS = 1 << _SHIFT
"""Of a piece."""


class InputRows:
    """Input rows by the identity of the Python objects that the function gets.

    The function's rows are `pyspark.sql.Row` objects. Their identity (``id``) leads back to their places in
    Arrow. So input columns that the function does not ask for are never made into Python objects, and those
    that it gets come out exactly as they went in.

    Rows come in *pieces*. A row that waits keeps its piece in memory, not its whole batch.

    A *place* is a number: the number of the piece, shifted, and the index in the piece.

    Attributes:
        nbytes: of the pieces that are kept, in Arrow.

    Owned by the task's thread. `describe` is called on the loop's thread too, without a lock: for a row whose
    call runs, which is forgotten only after it came out.

    Args:
        columns: the names of the columns that the function gets.
        key_columns: the names of the columns that name a row in errors.
    """

    def __init__(self, columns: Sequence[str], key_columns: Sequence[str]) -> None:
        self._columns = list(columns)
        self._key_columns = list(key_columns)
        # Without `Row.__new__`, which checks its arguments one by one.
        self._make = partial(tuple.__new__, _row_type(columns))
        self._pieces: dict[int, pa.RecordBatch] = {}
        self._waiting: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._next = 0
        self.nbytes = 0

    def __len__(self) -> int:
        """Return how many rows wait."""
        return len(self._places)

    def admit(self, batch: pa.RecordBatch) -> list[Any]:
        """Return the rows of a piece, which has one at least, and `MOST_ROWS` at most."""
        columns = [python_values(batch.column(name)) for name in self._columns]
        rows: list[Any] = list(map(self._make, zip(*columns, strict=True)))
        number = self._next
        self._next += 1
        self._pieces[number] = batch
        self.nbytes += batch.nbytes
        self._waiting[number] = len(rows)
        first = number << _SHIFT
        self._places.update(zip(map(id, rows), range(first, first + len(rows)), strict=True))
        return rows

    def unfinished(self) -> pa.RecordBatch:
        """Return all input columns of the rows that wait, one at least, in the order of their admission."""
        return self._taken(list(self._places.values()))

    def gather(self, rows: Sequence[Any]) -> pa.RecordBatch:
        """Return all input columns of some rows, in their order. A row may come more than once."""
        return self._taken([self._places[id(row)] for row in rows])

    def _taken(self, places: list[int]) -> pa.RecordBatch:
        pieces: list[pa.RecordBatch] = []
        # Added to a place in a piece, this is the index in all pieces together.
        offsets: dict[int, int] = {}
        offset = 0
        for number in sorted({place >> _SHIFT for place in places}):
            batch = self._pieces[number]
            pieces.append(batch)
            offsets[number] = offset - (number << _SHIFT)
            offset += batch.num_rows
        indices = pa.array([offsets[place >> _SHIFT] + place for place in places], pa.int64())
        [gathered] = pa.Table.from_batches(pieces).combine_chunks().take(indices).to_batches()
        return gathered

    def ends(self, rows: Sequence[Any], most_bytes: int, times: int) -> Iterator[int]:
        """Yield where to cut rows so that no part has more bytes of input; a row is not cut.

        Args:
            rows: a row may come more than once.
            most_bytes: of a part.
            times: how often a row comes at most.
        """
        if times * self.nbytes <= most_bytes:
            # All that waits is small: so it is mostly, and no row needs a look of its own.
            if rows:
                yield len(rows)
            return
        sizes: dict[int, int] = {}
        total = 0
        for index, row in enumerate(rows):
            place = self._places[id(row)]
            size = sizes.get(place)
            if size is None:
                size = sizes[place] = self._pieces[place >> _SHIFT].slice(place & (MOST_ROWS - 1), 1).nbytes
            if total and total + size > most_bytes and row is not rows[index - 1]:
                yield index
                total = 0
            total += size
        yield len(rows)

    def forget(self, rows: Sequence[Any]) -> None:
        """Let go of rows that are out."""
        out = Counter([place >> _SHIFT for place in map(self._places.pop, map(id, rows))])
        for number, count in out.items():
            self._waiting[number] -= count
            if not self._waiting[number]:
                self.nbytes -= self._pieces.pop(number).nbytes
                del self._waiting[number]

    def describe(self, row: Any) -> str:
        """Return the name of a row: ``id=7, region='eu'``; without key columns nothing."""
        place = self._places[id(row)]
        batch = self._pieces[place >> _SHIFT]
        index = place & (MOST_ROWS - 1)
        return ", ".join(f"{name}={batch.column(name)[index].as_py()!r}" for name in self._key_columns)


class _QuickRow(Row):
    """A `Row` that is quick where functions are: in ``row[0]``."""

    __slots__ = ()

    def __getitem__(self, item: Any) -> Any:
        return _member(self, item) if type(item) is int else super().__getitem__(item)


_member = tuple.__getitem__


class OutRows:
    """Rows that come out, in their order, and are forgotten as they do.

    Args:
        rows: where they are forgotten.
        outputs: each once.
    """

    def __init__(self, rows: InputRows, outputs: Sequence[Any]) -> None:
        self._rows = rows
        self._outputs = outputs
        self._start = 0

    def up_to(self, last: Any) -> None:
        """Forget the rows up to and with this one, those without a result too; all if it is None."""
        stop = self._start
        if last is None:
            stop = len(self._outputs)
        else:
            while self._outputs[stop] is not last:
                stop += 1
            stop += 1
        self._rows.forget(self._outputs[self._start : stop])
        self._start = stop


def python_values(column: pa.Array[Any]) -> list[Any]:
    """Return the values of ``to_pylist``, without the 2 us that it takes for each time with a zone."""
    kind: Any = column.type
    if not pa.types.is_timestamp(kind) or kind.tz is None or kind.unit != "us" or not len(column):
        values: list[Any] = column.to_pylist()
        return values
    utc: list[Any] = column.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False).tolist()
    if not set(map(type, utc)) <= {datetime, NoneType}:
        # Years that Python's type does not have.
        return column.to_pylist()
    zone = next((time.as_py().tzinfo for time in column.drop_null()[:1]), UTC)
    return [None if time is None else time.replace(tzinfo=UTC).astimezone(zone) for time in utc]


def _row_type(columns: Sequence[str]) -> type[Row]:
    """Return a `Row` class with its fields in the class, where a name allows it as attributes.

    It is quick to make and quick to read: Spark's own looks for each attribute in a list of names.
    """
    names = [
        name
        for name in columns
        if name.isidentifier() and not keyword.iskeyword(name) and not hasattr(Row, name)
    ]
    attributes: dict[str, Any] = {name: property(itemgetter(columns.index(name))) for name in names}
    return type("Row", (_QuickRow,), {"__slots__": (), "__fields__": list(columns), **attributes})


def cut(batch: pa.RecordBatch, most_bytes: int, most_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield a batch in pieces of no more bytes and rows. A row that is larger is a piece alone."""
    if batch.num_rows > 1 and (batch.nbytes > most_bytes or batch.num_rows > most_rows):
        # Whole pieces where the rows are small. Where they are not, halves, until each piece is small enough.
        first = most_rows if batch.num_rows > most_rows else batch.num_rows // 2
        yield from cut(batch.slice(0, first), most_bytes, most_rows)
        yield from cut(batch.slice(first), most_bytes, most_rows)
    else:
        yield batch
