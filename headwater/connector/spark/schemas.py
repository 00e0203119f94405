"""The check that a source yields the schema that Spark plans with."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa
from pyspark.sql.types import StructType

from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.sources.spark_schema import arrow_schema, spark_schema
from headwater.core.errors import OptionError

ConfiguredT = TypeVar("ConfiguredT", bound=ConfiguredSource)


def bind_schema(configured: ConfiguredT, schema: StructType, *, given: bool) -> ConfiguredT:
    """Return the source that yields the schema that Spark plans with.

    Args:
        configured: as the options say.
        schema: what the user gave, or what `HeadwaterDataSource.schema` returned before.
        given: which of the two.

    Raises:
        OptionError: the source cannot yield it.
    """
    bound = configured.with_schema(arrow_schema(schema), given=given)
    check_schema(schema, bound.schema(), bound.source.name, given=given)
    return bound


def check_schema(planned: StructType, source: pa.Schema, source_name: str, *, given: bool) -> None:
    """Prove that the schema that Spark plans with is the one that the source yields.

    They differ where the user gave a schema of their own to a source that has a fixed one, and where a schema
    that lies outside, in a file, has changed since the frame was made.

    Raises:
        OptionError: they differ; the message shows both and names the first difference.
    """
    fixed = spark_schema(source, source_name)
    ours = [(f.name, f.dataType.simpleString()) for f in fixed.fields]
    theirs = [(f.name, f.dataType.simpleString()) for f in planned.fields]
    if not given and ours != theirs:
        raise OptionError(
            f"the schema of the source {source_name!r} was {_text(theirs)} when this frame was made, and is "
            f"{_text(ours)} now: call load() again"
        )
    if ours != theirs or not all(f.nullable for f in planned.fields):
        raise OptionError(
            f"the source {source_name!r} has the fixed schema {_text(ours)}; remove .schema(...), which says "
            f"{_text(theirs)}, and select, rename or cast after load(); NOT NULL columns are not possible"
        )


def _text(fields: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in fields)
