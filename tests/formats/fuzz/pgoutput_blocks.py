"""PostgreSQL's stream of changes: messages of pgoutput, and values in text."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.postgres.split import LogTable
from headwater.readers.formats.format import Spans
from headwater.readers.formats.text import TextValueFormat
from headwater.readers.kernels.arrays import ByteArray, Int32Array, Int64Array
from headwater.readers.postgres import wal_layout as L
from headwater.readers.postgres.text_values import MisfitTextError, text_column
from headwater.readers.postgres.wal_changes import ChangeFramer, Changes, Tuples
from headwater.readers.postgres.wal_chunk import WalChunk, WalProgress
from tests.formats.fuzz.blocks import BEHIND, BlockChecker
from tests.formats.fuzz.columns import as_bits
from tests.formats.fuzz.copy_blocks import groups, guarded
from tests.formats.fuzz.guarded import guarded_copy
from tests.formats.fuzz.subject import Subject
from tests.formats.json_texts import NUMBERS, TIMES
from tests.readers.postgres.wal_messages import COMMIT, TABLE, begin, change, relation, row_of, sent

_GOOD_VALUES: Final = 300
_OTHER_TABLE: Final = 7
_STOP: Final = 1_000
_MESSAGES: Final = 3
"""Of a stream: behind the first broken one nothing is read."""
_NAMES: Final = ("id", "s", "x", "y")
_TYPES: Final = (
    *(pa.bool_(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.date32()),
    *(pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.string(), pa.binary()),
    *(pa.decimal128(38, 0), pa.decimal128(12, 2), pa.decimal128(5, 5)),
)
_TEXTS: Final = (
    *(text.encode() for text in (*NUMBERS, *TIMES)),
    *(b"t", b"f", b"NaN", b"Infinity", b"-Infinity", b"infinity", b"\\x00ff1a", b"\\x", b""),
    *(b"2024-05-01", b"2024-05-01 10:11:12.123456", b"2024-05-01 10:11:12+00", b"0044-03-15 BC"),
    *(b"10000-01-01", b"9" * 40, b"-170141183460469231731687303715884105728", b"1" * 400, b"1.5e-320"),
    *("grüße €🙂".encode(), b"x" * 70),
)
_TOKENS: Final = (
    *_TEXTS,
    *(struct.pack(">I", number) for number in (TABLE, _OTHER_TABLE, 0, 3, 200, (1 << 31) - 1, 1 << 31)),
    *(struct.pack(">H", count) for count in (0, 1, 2, 3, 4, 1 << 15, (1 << 16) - 1)),
    *(bytes([each]) for each in b"wBCIUDTROKNntu"),
)


class ChangesChecker(BlockChecker):
    """Makes rows of messages, some at a time, behind the begin of a transaction and the forms of tables."""

    def make_subject(self) -> Subject:
        rng = self.rng
        self._tables = [LogTable(TABLE, ("id",))]
        # Rows that have the columns of their table can be of several.
        self._columns = rng.choice([None, ["id", "s"], ["x", "id", "gone"], []])
        self._options = {"keeps_old": rng.random() < 0.5, "preimages": rng.random() < 0.5}
        if self._columns is None:
            self._tables.append(LogTable(_OTHER_TABLE))
        else:
            self._options["keeps_others"] = rng.random() < 0.5
        self._identity = rng.choice("dfn")
        self._head = [
            begin(10),
            self._relation(TABLE, _NAMES[:3]),
            self._relation(_OTHER_TABLE, _NAMES[:3]),
        ]
        good = [self._message() for _ in range(_GOOD_VALUES)]
        return Subject(TextValueFormat(), good, _TOKENS)

    def found(self, values: Spans) -> Any:
        messages = [values.value(row) or b"" for row in range(len(values.sizes))]
        return [self._made([*self._head, *some]) for some in _parts(messages)]

    def _made(self, messages: Sequence[bytes]) -> Any:
        """Return the changes of messages, which come in pieces; or why one of them is broken."""
        found: list[Any] = []
        progress = WalProgress(0, _STOP)
        framer = ChangeFramer(
            0, _STOP, self._tables, columns=self._columns, check=lambda _: None, **self._options
        )
        try:
            for at, end in pairwise(self.cuts(len(messages))):
                chunk = WalChunk.of(messages[at:end], 1 << 33)
                count = progress.add(chunk)
                for changes in framer.changes(chunk.up_to(count)):
                    found += [self._shown(changes, row, framer) for row in range(len(changes))]
                if count < end - at:
                    break
        except CorruptRecordError as error:
            return str(error)
        return found, progress.lsn, progress.changes, progress.is_open

    def _shown(self, changes: Changes, row: int, framer: ChangeFramer) -> Any:
        form = framer.forms[changes.forms[row]] if changes.kinds[row] != L.OP_TRUNCATE else None
        if self._columns is not None:
            names = [*self._columns, *changes.others]
        else:
            names = [each.name for each in form.columns] if form is not None else []
        old = changes.old if changes.has_old[row] else None
        numbers = (changes.kinds, changes.lsns, changes.sequences, changes.xids, changes.times)
        return (
            [int(each[row]) for each in numbers],
            _of_row(changes.rows, row, names),
            (None if old is None else _of_row(old, row, names)),
        )

    def _relation(self, table: int, names: tuple[str, ...]) -> bytes:
        return relation(*names, identity=self._identity, table=table)

    def _message(self) -> bytes:
        rng = self.rng
        table = rng.choice([TABLE, TABLE, _OTHER_TABLE])
        old, new = self._row(rng.choice([None, "1", "2"])), self._row(rng.choice([..., "1", "2"]))
        return rng.choice(
            [
                change(b"I", (b"N", new), table=table),
                change(b"U", (b"N", new), table=table),
                change(b"U", (rng.choice([b"O", b"K"]), old), (b"N", new), table=table),
                change(b"D", (rng.choice([b"O", b"K"]), old), table=table),
                sent(b"T" + struct.pack(">IBII", 2, 0, _OTHER_TABLE, TABLE)),
                sent(b"T" + struct.pack(">IB", 40, 0) + struct.pack(">I", TABLE) * 40),
                rng.choice([begin(20), begin(2_000), COMMIT, sent(b"M" + bytes(20))]),
                self._relation(table, tuple(rng.sample(_NAMES, rng.choice([1, 3, 3, 4])))),
            ]
        )

    def _row(self, key: Any) -> bytes:
        return row_of(key, *(self.rng.choice([None, "text", "", "x" * 40, ...]) for _ in range(2)))


class TextValuesChecker(BlockChecker):
    """Makes columns of values in text, of some rows at a time."""

    def make_subject(self) -> Subject:
        self._type = self.rng.choice(_TYPES)
        return Subject(TextValueFormat(), [self.rng.choice(_TEXTS) for _ in range(_GOOD_VALUES)], _TEXTS)

    def found(self, values: Spans) -> Any:
        data = guarded_copy(values.data[: values.data.size - BEHIND])
        found = []
        for at, end in groups(self.numbers, len(values.sizes)):
            starts = guarded(values.starts[at:end])
            lengths = guarded(values.sizes[at:end].astype(np.int32))
            try:
                found += self._values(data, starts, lengths)
            except MisfitTextError:
                for row in range(end - at):
                    found.append(self._alone(data, starts[row : row + 1], lengths[row : row + 1]))
        return found

    def _values(self, data: ByteArray, starts: Int64Array, lengths: Int32Array) -> list[Any]:
        column: Any = text_column(self._type, data, starts, lengths)
        is_text = pa.types.is_string(self._type)  # which need not be UTF-8
        shown: Any = column.view(pa.binary() if is_text else as_bits(self._type))
        shown.validate(full=True)
        found: list[Any] = shown.to_pylist()
        return found

    def _alone(self, data: ByteArray, start: Int64Array, length: Int32Array) -> Any:
        """Return one value, or what is said of it."""
        try:
            return self._values(data, start, length)[0]
        except MisfitTextError as error:
            return str(error)


def _parts(messages: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (messages[at : at + _MESSAGES] for at in range(0, len(messages), _MESSAGES))


def _of_row(tuples: Tuples, row: int, names: Sequence[str]) -> dict[str, Any]:
    """Return the values of a row that are not NULL: a number for one that was not sent."""
    found: dict[str, Any] = {}
    for at, name in enumerate(names):
        length = int(tuples.lengths[at, row])
        if length >= 0:
            start = int(tuples.starts[at, row])
            found[name] = tuples.data[start : start + length].tobytes()
        elif length != L.NULL:
            found[name] = length
    return found


CHECKERS: Final[dict[str, Callable[[random.Random, np.random.Generator], BlockChecker]]] = {
    "postgres-changes": ChangesChecker,
    "postgres-texts": TextValuesChecker,
}
