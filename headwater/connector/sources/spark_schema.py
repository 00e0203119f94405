"""Arrow schemas to Spark schemas, and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_schema, to_arrow_type
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from headwater.core.errors import ContractError

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


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the schema as Arrow has it between Spark and its Python workers."""
    made: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return made


def spark_schema(schema: pa.Schema, source_name: str) -> StructType:
    """Return Spark's form of a source's schema: as with Spark's own files, every column may be null.

    Raises:
        ContractError: Spark has no type for a column.
    """
    for field in schema:
        try:
            to_arrow_type(from_arrow_type(field.type), timezone="UTC")
        except (PySparkTypeError, ValueError) as error:
            raise ContractError(
                f"source {source_name!r}: its schema has the column {field.name!r} of the Arrow type "
                f"{field.type}, for which Spark has none: declare it as another one, such as "
                f"{_OTHER_TYPES.get(str(field.type), 'pa.string()')}, and cast the rows"
            ) from error
    made: StructType = _nullable(from_arrow_schema(schema))
    return made


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
