"""Changes of tables: made of the messages of pgoutput, each with where its values lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.postgres.split import LogTable
from headwater.readers.kernels.arrays import ByteArray, Int32Array, Int64Array, address
from headwater.readers.postgres import wal_layout as L
from headwater.readers.postgres.relation import MOST_COLUMNS, Relation, parse_relation
from headwater.readers.postgres.wal_chunk import KERNEL, WalChunk

_MOST_ROWS: Final = 65_536
_MOST_VALUES: Final = 4 << 20
"""Of rows that are made in one go, for the memory of wide tables."""


@dataclass(frozen=True, slots=True)
class Tuples:
    """Where the values of rows lie, column by column.

    Attributes:
        data: the bytes.
        starts: for each column and row, where its value begins.
        lengths: how many bytes it has; `L.NULL` or `L.UNCHANGED` for none.
    """

    data: ByteArray
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Changes:
    """Some changes in the order of the log. Arrays have an entry for each; valid as long as their chunk.

    Attributes:
        kinds: `L.OP_INSERT` and its like.
        lsns: where the commit record of the transaction begins.
        sequences: the place in the transaction.
        xids: of the transaction, 64 bits.
        times: of the commit, in microseconds since 1970.
        rows: the values.
        has_old: whether ``old`` has a row.
        old: the values before; None where they were not asked for.
        has_unchanged: whether any value is `L.UNCHANGED`.
        forms: which of `ChangeFramer.forms` the values of each row have.
        others: the names of columns that nobody asked for by name: the last ones of ``rows`` and ``old``.
    """

    kinds: ByteArray
    lsns: Int64Array
    sequences: Int32Array
    xids: Int64Array
    times: Int64Array
    rows: Tuples
    has_old: ByteArray
    old: Tuples | None
    has_unchanged: bool
    forms: Int32Array
    others: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.kinds)


class ChangeFramer:
    """Makes changes of messages. Keeps the tables' forms and the open transaction from chunk to chunk.

    One range, one thread.

    Args:
        start: transactions before it are passed over.
        stop: transactions from there on, too.
        tables: whose changes are wanted.
        columns: the names of their columns, as the rows are to have them; None: each row has the columns that
            its table has then.
        check: called with each form of the table, before the first row that has it.
        keeps_old: whether the values before are asked for.
        preimages: whether an update whose old row is known makes two changes.
        keeps_others: whether columns of the table that ``columns`` does not name are kept, behind those. For
            one table.
    """

    def __init__(
        self,
        start: int,
        stop: int,
        tables: Sequence[LogTable],
        *,
        columns: Sequence[str] | None,
        check: Callable[[Relation], None],
        keeps_old: bool = False,
        preimages: bool = False,
        keeps_others: bool = False,
    ) -> None:
        self._columns = None if columns is None else {name: at for at, name in enumerate(columns)}
        self._asked = 0 if columns is None else len(columns)
        self._keeps_others = keeps_others
        self._others: tuple[str, ...] = ()
        self._width = 0 if columns is None else len(columns)
        self._check = check
        self._tables = {table.oid: (at, frozenset(table.key)) for at, table in enumerate(tables)}
        self._keeps_old = keeps_old
        self.forms: list[Relation] = []
        """Those of the tables so far."""
        state = np.zeros(L.FRAME_FIELDS, np.int64)
        state[L.START_LSN] = start
        state[L.STOP_LSN] = stop
        state[L.TABLE] = -1
        state[L.TABLES] = len(tables)
        state[L.PREIMAGES] = preimages
        self._state = state
        has_others = columns is None or keeps_others
        self._most_width = max(1, self._asked + (MOST_COLUMNS if has_others else 0))
        self._old_tuple = np.zeros(2 * self._most_width, np.int64)
        self._entries = np.array([[table.oid, 0, -1, 0, -1] for table in tables], np.int64)
        self._places: dict[int, tuple[Int64Array, Int64Array]] = {}
        state[L.FORMS] = address(self._entries.reshape(-1))
        self._unused: dict[int, Relation] = {}
        state[L.OLD_TUPLE] = address(self._old_tuple)

    @property
    def lsn(self) -> int:
        """The commit record of the last transaction."""
        return int(self._state[L.FINAL_LSN])

    @property
    def has_ended(self) -> bool:
        """Whether that transaction is over."""
        return bool(self._state[L.HAS_ENDED])

    def changes(self, chunk: WalChunk) -> Iterator[Changes]:
        """Yield the changes of a chunk that are in the range.

        Raises:
            CorruptRecordError: a message is none that pgoutput sends.
        """
        state = self._state
        state[L.DATA] = address(chunk.data) if chunk.data.size else 0
        state[L.ENDS] = address(chunk.ends) if chunk.ends.size else 0
        state[L.COUNT] = len(chunk.ends)
        state[L.AT] = 0
        while True:
            most = min(_MOST_ROWS, _MOST_VALUES // max(1, self._width))
            room = len(self._tables) + min(most, 2 * (len(chunk.ends) - int(state[L.AT]))) + 1
            memory = self._memory(room)
            result = self._frame(chunk)
            if state[L.ROW]:
                yield self._taken(chunk, memory)
            if result in {L.END_OF_ROOM, L.RELATION}:
                continue
            if result in {L.END_OF_MESSAGES, L.END_OF_RANGE}:
                return
            raise self._corrupt(result, chunk.message(int(state[L.AT])))

    def _frame(self, chunk: WalChunk) -> int:
        """Make rows; return why no more are made: `L.RELATION` where the next ones have more columns."""
        state = self._state
        while True:
            result = KERNEL(L.FUNCTION_FRAME, address(state))
            unused = self._unused.get(int(state[L.TABLE])) if result == L.UNKNOWN_RELATION else None
            if result != L.RELATION and unused is None:
                return result
            relation = unused or parse_relation(chunk.message(int(state[L.AT])))
            if self._makes_places(relation):
                return L.RELATION
            if unused is not None:
                self._take_form(unused)
            else:
                self._note_form(relation)
                state[L.AT] += 1

    def _makes_places(self, relation: Relation) -> bool:
        """Give each column of a form its place; return whether rows before it need to be taken first."""
        names = [column.name for column in relation.columns]
        if self._columns is None:
            if len(names) <= self._width:
                return False
            self._width = len(names)
            return True
        if not self._keeps_others or relation.oid not in self._tables or self._columns.keys() >= set(names):
            return False
        columns = list(self._columns)
        if len({*columns, *names}) > self._most_width:
            # Too many have come and gone in this range: their places are free again.
            columns = columns[: self._asked]
        self._columns = {name: at for at, name in enumerate(dict.fromkeys([*columns, *names]))}
        self._width = len(self._columns)
        return True

    def _memory(self, room: int) -> dict[str, npt.NDArray[Any]]:
        columns = max(1, self._width)
        memory: dict[str, npt.NDArray[Any]] = {
            "kinds": np.empty(room, np.uint8),
            "lsns": np.empty(room, np.int64),
            "sequences": np.empty(room, np.int32),
            "xids": np.empty(room, np.int64),
            "times": np.empty(room, np.int64),
            "starts": np.empty((columns, room), np.int64),
            "lengths": np.empty((columns, room), np.int32),
            "has_old": np.empty(room, np.uint8),
            "forms": np.empty(room, np.int32),
        }
        self._others = tuple(self._columns or ())[self._asked :]
        state = self._state
        state[L.COLUMNS] = self._width
        for name, field in _FIELDS.items():
            state[field] = address(memory[name].reshape(-1))
        state[L.OLD_STARTS] = 0
        if self._keeps_old:
            memory["old_starts"] = np.zeros((columns, room), np.int64)
            memory["old_lengths"] = np.full((columns, room), L.NULL, np.int32)
            state[L.OLD_STARTS] = address(memory["old_starts"].reshape(-1))
            state[L.OLD_LENGTHS] = address(memory["old_lengths"].reshape(-1))
        state[L.ROOM] = room
        state[L.ROW] = 0
        state[L.UNCHANGED_ROWS] = 0
        return memory

    def _taken(self, chunk: WalChunk, memory: dict[str, npt.NDArray[Any]]) -> Changes:
        count = int(self._state[L.ROW])
        old = None
        if self._keeps_old:
            old = Tuples(chunk.data, memory["old_starts"][:, :count], memory["old_lengths"][:, :count])
        return Changes(
            kinds=memory["kinds"][:count],
            lsns=memory["lsns"][:count],
            sequences=memory["sequences"][:count],
            xids=widened(memory["xids"][:count], chunk.newest_xid),
            times=memory["times"][:count],
            rows=Tuples(chunk.data, memory["starts"][:, :count], memory["lengths"][:, :count]),
            has_old=memory["has_old"][:count],
            old=old,
            has_unchanged=bool(self._state[L.UNCHANGED_ROWS]),
            forms=memory["forms"][:count],
            others=self._others,
        )

    def _note_form(self, relation: Relation) -> None:
        """Take a form, or keep it for the first row of the range: those before it are not asked for."""
        if relation.oid not in self._tables:
            return
        if self._state[L.FINAL_LSN] >= self._state[L.START_LSN]:
            self._take_form(relation)
            return
        self._unused[relation.oid] = relation
        self._entries[self._tables[relation.oid][0], 2] = -1
        self._state[L.TABLE] = -1

    def _take_form(self, relation: Relation) -> None:
        self._unused.pop(relation.oid, None)
        self._check(relation)
        at, key = self._tables[relation.oid]
        columns = relation.columns
        own = self._columns
        places = [i if own is None else own.get(each.name, -1) for i, each in enumerate(columns)]
        # Of a full identity all columns are a part: then a row goes by the key of the table.
        is_full = relation.replica_identity == "f"
        keys = np.zeros(self._most_width, np.int64)
        for column, place in zip(columns, places, strict=True):
            is_key = column.name in key if is_full else column.is_identity
            if place >= 0 and is_key:
                keys[place] = 1
        self._places[at] = np.array(places or [0], np.int64), keys
        self._entries[at, 1:] = (
            address(self._places[at][0]),
            len(columns),
            address(keys),
            len(self.forms),
        )
        self.forms.append(relation)
        self._state[L.TABLE] = -1

    def _corrupt(self, result: int, message: bytes) -> CorruptRecordError:
        what = "a change before the form of its table" if result == L.UNKNOWN_RELATION else "a message"
        return CorruptRecordError(
            f"the server sent {what} that this version does not understand: {message[:40]!r}",
            source="postgres",
            split="wal",
            position=self.lsn,
        )


_FIELDS: Final = {
    "kinds": L.KINDS,
    "lsns": L.LSNS,
    "sequences": L.SEQUENCES,
    "xids": L.XIDS,
    "times": L.TIMES,
    "starts": L.STARTS,
    "lengths": L.LENGTHS,
    "has_old": L.HAS_OLD,
    "forms": L.ROW_FORMS,
}


def widened(xids: Int64Array, newest: int) -> Int64Array:
    """Return ids of 32 bits as ids of 64 bits: each the last one that is not newer than ``newest``."""
    full = (newest & ~0xFFFFFFFF) | xids
    result: Int64Array = np.where(full > newest, full - (1 << 32), full)
    return result
