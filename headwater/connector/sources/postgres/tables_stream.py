"""The source of a stream of several tables: their changes in one order, rows as JSON."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from headwater.connector.options import ParsedOptions
from headwater.connector.sources.postgres.options import TABLES
from headwater.connector.sources.postgres.stream_source import PostgresStreamSource
from headwater.connector.sources.source_options import RETRY_DEADLINE
from headwater.core.clock import SystemClock
from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.errors import OptionError
from headwater.core.imports import importing
from headwater.core.retry import Backoff, retrying
from headwater.enumerators.postgres.connection import connect
from headwater.enumerators.postgres.publication import PublishedTable, published
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.stream_settings import (
    ChangeColumns,
    Reaction,
    SlotTransport,
    StartingPosition,
    StreamSettings,
)
from headwater.enumerators.postgres.table import TableDescription, described

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.postgres.json_emitter import JsonEmitter

_OF_ONE_TABLE: Final = "is for one table (option table)"


@dataclass(frozen=True, kw_only=True)
class PostgresTablesStream(PostgresStreamSource):
    """The log of a database as a split, changes of several tables as rows.

    Rows have the same columns whatever the tables are like, so that nothing has to be learnt about these.

    Attributes:
        tables: as the user writes them; ``table`` is the first one.
    """

    tables: tuple[str, ...]

    @property
    def table_names(self) -> tuple[str, ...]:
        return self.tables

    @property
    def reads(self) -> str:
        return ", ".join(self.tables)

    def schema(self) -> pa.Schema:
        """Return the schema of all rows. Asks the server whether the tables can be read."""
        from headwater.readers.postgres.json_rows import SCHEMA

        if self.planned is None:
            retrying(
                self._look,
                backoff=self.backoff.of_first_answer(),
                clock=SystemClock(),
                cancelled=Event(),
                what=f"the description of tables {self.reads}",
            )
        return SCHEMA

    def with_schema(self, schema: pa.Schema, *, given: bool) -> PostgresTablesStream:
        from headwater.readers.postgres.json_rows import check_schema

        check_schema(schema)
        return replace(self, planned=schema)

    def restore_enumerator(
        self, context: PlannedSplitEnumeratorContext[Any, int], checkpoint: Checkpoint[Any, int]
    ) -> PlannedSplitEnumerator[Any, int]:
        if checkpoint.state is not None:
            raise OptionError(
                "cannot go on where the checkpoint began with startingPosition=initial: set option table, or "
                "start with a new checkpointLocation and a new slot",
                option=TABLES.name,
            )
        return self._log_enumerator(context)

    def create_emitter(self) -> Any:
        with importing("the postgres source", extra="postgres"):
            from headwater.readers.postgres.json_emitter import JsonEmitter
            from headwater.readers.postgres.json_rows import JsonRows
        emitter: JsonEmitter = JsonEmitter(JsonRows(self.stream.on_truncate, self.stream.on_toast))
        return emitter

    def check_table(self, table: TableDescription, in_publication: PublishedTable) -> None:
        """Take any table: rows have JSON."""

    def _look(self) -> None:
        """Make sure that there is nothing in the way.

        Raises:
            SourceError: it names everything that is.
        """
        with connect(self.settings) as connection:
            published(connection, described(connection, self.tables), self.stream)


def tables_stream(
    parsed: ParsedOptions, stream: StreamSettings, tables: tuple[str, ...]
) -> PostgresTablesStream:
    """Return the source of a stream of several tables. Opens nothing.

    Raises:
        OptionError: an option is set that is for one table.
    """
    if stream.starting_position is StartingPosition.INITIAL:
        raise stream.refusal(
            "starting_position", f"=initial {_OF_ONE_TABLE}. With several, read their rows by spark.read"
        )
    if stream.transport is SlotTransport.STAGED:
        raise stream.refusal("transport", f"=staged {_OF_ONE_TABLE}: leave it out")
    if stream.change_columns is ChangeColumns.SPARK:
        raise stream.refusal(
            "change_columns", f"=spark {_OF_ONE_TABLE}: rows of several have before and after"
        )
    if stream.includes_before:
        raise stream.refusal("includes_before", f"{_OF_ONE_TABLE}: rows of several have before always")
    if stream.on_schema_change is not Reaction.FAIL:
        raise stream.refusal(
            "on_schema_change", f"{_OF_ONE_TABLE}: rows of several have the columns of their time"
        )
    return PostgresTablesStream(
        settings=parsed.of(PostgresSettings),
        stream=stream,
        table=tables[0],
        tables=tables,
        columns=None,
        text_columns=(),
        backoff=Backoff(deadline_ms=parsed[RETRY_DEADLINE]),
    )
