"""The source of a stream: changes from a replication slot."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from headwater.core.clock import SystemClock
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.errors import OptionError
from headwater.core.imports import importing
from headwater.core.jsons import JsonValue
from headwater.core.planned_source import PlannedSource
from headwater.core.retry import Backoff, retrying
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.postgres.connection import connect
from headwater.enumerators.postgres.enumerator import WalEnumerator
from headwater.enumerators.postgres.publication import PublishedTable, published, table_names
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings
from headwater.enumerators.postgres.split import WalSplit
from headwater.enumerators.postgres.staged_log import StagedLog
from headwater.enumerators.postgres.stream_settings import ChangeColumns, Reaction, StreamSettings
from headwater.enumerators.postgres.table import TableDescription, describe, described

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.postgres.change_rows import ChangeRows, ChangeRule
    from headwater.readers.postgres.types import PostgresColumn
    from headwater.readers.postgres.wal_reader import WalReader


@dataclass(frozen=True, kw_only=True)
class PostgresStreamSource(PlannedSource[Any, WalSplit, int]):
    """The log of a database as a split, LSNs as positions, changes of one table as rows.

    Attributes:
        settings: of the server.
        stream: which changes, and the form of rows.
        tables: as the user writes them: one, or several as `PostgresTablesStream` has them.
        columns: which columns of the table, in this order; None for all that are published.
        text_columns: those that are read as the server's text.
        backoff: how long a server that is away, or a slot that is in use, is asked again.
        planned: the schema that Spark plans with; None until it is known.
    """

    name: ClassVar[str] = SOURCE

    settings: PostgresSettings
    stream: StreamSettings
    tables: tuple[str, ...]
    columns: tuple[str, ...] | None
    text_columns: tuple[str, ...]
    backoff: Backoff
    planned: pa.Schema | None = None

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def reads(self) -> str:
        return ", ".join(self.tables)

    @property
    def time_column(self) -> str | None:
        return "_commit_timestamp" if self.stream.change_columns is ChangeColumns.SPARK else "_commit_ts"

    def counts_bytes(self, split: WalSplit) -> bool:
        return True

    def schema(self) -> pa.Schema:
        """Return the schema that Spark plans with; before it is known, that of the table: asks the server."""
        if self.planned is not None:
            return self.planned
        ((table, in_publication),) = self._looked()
        return self._rows(self._chosen(table, in_publication)).schema

    def _looked(self) -> list[tuple[TableDescription, PublishedTable]]:
        """Return the tables, and their part of the publication; make sure that there is nothing in the way.

        Raises:
            SourceError: it names everything that is.
        """

        def look() -> list[tuple[TableDescription, PublishedTable]]:
            with connect(self.settings) as connection:
                names = table_names(connection, self.tables, self.stream.publication)
                tables = described(connection, names)
                return list(zip(tables, published(connection, tables, self.stream), strict=True))

        return retrying(
            look,
            backoff=self.backoff.of_first_answer(),
            clock=SystemClock(),
            cancelled=Event(),
            what=f"the description of {self.reads}",
        )

    def with_schema(self, schema: pa.Schema, *, given: bool) -> Self:
        return replace(self, planned=schema)

    def check_table(self, table: TableDescription, in_publication: PublishedTable) -> None:
        """Make sure that rows of the table are those that Spark plans with.

        Raises:
            OptionError: the user's columns are not those of the table, or a schema was given that differs.
        """
        assert self.planned is not None, "Spark plans with a schema"
        chosen = self._chosen(table, in_publication)
        if self._may_change:
            # Columns that came since then are left out or rescued, as the user wants it.
            chosen = [each for each in chosen if each.name in self.planned.names]
        schema = self._rows(chosen).schema
        fitting = self.planned.equals(schema)
        if self._may_change:
            # Some may be lost since then: those that are planned have their order.
            fitting = all(field in self.planned for field in schema) and self.planned.equals(
                self._rows(self._planned_columns()).schema
            )
        if not fitting:
            differing = [field for field in schema if field not in self.planned] or list(self.planned)
            raise OptionError(
                f"table {table.full_name} is read with the columns {', '.join(map(str, differing))}, and the "
                "query plans with others: load() it again, without .schema(...), and cast"
            )

    def create_enumerator(
        self, context: PlannedSplitEnumeratorContext[WalSplit, int]
    ) -> PlannedSplitEnumerator[WalSplit, int]:
        return self._log_enumerator(context)

    def _log_enumerator(
        self,
        context: PlannedSplitEnumeratorContext[Any, int],
        log: StagedLog | None = None,
        *,
        reads_rows: bool = False,
    ) -> WalEnumerator:
        return WalEnumerator(
            context,
            self.settings,
            self.stream,
            self.tables,
            log,
            reads_rows=reads_rows,
            check=self.check_table,
            backoff=self.backoff,
        )

    def restore_enumerator(
        self, context: PlannedSplitEnumeratorContext[WalSplit, int], checkpoint: Checkpoint[WalSplit, int]
    ) -> PlannedSplitEnumerator[WalSplit, int]:
        return self.create_enumerator(context)

    def create_reader(self) -> WalReader:
        with importing("the postgres source", extra="postgres"):
            from headwater.readers.postgres.wal_reader import WalReader
        return WalReader(self.settings, self.stream.publication, self.backoff, resyncs=self.stream.resyncs)

    def _log_emitter(self) -> RecordEmitter[Any, WalSplit, int]:
        with importing("the postgres source", extra="postgres"):
            from headwater.readers.postgres.table_form import TableForm
            from headwater.readers.postgres.wal_emitter import WalEmitter
        columns = self._planned_columns()
        form = TableForm(
            {column.name: column.arrow_type for column in columns},
            as_text=self.text_columns,
            selected=self.columns,
            reaction=self.stream.on_schema_change,
            describe=self._described,
        )
        return WalEmitter(self._rows(columns), self.tables[0], form.check, self._rules_of)

    @abstractmethod
    def _rules_of(self, split: WalSplit) -> Mapping[int, ChangeRule]:
        """Return the rules that leave changes of the log out, by the oids of tables. In a task."""

    def serialize_splits(self, splits: Iterable[WalSplit]) -> JsonValue:
        return {"-".join(split.path): split.to_json() for split in splits}

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, WalSplit]:
        written = cast("Mapping[str, Any]", definitions or {})
        return {path: WalSplit.from_json(written.get("-".join(path))) for path in paths}

    def rows_between(self, start: int, stop: int) -> int:
        """Count bytes of the log."""
        return max(0, stop - start)

    def position_after(self, start: int, rows: int, stop: int) -> int:
        return min(start + rows, stop)

    def row_bytes(self, split: WalSplit, state: JsonValue) -> int:
        return 1

    def cut(self, whole: SplitRange[WalSplit, int], pieces: int) -> Sequence[SplitRange[WalSplit, int]]:
        """A slot has one reader at a time."""
        return [whole]

    def _rows(self, columns: Sequence[PostgresColumn]) -> ChangeRows:
        from headwater.readers.postgres.change_rows import ChangeRows

        return ChangeRows(
            tuple(columns),
            self.stream.change_columns,
            self.stream.includes_before,
            self.stream.on_truncate,
            self.stream.on_toast,
            self._rescues,
        )

    @property
    def _rescues(self) -> bool:
        return self.stream.on_schema_change is Reaction.RESCUE

    @property
    def _may_change(self) -> bool:
        """Whether the table may have other columns than the query: some more, and some that are lost."""
        return self.stream.on_schema_change is not Reaction.FAIL and self.columns is None

    def _planned_columns(self) -> list[PostgresColumn]:
        """Return the columns of the table in the schema that Spark plans with."""
        from headwater.readers.postgres import layout
        from headwater.readers.postgres.change_rows import META
        from headwater.readers.postgres.types import PostgresColumn

        fields = list(self.schema())[len(META) :]
        behind = self.stream.includes_before + self._rescues
        if behind:
            del fields[-behind:]
        return [PostgresColumn(each.name, each.type, layout.TEXT, True, str(each.type)) for each in fields]

    def _described(self) -> TableDescription:
        with connect(self.settings) as connection:
            return describe(connection, self.tables[0])

    def _chosen(self, table: TableDescription, in_publication: PublishedTable) -> list[PostgresColumn]:
        """Return the columns of rows.

        Raises:
            OptionError: there is no such column, or it is not published, or the key is left out.
        """
        from headwater.readers.postgres.types import column_of

        as_text = self._as_text(table)
        names = in_publication.columns
        if self.columns is not None:
            names = tuple(self._found(table, name, "columns") for name in self.columns)
            unpublished = [name for name in names if name not in in_publication.columns]
            if unpublished:
                raise OptionError(
                    f"{', '.join(unpublished)} of table {table.full_name} is not in publication "
                    f"{self.stream.publication!r}: its list leaves it out, or it is generated",
                    option="columns",
                )
            unnamed = [name for name in in_publication.identity or table.key if name not in names]
            if unnamed:
                raise OptionError(
                    f"leaves out {', '.join(unnamed)}, by which a change names its row", option="columns"
                )
        by_name = {column.name: column for column in table.columns}
        return [column_of(by_name[name], as_text=name in as_text) for name in names]

    def _as_text(self, table: TableDescription) -> set[str]:
        """Return the columns of a table that are read as text, as far as the table still has them."""
        planned = self.planned.names if self._may_change and self.planned is not None else []
        lost = {name.lower() for name in planned} - {each.name.lower() for each in table.columns}
        names = [name for name in self.text_columns if name.lower() not in lost]
        return {self._found(table, name, "textColumns") for name in names}

    def _found(self, table: TableDescription, name: str, option: str) -> str:
        column = table.column(name)
        if column is None:
            there = ", ".join(each.name for each in table.columns)
            raise OptionError(
                f"{name!r} is not a column of table {table.full_name}; there are {there}", option=option
            )
        return column.name
