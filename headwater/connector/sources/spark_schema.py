"""Arrow schemas to Spark schemas, and the check that a source yields the schema that Spark plans with."""

from __future__ import annotations

from typing import Any, TypeVar

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from headwater.connector.compat import arrow_schema, arrow_type, spark_fields, spark_type
from headwater.connector.sources.configured import ConfiguredSource
from headwater.core.errors import ContractError, OptionError

_OTHER_TYPES = {
    "uint8": "pa.int16()",
    "uint16": "pa.int32()",
    "uint32": "pa.int64()",
    "uint64": "pa.decimal128(20, 0)",
    "halffloat": "pa.float32()",
    "date64[ms]": "pa.date32()",
    "time32[s]": "pa.time64('us')",
    "time32[ms]": "pa.time64('us')",
}


def spark_schema(schema: pa.Schema, source_name: str) -> StructType:
    """Return Spark's form of a source's schema: as with Spark's own files, every column may be null.

    Raises:
        ContractError: Spark has no type for a column.
    """
    for field in schema:
        try:
            arrow_type(spark_type(field.type))
        except (PySparkTypeError, ValueError) as error:
            raise ContractError(
                f"source {source_name!r}: its schema has the column {field.name!r} of the Arrow type "
                f"{field.type}, for which Spark has none: declare it as another one, such as "
                f"{_OTHER_TYPES.get(str(field.type), 'pa.string()')}, and cast the rows"
            ) from error
    nullable: StructType = _nullable(spark_fields(schema))
    return nullable


def _nullable(kind: Any) -> Any:
    """Return a type of Spark that may be null, and so may all that it holds."""
    if isinstance(kind, StructType):
        return StructType(
            [StructField(field.name, _nullable(field.dataType), True, field.metadata) for field in kind]
        )
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType), True)
    if isinstance(kind, MapType):
        return MapType(_nullable(kind.keyType), _nullable(kind.valueType), True)
    return kind


ConfiguredT = TypeVar("ConfiguredT", bound=ConfiguredSource)


def bind_schema(configured: ConfiguredT, schema: StructType, *, given: bool) -> ConfiguredT:
    """Return the source that yields the schema that Spark plans with.

    Args:
        configured: as the options say.
        schema: the user's, or the result of `HeadwaterDataSource.schema`.
        given: whether it is the user's.

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
