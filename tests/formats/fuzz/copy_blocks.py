"""PostgreSQL's answers to COPY: how they are cut into rows, and values in binary."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import SourceError
from headwater.enumerators.postgres.table import TableColumn
from headwater.readers.formats.format import Spans
from headwater.readers.formats.text import TextValueFormat
from headwater.readers.kernels.arrays import ByteArray
from headwater.readers.postgres import copy_stream
from headwater.readers.postgres import layout as L
from headwater.readers.postgres.binary_values import binary_columns
from headwater.readers.postgres.copy_stream import CopyStream
from headwater.readers.postgres.framing import FramedRows
from headwater.readers.postgres.types import PostgresColumn, column_of
from tests.formats.fuzz.blocks import BEHIND, BlockChecker
from tests.formats.fuzz.columns import as_bits
from tests.formats.fuzz.guarded import guarded_copy
from tests.formats.fuzz.subject import Subject

_GOOD_VALUES: Final = 300
_READABLE: Final = 32
"""So many bytes behind values in binary a kernel may load: they mean nothing."""
_BLOCK_BYTES: Final = 48
"""Of what is read at a time: rows have to be moved, and some are larger."""
_NATIVE: Final = (16, 17, 20, 21, 23, 25, 26, 700, 701, 1082, 1114, 1184, 2950, 3802)
_NUMERIC: Final = 1700
_CONNECTION: Final[Any] = SimpleNamespace(pgconn=SimpleNamespace(ssl_in_use=False, used_gssapi=False))
_TOKENS: Final = (
    *(struct.pack(">i", size) for size in (-1, -2, 0, 3, 4, 5, 8, 19, 200, (1 << 31) - 1, -(1 << 31))),
    *(struct.pack(">h", count) for count in (-1, 0, 1, 2, 3, -(1 << 15))),
    *(struct.pack(">q", number) for number in (-(1 << 63), (1 << 63) - 1, 0, 1 << 55, -(1 << 56))),
    *(struct.pack(">hhHh", *head) for head in ((1, 0, 0, 2), (2, 9, 0x4000, 0), (1, -1, 0xC000, 0))),
    *(b"d", b"c", b"C", b"E", b"Z", b"N"),
    b"d\0\0\0\6\xff\xff",
)


class CopyChecker(BlockChecker):
    """Cuts answers, each of which comes in pieces, into rows, and reads their values."""

    def make_subject(self) -> Subject:
        self._columns = _columns(self.rng)
        good = [self._answer() for _ in range(_GOOD_VALUES)]
        return Subject(TextValueFormat(), good, _TOKENS)

    def found(self, values: Spans) -> Any:
        answers = [values.value(row) or b"" for row in range(len(values.sizes))]
        with (
            mock.patch.object(copy_stream, "_Socket", lambda _, sql, __: _Pieces(sql)),
            mock.patch.object(copy_stream, "_BLOCK_BYTES", _BLOCK_BYTES),
        ):
            return [self._rows(answer) for answer in answers]

    def _answer(self) -> bytes:
        head = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
        parts = [_message(b"N", b"by the way")] if self.rng.random() < 0.1 else []
        for _ in range(self.rng.randrange(1, 5)):
            row = b"".join(_sized(binary_value(self.rng, each)) for each in self._columns)
            parts.append(_message(b"d", head + struct.pack(">h", len(self._columns)) + row))
            head = b""
        end = [_message(b"d", b"\xff\xff"), _message(b"c", b""), _message(b"C", b"COPY 1\0")]
        return b"".join([*parts, *end, _message(b"Z", b"I")])

    def _rows(self, answer: bytes) -> Any:
        found: list[Any] = []
        pieces: Any = [answer[begin:end] for begin, end in pairwise(self.cuts(len(answer)))]
        # The stream is asked for its pieces, in the place of a statement.
        stream = CopyStream(_CONNECTION, pieces, len(self._columns), split="public.t", timeout_ms=1)
        try:
            while rows := stream.rows():
                # How many come at a time depends on the pieces.
                found += [_shown(_of_row(rows, row), self._columns) for row in range(rows.rows)]
        except SourceError as error:
            found.append(f"{type(error).__name__}: {error}")
        return found


class BinaryValuesChecker(BlockChecker):
    """Reads values in binary, those of some rows at a time."""

    def make_subject(self) -> Subject:
        self._columns = _columns(self.rng)
        good = [binary_value(self.rng, self.rng.choice(self._columns)) or b"" for _ in range(_GOOD_VALUES)]
        return Subject(TextValueFormat(), good, _TOKENS)

    def found(self, values: Spans) -> Any:
        data = guarded_copy(values.data[: values.data.size - BEHIND + _READABLE])
        width = len(self._columns)
        count = len(values.sizes) // width
        starts = values.starts[: count * width].reshape(count, width)
        lengths = values.sizes[: count * width].reshape(count, width).astype(np.int32)
        found = []
        for begin, end in groups(self.numbers, count):
            rows = FramedRows(data, guarded(starts[begin:end]), guarded(lengths[begin:end]), end - begin)
            try:
                columns = binary_columns(rows, self._columns, "public.t")
                found += [*zip(*map(_values, columns), strict=True)]
            except SourceError:
                found += [_shown(_of_row(rows, row), self._columns) for row in range(rows.rows)]
        return found


class _Pieces:
    """In the place of a socket: the bytes of an answer, some at a time, and then the end."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]

    def read_into(self, room: memoryview) -> int:
        if not self._pieces:
            return 0
        piece = self._pieces.pop(0)
        count = min(len(room), len(piece))
        room[:count] = piece[:count]
        if count < len(piece):
            self._pieces.insert(0, piece[count:])
        return count


def groups(numbers: np.random.Generator, count: int) -> Iterator[tuple[int, int]]:
    """Yield the begin and end of some rows at a time, of all in turn."""
    begin = 0
    while begin < count:
        end = min(count, begin + int(numbers.integers(1, 9)))
        yield begin, end
        begin = end


def _of_row(rows: FramedRows, row: int) -> FramedRows:
    return FramedRows(rows.data, rows.starts[row : row + 1], rows.lengths[row : row + 1], 1)


def _shown(row: FramedRows, columns: Sequence[PostgresColumn]) -> Any:
    """Return the values of one row, or the error of one of them."""
    try:
        return tuple(_values(column)[0] for column in binary_columns(row, columns, "public.t"))
    except SourceError as error:
        return str(error)


def _values(column: pa.Array[Any]) -> list[Any]:
    """Return the values of a column, whose texts need not be UTF-8."""
    is_text = pa.types.is_string(column.type)
    shown: Any = column.view(pa.binary() if is_text else as_bits(column.type))
    if pa.types.is_decimal(column.type):  # may have more digits than the server would send
        shown = column.view(pa.binary(16))
    shown.validate(full=True)
    found: list[Any] = shown.to_pylist()
    return found


def guarded(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy behind which nothing is."""
    flat: ByteArray = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return guarded_copy(flat).view(array.dtype).reshape(array.shape)


def _columns(rng: random.Random) -> list[PostgresColumn]:
    """Return one to three columns."""
    columns = []
    for at in range(rng.randrange(1, 4)):
        digits = rng.randrange(1, 39)
        is_number = rng.random() < 0.25
        oid = _NUMERIC if is_number else rng.choice(_NATIVE)
        modifier = (digits << 16 | rng.randrange(digits + 1)) + 4 if is_number else -1
        columns.append(column_of(TableColumn(at, f"c{at}", oid, "b", modifier, "a type", True, "")))
    return columns


def binary_value(rng: random.Random, column: PostgresColumn) -> bytes | None:
    """Return a value of a column as the server sends it; now and then none."""
    if rng.random() < 0.1:
        return None
    return _WRITERS.get(column.kind, _text)(rng)


def _text(rng: random.Random) -> bytes:
    return "".join(rng.choices("ab\0é€🙂", k=rng.choice([0, 1, 5, 31, 32, 33, 90]))).encode()


def _numeric(rng: random.Random) -> bytes:
    groups = [rng.randrange(10_000) for _ in range(rng.randrange(6))]
    head = (len(groups), rng.randrange(-3, 10), rng.choice([0, 0, 0x4000, 0xC000]), rng.randrange(20))
    return struct.pack(f">hhHh{len(groups)}h", *head, *groups)


_WRITERS: Final[dict[int, Callable[[random.Random], bytes]]] = {
    L.BOOL: lambda rng: bytes([rng.randrange(2)]),
    L.INT16: lambda rng: rng.randbytes(2),
    L.INT32: lambda rng: rng.randbytes(4),
    L.INT64: lambda rng: rng.randbytes(8),
    L.OID: lambda rng: rng.randbytes(4),
    L.DATE: lambda rng: struct.pack(">i", rng.randrange(-800_000, 3_000_000)),
    L.TIMESTAMP: lambda rng: struct.pack(">q", rng.randrange(-(1 << 56), 1 << 58)),
    L.DECIMAL: _numeric,
    L.UUID: lambda rng: rng.randbytes(16),
    L.JSONB: lambda rng: b"\1" + _text(rng),
}


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack(">i", len(content) + 4) + content


def _sized(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


CHECKERS: Final[dict[str, Callable[[random.Random, np.random.Generator], BlockChecker]]] = {
    "postgres-copy": CopyChecker,
    "postgres-values": BinaryValuesChecker,
}
