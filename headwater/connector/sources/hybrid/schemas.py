"""The columns of a chain: those that all of its parts have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.hybrid.options import SEAM_COLUMN, SOURCES
from headwater.core.errors import OptionError
from headwater.enumerators.hybrid.seam import Seam, TimeSeam

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_TIMES = ("timestamp", "timestamp_ntz")


def common_schema(named: Sequence[tuple[str, ConfiguredPlannedSource]], seam: Seam | None) -> StructType:
    """Return the columns that all parts have: by name, type and order. On the driver; a part may open files.

    Args:
        named: the parts, by their names.
        seam: between them.

    Raises:
        OptionError: they differ; or the column of the seam is not one of them, or is not a timestamp.
    """
    from headwater.connector.sources.spark_schema import spark_schema

    found = [
        (name, part.spark_schema or spark_schema(part.schema(), f"{part.source.name}, part {name}"))
        for name, part in named
    ]
    first, schema = found[0]
    columns = _columns(schema)
    for name, other in found[1:]:
        theirs = _columns(other)
        if theirs != columns:
            raise OptionError(
                f"the parts must have the same columns in the same order: {first!r} has {_text(columns)}; "
                f"{name!r} has {_text(theirs)}. What the rows of a part are is said by its options, such as "
                f"{name}.columns, {name}.valueFormat and {name}.valueSchema",
                option=SOURCES.name,
            )
    if isinstance(seam, TimeSeam) and dict(columns).get(seam.column) not in _TIMES:
        raise OptionError(
            f"{seam.column!r} is no column of the type timestamp; there are {_text(columns)}",
            option=SEAM_COLUMN.name,
        )
    return schema


def _columns(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema.fields]


def _text(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(" ".join(column) for column in columns)
