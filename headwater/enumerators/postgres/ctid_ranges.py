"""A table as a split, and the enumerator of a batch read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.split import Split, SplitPath
from headwater.enumerators.postgres.connection import connect
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.table import TableDescription, describe


@dataclass(frozen=True, slots=True)
class TableSplit(Split):
    """A table. Its positions are 0, and 1 behind all of its rows.

    Attributes:
        table: as the catalogue has it.
    """

    table: TableDescription

    @property
    def path(self) -> SplitPath:
        return (self.table.full_name,)


class TableEnumerator(PlannedSplitEnumerator[TableSplit, int]):
    """Finds the one table that a batch read has.

    Args:
        context: the coordinator.
        settings: of the server.
        table: as the user writes it.
        check: raises if the rows of the table cannot be what the query plans with.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[TableSplit, int],
        settings: PostgresSettings,
        table: str,
        check: Callable[[TableDescription], object],
    ) -> None:
        self._context = context
        self._settings = settings
        self._table = table
        self._check = check
        self._heads: dict[SplitPath, int] = {}

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: Checkpoint[TableSplit, int] | None) -> None:
        self._context.call_async(self._look, self._take, what=f"the description of table {self._table}")

    def heads(self) -> Mapping[SplitPath, int]:
        return self._heads

    def _look(self) -> TableSplit:
        with connect(self._settings) as connection:
            return TableSplit(describe(connection, self._table))

    def _take(self, split: TableSplit) -> None:
        self._check(split.table)
        self._context.assign_splits({split.path: (split, 0)})
        self._heads = {split.path: 1}

    def close(self) -> None:
        """Nothing is open between two looks."""
