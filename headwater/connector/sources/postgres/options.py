"""The options of the PostgreSQL source: server, table, columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from headwater.connector.options import OptionTable, ParsedOptions
from headwater.connector.planned.options import LimitOptions
from headwater.connector.planned.planning import PlanningHints
from headwater.connector.sources.source_options import RETRY_DEADLINE
from headwater.core.errors import OptionError
from headwater.core.options import (
    Option,
    Spec,
    integer,
    json_object,
    names,
    option,
    positive_duration_ms,
    text,
)
from headwater.core.source import Boundedness
from headwater.core.state_location import state_location
from headwater.enumerators.postgres.publication import ALL
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.stream_settings import StreamSettings

TABLE: Final = Option(
    "table",
    text,
    None,
    'The table, as SQL has it: `orders`, `public.orders`, `"Shop"."Orders"`. Required, or `tables`.',
)
TABLES: Final = Option(
    "tables",
    names,
    None,
    "Instead of `table`: several tables, named as that one: their rows at one instant, or their changes in "
    "the order of commits, each row of a table as JSON. In a stream `*` is all tables of the publication.",
    shown_default="",
)
COLUMNS: Final = Option(
    "columns",
    names,
    None,
    "Only these columns, in this order: the server sends no others.",
    shown_default="all",
)
TEXT_COLUMNS: Final = Option[tuple[str, ...]](
    "textColumns",
    names,
    (),
    "These columns are strings, with the text that the server makes of a value: for values that have no "
    "place in the column's type, such as `infinity` of a date.",
    shown_default="",
)
SNAPSHOT_IDLE_TIMEOUT: Final = Option(
    "snapshotIdleTimeout",
    positive_duration_ms,
    120_000,
    "How long the instant that a DataFrame shows is held when no task reads it: until then each action on it "
    "reads the same rows, a connection stays open, and VACUUM keeps what they need.",
    only=Boundedness.BOUNDED,
    shown_default="`2m`",
)


class PostgresPlanningHints(PlanningHints):
    """How a table is cut into tasks: by its blocks. How many rows a block has is not known."""

    min_tasks: int = option(
        "minPartitions",
        "Cut large tables until there are about so many tasks.",
        default=1,
        parse=integer(1),
        shown_default="",
    )
    max_rows_per_task: int | None = None


MAX_BYTES: Final = replace(
    LimitOptions.OPTIONS["max_bytes"],
    help="No batch goes further in the log than this, counted in bytes of WAL, but for one transaction; a "
    "transaction is never cut.",
)

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED


def named_tables(parsed: ParsedOptions) -> tuple[str, ...] | None:
    """Return the tables of option `tables`; None where option `table` names one.

    Raises:
        OptionError: neither is given, or an option that is for one table with several.
    """
    tables = parsed[TABLES]
    if tables is None:
        parsed.require(TABLE, ": such as public.orders, or several in option tables")
        return None
    if parsed[TABLE] is not None:
        raise OptionError("cannot be set together with option table: name all tables", option=TABLES.name)
    for name, value in ((COLUMNS.name, parsed[COLUMNS]), (TEXT_COLUMNS.name, parsed[TEXT_COLUMNS])):
        if value:
            raise OptionError("is for one table (option table): rows of several have JSON", option=name)
    if ALL in tables and len(tables) > 1:
        raise OptionError("has * beside names: it is all tables of the publication", option=TABLES.name)
    return tables


class ChunkOptions(Spec):
    """How a stream reads the rows that are there."""

    state_location: str | None = option(
        "stateLocation",
        "Required with `startingPosition=initial` or `transport=staged`: a folder that the driver and all "
        "executors reach: an absolute local path, or `s3://`, `gs://`, `abfs://`. Rows and changes of the "
        "table are there until their batch is committed.",
        default=None,
        parse=state_location,
        only=_STREAM,
    )
    state_storage_options: Mapping[str, Any] | None = option(
        "stateStorageOptions",
        "JSON: settings of the fsspec file system behind `stateLocation`.",
        default=None,
        parse=json_object,
        only=_STREAM,
    )
    rows: int = option(
        "chunkRows",
        "About how many rows a task reads at a time, in one transaction, with `startingPosition=initial`.",
        default=250_000,
        parse=integer(1),
        only=_STREAM,
    )
    tasks: int | None = option(
        "snapshotTasks",
        "How many tasks read the table at the same time; a batch has four chunks for each of them.",
        default=None,
        parse=integer(1),
        only=_STREAM,
        shown_default="`parallelism`",
    )


POSTGRES_OPTIONS: Final = OptionTable(
    [
        *PostgresSettings.options(),
        TABLE,
        TABLES,
        COLUMNS,
        TEXT_COLUMNS,
        SNAPSHOT_IDLE_TIMEOUT,
        *StreamSettings.options(),
        MAX_BYTES,
        *ChunkOptions.options(),
        RETRY_DEADLINE,
        *PostgresPlanningHints.options(),
    ],
    other_words={
        **dict.fromkeys(("address", "connection", "conninfo", "dsn", "host", "server", "uri"), "url"),
        **dict.fromkeys(("dbtable", "query"), "table"),
        **dict.fromkeys(("passfile", "passwordfile"), "password"),
        **dict.fromkeys(("partitioncolumn", "numpartitions"), "minPartitions"),
        "user": "username",
    },
)
"""The table that parses, and that `docs/postgres.md` shows."""
