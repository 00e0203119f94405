"""The source itself: tables, read by COPY."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.options import planning_hints
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.postgres.options import (
    COLUMNS,
    POSTGRES_OPTIONS,
    SNAPSHOT_IDLE_TIMEOUT,
    TABLE,
    TABLES,
    TEXT_COLUMNS,
    PostgresPlanningHints,
    named_tables,
)
from headwater.connector.sources.postgres.stream_configuration import configure_stream, is_stream
from headwater.connector.sources.source_options import RETRY_DEADLINE
from headwater.core.clock import SystemClock
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.errors import OffsetError, OptionError
from headwater.core.imports import importing, require
from headwater.core.jsons import JsonValue
from headwater.core.planned_source import PlannedSource
from headwater.core.retry import Backoff, retrying
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath
from headwater.enumerators.postgres.connection import connect
from headwater.enumerators.postgres.ctid_ranges import TableEnumerator, TableSplit
from headwater.enumerators.postgres.preflight import check_readable
from headwater.enumerators.postgres.publication import ALL
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings
from headwater.enumerators.postgres.table import TableDescription, described

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.postgres.copy_reader import CopyReader
    from headwater.readers.postgres.types import PostgresColumn

_NEEDED_FOR: Final = "the postgres source"


@dataclass(frozen=True, kw_only=True)
class PostgresTableSource(PlannedSource[Any, TableSplit, int]):
    """The parts of a table as splits, rows of COPY as records.

    Attributes:
        settings: of the server.
        tables: as the user writes them: one.
        columns: which columns, in this order; None for all.
        text_columns: those that are read as the server's text.
        snapshot_idle_ms: how long the snapshot is held after the last task.
        backoff: how long a server that is away is asked.
        planned: the schema that Spark plans with; None until it is known.
    """

    name: ClassVar[str] = SOURCE

    settings: PostgresSettings
    tables: tuple[str, ...]
    columns: tuple[str, ...] | None
    text_columns: tuple[str, ...]
    snapshot_idle_ms: int
    backoff: Backoff
    planned: pa.Schema | None = None

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def reads(self) -> str:
        return ", ".join(self.tables)

    def schema(self) -> pa.Schema:
        """Return the schema that Spark plans with; before it is known, that of the table: asks the server."""
        if self.planned is not None:
            return self.planned
        from headwater.readers.postgres.types import schema_of

        (table,) = self._described()
        return schema_of(self._chosen(table, self.columns))

    def _described(self) -> Sequence[TableDescription]:
        """Return the tables as the server has them, which can be read."""

        def look() -> Sequence[TableDescription]:
            with connect(self.settings) as connection:
                tables = described(connection, self.tables)
                for table in tables:
                    chosen = self._chosen(table, self.columns)
                    check_readable(connection, table, [each.name for each in chosen])
                return tables

        return retrying(
            look,
            backoff=self.backoff.of_first_answer(),
            clock=SystemClock(),
            cancelled=Event(),
            what=f"the description of {self.reads}",
        )

    def with_schema(self, schema: pa.Schema, *, given: bool) -> Self:
        return replace(self, planned=schema)

    def planned_columns(self, table: TableDescription) -> Sequence[PostgresColumn]:
        """Return how the columns of the planned schema are read. No I/O.

        Raises:
            OptionError: the table has not a column of this name and type.
        """
        assert self.planned is not None, "Spark plans with a schema"
        columns = self._chosen(table, self.planned.names)
        for column, field in zip(columns, self.planned, strict=True):
            if not column.arrow_type.equals(field.type):
                raise OptionError(
                    f"the query plans with column {field.name!r} as {field.type}; in {table.full_name} it is "
                    f"{column.type_name}, which is read as {column.arrow_type}: load() it again, without "
                    ".schema(...), and cast"
                )
        return columns

    def _chosen(self, table: TableDescription, names: Sequence[str] | None) -> Sequence[PostgresColumn]:
        """Return columns of a table by their names.

        Raises:
            OptionError: there is no such column.
        """
        from headwater.readers.postgres.types import column_of

        as_text = {self._found(table, name, TEXT_COLUMNS.name) for name in self.text_columns}
        chosen = [each.name for each in table.columns] if names is None else names
        columns = [self._found(table, name, COLUMNS.name) for name in chosen]
        return [column_of(each, as_text=each in as_text) for each in columns]

    def _found(self, table: TableDescription, name: str, option: str) -> Any:
        column = table.column(name)
        if column is None:
            there = ", ".join(each.name for each in table.columns)
            raise OptionError(
                f"{name!r} is not a column of table {table.full_name}; there are {there}", option=option
            )
        return column

    def create_enumerator(
        self, context: PlannedSplitEnumeratorContext[TableSplit, int]
    ) -> PlannedSplitEnumerator[TableSplit, int]:
        return TableEnumerator(
            context,
            self.settings,
            self.tables,
            idle_ms=self.snapshot_idle_ms,
            check=lambda table: [each.name for each in self.planned_columns(table)],
        )

    def restore_enumerator(
        self,
        context: PlannedSplitEnumeratorContext[TableSplit, int],
        checkpoint: Checkpoint[TableSplit, int],
    ) -> PlannedSplitEnumerator[TableSplit, int]:
        """A batch read has no checkpoint."""
        return self.create_enumerator(context)

    def create_reader(self) -> CopyReader:
        with importing(_NEEDED_FOR, extra="postgres"):
            from headwater.readers.postgres.copy_reader import CopyReader
        return CopyReader(self.settings, self.planned_columns, self.backoff)

    def create_emitter(self) -> RecordEmitter[Any, TableSplit, int]:
        with importing(_NEEDED_FOR, extra="postgres"):
            from headwater.readers.postgres.copy_emitter import CopyEmitter
        return CopyEmitter(self.schema())

    def serialize_splits(self, splits: Iterable[TableSplit]) -> JsonValue:
        return {split.part.name: split.part.oid for split in splits}

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, TableSplit]:
        """A batch read logs nothing that could be read again."""
        raise OffsetError("tables are read in one batch, by spark.read: there is no offset to go on from")

    def row_bytes(self, split: TableSplit, state: JsonValue) -> int:
        return split.position_bytes

    def rows_between(self, start: int, stop: int) -> int:
        return max(0, stop - start)

    def position_after(self, start: int, rows: int, stop: int) -> int:
        return min(start + rows, stop)


class PostgresTablesSource(PostgresTableSource):
    """The parts of several tables: rows have the same columns whatever the tables are like."""

    def schema(self) -> pa.Schema:
        """Return the schema of all rows. Asks the server whether the tables can be read."""
        from headwater.readers.postgres.json_rows import SCHEMA

        if self.planned is None:
            self._described()
        return SCHEMA

    def with_schema(self, schema: pa.Schema, *, given: bool) -> Self:
        from headwater.readers.postgres.json_rows import check_schema

        check_schema(schema)
        return super().with_schema(schema, given=given)

    def planned_columns(self, table: TableDescription) -> Sequence[PostgresColumn]:
        from headwater.readers.postgres.json_rows import columns_as_texts

        return columns_as_texts(table.columns)

    def create_emitter(self) -> RecordEmitter[Any, TableSplit, int]:
        with importing(_NEEDED_FOR, extra="postgres"):
            from headwater.readers.postgres.json_emitter import JsonCopyEmitter
            from headwater.readers.postgres.json_rows import JsonRows
        return JsonCopyEmitter(JsonRows())


def configure_postgres(
    options: Mapping[str, str], boundedness: Boundedness | None
) -> ConfiguredPlannedSource:
    """Make the PostgreSQL source from the user's options. Opens nothing.

    Raises:
        OptionError: an option is unknown, malformed or missing, or a stream is asked for.
        MissingDependencyError: psycopg is not installed.
    """
    require("psycopg", needed_for=_NEEDED_FOR, extra="postgres")
    parsed = POSTGRES_OPTIONS.parse(options, boundedness)
    if is_stream(parsed, boundedness):
        return configure_stream(parsed)
    tables = named_tables(parsed)
    if tables == (ALL,):
        raise OptionError("=* is for a stream, which has a publication: name the tables", option=TABLES.name)
    backoff = Backoff(deadline_ms=parsed[RETRY_DEADLINE])
    make = PostgresTableSource if tables is None else PostgresTablesSource
    source = make(
        settings=parsed.of(PostgresSettings),
        tables=tables or (parsed.require(TABLE),),
        columns=parsed[COLUMNS],
        text_columns=parsed[TEXT_COLUMNS],
        snapshot_idle_ms=parsed[SNAPSHOT_IDLE_TIMEOUT],
        backoff=backoff,
    )
    return ConfiguredPlannedSource(
        source=source,
        limits=ReadLimits(),
        hints=planning_hints(parsed, PostgresPlanningHints),
        backoff=backoff,
    )
