"""Messages of the log, and rows of COPY, to rows of several tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.enumerators.postgres.ctid_ranges import TableSplit
from headwater.enumerators.postgres.split import WalSplit
from headwater.readers.postgres.change_rows import ChangeRule
from headwater.readers.postgres.copy_emitter import CopiedRows
from headwater.readers.postgres.json_rows import JsonRows
from headwater.readers.postgres.wal_changes import ChangeFramer
from headwater.readers.postgres.wal_chunk import WalChunk

if TYPE_CHECKING:
    import pyarrow as pa


class JsonEmitter(RecordEmitter[WalChunk, WalSplit, int]):
    """Makes rows of the changes of a split's tables. A batch has rows of one chunk.

    A table may change: each row has the columns of its time. The position is the last row's transaction:
    inside of one it stays.

    Args:
        rows: their form.
        rules_of: returns the rules that leave changes of a split out, by the oids of tables.
    """

    def __init__(self, rows: JsonRows, rules_of: Callable[[WalSplit], Mapping[int, ChangeRule]]) -> None:
        self._rows = rows
        self._rules_of = rules_of
        self._rules: Mapping[int, ChangeRule] = {}
        self._state: SplitState[WalSplit, int] | None = None
        self._framer: ChangeFramer | None = None

    def emit(self, record: WalChunk, state: SplitState[WalSplit, int]) -> Iterator[pa.RecordBatch]:
        if self._framer is None or self._state is not state:
            self._state = state
            self._rules = self._rules_of(state.split)
            self._framer = ChangeFramer(
                state.position,
                state.stop,
                state.split.tables,
                columns=None,
                check=lambda _: None,
                keeps_old=True,
            )
        for changes in self._framer.changes(record):
            batch = self._rows.batch(changes, state.split, self._framer.forms, self._rules)
            state.position = int(changes.lsns[-1])
            if batch.num_rows:
                yield batch


class JsonCopyEmitter(RecordEmitter[CopiedRows, TableSplit, int]):
    """Makes rows of those that a batch read finds.

    Args:
        rows: their form.
    """

    def __init__(self, rows: JsonRows) -> None:
        self._rows = rows

    def emit(self, record: CopiedRows, state: SplitState[TableSplit, int]) -> Iterator[pa.RecordBatch]:
        yield self._rows.read(record, None, 0)
