"""The schema in a checkpoint: a query stops when its rows would have another one from some record on."""

from __future__ import annotations

from typing import Any

from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonValue, dumps
from headwater.core.source import Source


def check_logged_schema(source: Source[Any, Any, Any], logged: JsonValue) -> None:
    """Compare the schema that an offset has logged with that of the source.

    Raises:
        OffsetError: they differ, and the source does not take other schemas.
    """
    ours = source.logged_schema
    if logged is None or logged == ours or source.takes_other_schemas:
        return
    raise OffsetError(
        f"the checkpoint was written with the schema {dumps(logged)}, and the query now has "
        f"{dumps(ours)}: go back to that schema, or set option 'schemaEvolution' to true for a start that "
        "goes on with the new one. What Spark itself keeps, such as the state of aggregates, must fit it too"
    )
