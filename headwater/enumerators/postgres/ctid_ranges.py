"""Tables as splits whose positions are blocks, and the enumerator of a batch read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.errors import HeadwaterError
from headwater.core.split import Split, SplitPath
from headwater.enumerators.postgres.connection import connect
from headwater.enumerators.postgres.preflight import check_readable
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.snapshot import (
    ExportedSnapshot,
    end_snapshot,
    export_snapshot,
    import_snapshot,
)
from headwater.enumerators.postgres.table import TableDescription, described
from headwater.enumerators.postgres.table_parts import TablePart, parts_of

BLOCK_BYTES: Final = 8_192
"""Of a block, unless the server was built otherwise: a size for planning."""


@dataclass(frozen=True, slots=True)
class TableSplit(Split):
    """A part of a table, read at one instant.

    Its positions are its blocks, by the first half of ``ctid``. Of a part that cannot be read in ranges they
    are 0, and 1 behind all of its rows.

    Attributes:
        table: as the catalogue has it.
        part: of it.
        snapshot: that is read.
    """

    table: TableDescription
    part: TablePart
    snapshot: ExportedSnapshot

    @property
    def path(self) -> SplitPath:
        return (self.table.full_name, self.part.name)

    @property
    def head(self) -> int:
        """The position behind all rows that the snapshot sees: none lies in a block that came later."""
        return self.part.blocks if self.part.has_ranges else 1

    @property
    def position_bytes(self) -> int:
        """About how many bytes lie between two positions."""
        return BLOCK_BYTES if self.part.has_ranges else max(1, self.part.blocks) * BLOCK_BYTES

    def rows_sql(self, start: int, stop: int) -> str:
        """Return the clause behind ``FROM`` for the rows of a range."""
        if not self.part.has_ranges:
            return self.part.sql
        return f"{self.part.sql} WHERE ctid >= '({start},0)'::tid AND ctid < '({stop},0)'::tid"


class TableEnumerator(PlannedSplitEnumerator[TableSplit, int]):
    """Exports a snapshot, and finds the parts of the tables that a batch read has.

    Args:
        context: the coordinator.
        settings: of the server.
        tables: as the user writes them.
        idle_ms: how long the snapshot is held after the last task.
        check: returns the names of the columns that are read; raises if the table does not fit the query's
            schema. On the worker thread.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[TableSplit, int],
        settings: PostgresSettings,
        tables: Sequence[str],
        *,
        idle_ms: int,
        check: Callable[[TableDescription], Sequence[str]],
    ) -> None:
        self._context = context
        self._settings = settings
        self._tables = tables
        self._named = ", ".join(tables)
        self._idle_ms = idle_ms
        self._check = check
        self._heads: dict[SplitPath, int] = {}

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: Checkpoint[TableSplit, int] | None) -> None:
        self._context.call_async(self._look, self._take, what=f"the parts of {self._named}")

    def heads(self) -> Mapping[SplitPath, int]:
        return self._heads

    def _look(self) -> Sequence[TableSplit]:
        snapshot = export_snapshot(self._settings, idle_ms=self._idle_ms)
        try:
            with connect(self._settings, application=snapshot.application) as connection:
                import_snapshot(connection, snapshot, split=self._named)
                tables = described(connection, self._tables)
                for table in tables:
                    # Also where nobody has asked for the schema, since the user has given one.
                    check_readable(connection, table, self._check(table))
                return [
                    TableSplit(table, part, snapshot)
                    for table in tables
                    for part in parts_of(connection, table)
                ]
        except HeadwaterError:
            # The next look exports another one.
            end_snapshot(snapshot)
            raise

    def _take(self, splits: Sequence[TableSplit]) -> None:
        self._context.assign_splits({split.path: (split, 0) for split in splits})
        self._heads = {split.path: split.head for split in splits}

    def close(self) -> None:
        """Nothing is open between two looks; the snapshot outlives this process."""
