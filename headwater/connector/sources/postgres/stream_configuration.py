"""Makes the source of a stream from the user's options."""

from __future__ import annotations

from typing import Final

from headwater.connector.cpus import available_cpus, known_parallelism
from headwater.connector.options import ParsedOptions
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.options import planning_hints
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.postgres.options import (
    COLUMNS,
    MAX_BYTES,
    TABLE,
    TEXT_COLUMNS,
    ChunkOptions,
    PostgresPlanningHints,
    named_tables,
)
from headwater.connector.sources.postgres.table_stream import PostgresTableStream
from headwater.connector.sources.postgres.tables_stream import PostgresTablesStream
from headwater.connector.sources.source_options import RETRY_DEADLINE
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.state_location import open_state_store
from headwater.enumerators.postgres.initial_questions import ChunkSettings
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.stream_settings import (
    ChangeColumns,
    Reaction,
    SlotTransport,
    StartingPosition,
    StreamSettings,
)

_CHUNKS_PER_TASK: Final = 4
"""A batch has a price: so each of its tasks gets several chunks."""
_OF_ONE_TABLE: Final = "is for one table (option table)"


def is_stream(parsed: ParsedOptions, boundedness: Boundedness | None) -> bool:
    """Whether options are those of a stream.

    Where only the schema is asked for, Spark has not said yet whether it reads a stream: a slot says so.
    """
    if boundedness is not None:
        return boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    return bool(parsed.of(StreamSettings).slot)


def configure_stream(parsed: ParsedOptions) -> ConfiguredPlannedSource:
    """Make the source of a stream. Opens nothing.

    Raises:
        OptionError: an option is missing, or two do not go together.
    """
    stream = parsed.of(StreamSettings)
    tables = named_tables(parsed)
    for name, hint in (("slot", "a name for this query alone"), ("publication", "the one with the table")):
        if not getattr(stream, name):
            raise stream.refusal(name, f"is required for a stream: {hint}")
    source: PostgresTableStream = (
        _one_table(parsed, stream) if tables is None else _several_tables(parsed, stream, tables)
    )
    limits = ReadLimits(max_bytes=parsed[MAX_BYTES])
    return ConfiguredPlannedSource(
        source=source,
        limits=limits,
        hints=planning_hints(parsed, PostgresPlanningHints),
        backoff=source.backoff,
    )


def _one_table(parsed: ParsedOptions, stream: StreamSettings) -> PostgresTableStream:
    if stream.change_columns is ChangeColumns.SPARK and stream.on_truncate is not Reaction.FAIL:
        raise stream.refusal(
            "change_columns",
            "has no word for a TRUNCATE: set option onTruncate=fail with it, or leave it out",
        )
    if stream.on_schema_change is Reaction.RESCUE and parsed[COLUMNS]:
        raise stream.refusal(
            "on_schema_change", "=rescue has all columns of the table: leave out option columns"
        )
    return PostgresTableStream(
        settings=parsed.of(PostgresSettings),
        stream=stream,
        tables=(parsed.require(TABLE),),
        columns=parsed[COLUMNS],
        text_columns=parsed[TEXT_COLUMNS] or (),
        backoff=Backoff(deadline_ms=parsed[RETRY_DEADLINE]),
        chunks=_chunk_settings(parsed, stream),
    )


def _several_tables(
    parsed: ParsedOptions, stream: StreamSettings, tables: tuple[str, ...]
) -> PostgresTablesStream:
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
        tables=tables,
        columns=None,
        text_columns=(),
        backoff=Backoff(deadline_ms=parsed[RETRY_DEADLINE]),
        chunks=_chunk_settings(parsed, stream),
    )


def _chunk_settings(parsed: ParsedOptions, stream: StreamSettings) -> ChunkSettings | None:
    """Return how the table is cut, None without a state location.

    Raises:
        OptionError: the query begins with the rows that are there, and has none.
        StateLocationError: the location has no atomic put-if-absent.
    """
    chunks = parsed.of(ChunkOptions)
    if chunks.state_location is None:
        if stream.transport is SlotTransport.STAGED:
            raise chunks.refusal(
                "state_location",
                "is required with transport=staged: a folder that driver and executors reach, where changes "
                "are until their batch is committed",
            )
        for option, is_set in (
            ("startingPosition=initial", stream.starting_position is StartingPosition.INITIAL),
            ("onSlotLost=resync", stream.resyncs),
        ):
            if is_set:
                raise chunks.refusal(
                    "state_location",
                    f"is required with {option}: a folder that driver and executors reach, where rows of the "
                    "table are until their batch is committed",
                )
        return None
    store = open_state_store(chunks.state_location, chunks.state_storage_options)
    return ChunkSettings(store, chunks.rows, _CHUNKS_PER_TASK * (chunks.tasks or _tasks(parsed)))


def _tasks(parsed: ParsedOptions) -> int:
    return parsed.of(PostgresPlanningHints).parallelism or known_parallelism() or available_cpus()
