"""The column that the user names as the one with the event time."""

from __future__ import annotations

from typing import Any

from headwater.core.errors import OptionError
from headwater.core.source import Source


def check_time_column(source: Source[Any, Any, Any], column: str) -> None:
    """Return if a source has such a column, of times. On the driver, when the columns are known.

    Raises:
        OptionError: it has not.
    """
    import pyarrow as pa

    schema = source.schema()
    if column not in schema.names:
        raise OptionError(
            f"source {source.name!r} has no column {column!r} (columns: {', '.join(schema.names)})",
            option="eventTimeColumn",
        )
    kind = schema.field(column).type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise OptionError(
            f"column {column!r} of source {source.name!r} is {kind}, and must be a timestamp or a date: give "
            "the query a schema that says so",
            option="eventTimeColumn",
        )
