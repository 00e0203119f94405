"""The source of a stream of several tables: their rows and changes in one order, each as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from headwater.connector.sources.postgres.table_stream import PostgresTableStream
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import Checkpoint
from headwater.core.imports import importing
from headwater.enumerators.postgres.connection import PostgresConnection
from headwater.enumerators.postgres.publication import PublishedTable, published_columns
from headwater.enumerators.postgres.split import WalSplit
from headwater.enumerators.postgres.table import TableDescription

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.postgres.json_rows import JsonRows
    from headwater.readers.postgres.types import PostgresColumn


@dataclass(frozen=True, kw_only=True)
class PostgresTablesStream(PostgresTableStream):
    """The rows of several tables in chunks, then their changes.

    Rows have the same columns whatever the tables are like, so that nothing has to be learnt about these.
    """

    def schema(self) -> pa.Schema:
        """Return the schema of all rows. Asks the server whether the tables can be read."""
        from headwater.readers.postgres.json_rows import SCHEMA

        if self.planned is None:
            self._looked()
        return SCHEMA

    def with_schema(self, schema: pa.Schema, *, given: bool) -> Self:
        from headwater.readers.postgres.json_rows import check_schema

        check_schema(schema)
        return super().with_schema(schema, given=given)

    def check_checkpoint(self, checkpoint: Checkpoint[Any, int]) -> None:
        """Take any: rows have the same form, whatever tables there are."""

    def check_table(self, table: TableDescription, in_publication: PublishedTable) -> None:
        """Take any table: rows have JSON."""

    def _log_emitter(self) -> RecordEmitter[Any, WalSplit, int]:
        with importing("the postgres source", extra="postgres"):
            from headwater.readers.postgres.json_emitter import JsonEmitter
        return JsonEmitter(self._row_form(), self._rules_of)

    def _row_form(self) -> JsonRows:
        from headwater.readers.postgres.json_rows import JsonRows

        return JsonRows(self.stream.on_truncate, self.stream.on_toast)

    def _key_types(self) -> Mapping[str, pa.DataType] | None:
        return None

    def _native(self, table: TableDescription) -> Collection[str]:
        return {each.name for each in table.columns}

    def _chunk_columns(
        self, connection: PostgresConnection, table: TableDescription
    ) -> Sequence[PostgresColumn]:
        """Return how the rows of a chunk are read: the columns that are published then."""
        from headwater.readers.postgres.json_rows import columns_as_texts

        names = set(published_columns(connection, table, self.stream) or ())
        return columns_as_texts([each for each in table.columns if each.name in names])
