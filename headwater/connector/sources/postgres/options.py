"""The options of the PostgreSQL source: server, table, columns."""

from __future__ import annotations

from typing import Final

from headwater.connector.options import OptionTable
from headwater.connector.planned.planning import PlanningHints
from headwater.connector.sources.source_options import RETRY_DEADLINE
from headwater.core.options import Option, names, text
from headwater.core.source import Boundedness
from headwater.enumerators.postgres.settings import PostgresSettings

TABLE: Final = Option(
    "table",
    text,
    None,
    'Required: the table, as SQL has it: `orders`, `public.orders`, `"Shop"."Orders"`.',
    needed_in=tuple(Boundedness),
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

POSTGRES_OPTIONS: Final = OptionTable(
    [
        *PostgresSettings.options(),
        TABLE,
        COLUMNS,
        TEXT_COLUMNS,
        RETRY_DEADLINE,
        *PlanningHints.options(),
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
