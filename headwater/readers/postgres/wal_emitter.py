"""Messages of the log to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.enumerators.postgres.split import WalSplit, several_were_read
from headwater.readers.postgres.change_rows import ChangeRows, ChangeRule
from headwater.readers.postgres.relation import Relation
from headwater.readers.postgres.wal_changes import ChangeFramer
from headwater.readers.postgres.wal_chunk import WalChunk

if TYPE_CHECKING:
    import pyarrow as pa


class WalEmitter(RecordEmitter[WalChunk, WalSplit, int]):
    """Makes rows of the changes of one table. A batch has rows of one chunk.

    The position is the last row's transaction: inside of one it stays.

    Args:
        rows: their form.
        table: its name, for errors.
        check: called with each form of the table, and the LSN from which on rows have it.
        rules_of: returns the rules that leave changes of a split out, by the oids of tables.
    """

    def __init__(
        self,
        rows: ChangeRows,
        table: str,
        check: Callable[[Relation, int], None],
        rules_of: Callable[[WalSplit], Mapping[int, ChangeRule]],
    ) -> None:
        self._rows = rows
        self._table = table
        self._check = check
        self._rules_of = rules_of
        self._state: SplitState[WalSplit, int] | None = None
        self._framer: ChangeFramer | None = None
        self._rule: ChangeRule | None = None

    def emit(self, record: WalChunk, state: SplitState[WalSplit, int]) -> Iterator[pa.RecordBatch]:
        framer = self._framer_of(state)
        for changes in framer.changes(record):
            batch = self._rows.batch(changes, state.split, self._table, self._rule)
            state.position = int(changes.lsns[-1])
            if batch.num_rows:
                yield batch

    def _framer_of(self, state: SplitState[WalSplit, int]) -> ChangeFramer:
        """Return the framer of a range, which keeps the open transaction from chunk to chunk."""
        if self._framer is None or self._state is not state:
            if len(state.split.tables) > 1:
                raise several_were_read(state.split)
            self._state = state
            self._rule = self._rules_of(state.split).get(state.split.tables[0].oid)
            self._framer = ChangeFramer(
                state.position,
                state.stop,
                state.split.tables,
                columns=[column.name for column in self._rows.columns],
                check=self._take_form,
                keeps_old=self._rows.includes_before,
                preimages=self._rows.has_preimages,
                keeps_others=self._rows.rescues,
            )
        return self._framer

    def _take_form(self, relation: Relation) -> None:
        assert self._framer is not None, "it has read the form"
        self._check(relation, self._framer.lsn)
