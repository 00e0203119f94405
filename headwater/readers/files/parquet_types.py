"""Types of Parquet as Spark's vectorized reader takes them: which one is inferred, and which it is read as.

The physical type and its annotation count, not the Arrow type that a writer may have noted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headwater.readers.files.column_types import (
    AnyArray,
    ColumnConversion,
    UnfitTypeError,
    is_list,
    leaf_count,
)
from headwater.readers.files.rebase import Rebase

_INT_DIGITS: Final = {"INT32": 10, "INT64": 20}
"""So many digits before the point must a decimal have to take all integers."""
_INFERRED: Final[Mapping[str, pa.DataType]] = {
    "BOOLEAN": pa.bool_(),
    "INT32": pa.int32(),
    "INT64": pa.int64(),
    "INT96": pa.timestamp("us", "UTC"),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BYTE_ARRAY": pa.binary(),
    "FIXED_LEN_BYTE_ARRAY": pa.binary(),
}
_INTEGERS: Final[Mapping[tuple[int, bool], pa.DataType]] = {
    (8, True): pa.int8(),
    (16, True): pa.int16(),
    (32, True): pa.int32(),
    (64, True): pa.int64(),
    (8, False): pa.int16(),
    (16, False): pa.int32(),
    (32, False): pa.int64(),
    (64, False): pa.decimal128(20, 0),
}
_STRINGS: Final = {"STRING", "ENUM", "JSON"}
_MICROS: Final = {"milliseconds": 1000, "microseconds": 1}


@dataclass(frozen=True)
class Leaf:
    """A column of a Parquet file that has no parts.

    Attributes:
        physical: how values are stored.
        annotation: their meaning; ``NONE`` if there is none.
        details: of the annotation.
    """

    physical: str
    annotation: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_signed(self) -> bool:
        """Whether a number has a sign: it has, unless the annotation denies it."""
        return bool(self.details.get("isSigned", True))


def leaves_of(parquet: Any) -> list[Leaf]:
    """Return the leaves of an open file, in its order."""
    columns = [parquet.schema.column(at) for at in range(len(parquet.schema))]
    return [
        Leaf(
            column.physical_type, column.logical_type.type, json.loads(column.logical_type.to_json() or "{}")
        )
        for column in columns
    ]


def inferred_schema(parquet: Any) -> pa.Schema:
    """Return the columns that Spark sees in an open file.

    Raises:
        UnfitTypeError: Spark has no type for one of them.
    """
    leaves = leaves_of(parquet)
    fields: list[pa.Field[Any]] = []
    first = 0
    for each in parquet.schema_arrow:
        fields.append(pa.field(each.name, _inferred(each.type, leaves, first, each.name)))
        first += leaf_count(each.type)
    return pa.schema(fields)


def leaf_conversion(leaf: Leaf, source: Any, target: Any, rebase: Rebase) -> ColumnConversion:
    """Return the conversion of a leaf to the type in the schema.

    Args:
        leaf: as the file has it.
        source: the Arrow type that pyarrow reads it as.
        target: the type in the schema.
        rebase: of old dates.

    Raises:
        UnfitTypeError: Spark's reader does not take the one as the other.
    """
    convert = _conversion(leaf, source, target, rebase)
    if convert is None:
        stored = leaf.physical if leaf.annotation == "NONE" else f"{leaf.physical} ({leaf.annotation})"
        raise UnfitTypeError(f"it is stored as {stored}")
    return convert


def _conversion(  # noqa: PLR0911 - a case for each physical type
    leaf: Leaf, source: Any, target: Any, rebase: Rebase
) -> ColumnConversion | None:
    types = pa.types
    if types.is_decimal(target) and leaf.annotation == "DECIMAL":
        return _decimal(leaf, target)
    match leaf.physical:
        case "INT32":
            return _from_int32(leaf, target, rebase)
        case "INT64":
            return _from_int64(leaf, target, rebase)
        case "INT96" if types.is_timestamp(target):
            return rebase.int96(target)
        case "BYTE_ARRAY" if leaf.annotation != "DECIMAL" and (
            types.is_string(target) or types.is_binary(target)
        ):
            return lambda column: _undictionaried(column).cast(pa.binary()).view(target)
        case "FIXED_LEN_BYTE_ARRAY" if leaf.annotation not in {"DECIMAL", "FLOAT16"} and types.is_binary(
            target
        ):
            return lambda column: _undictionaried(column).cast(target)
        case "FIXED_LEN_BYTE_ARRAY" if leaf.annotation == "FLOAT16" and types.is_binary(target):
            return lambda column: column.view(pa.binary(2)).cast(target)
        case "BOOLEAN" | "FLOAT" | "DOUBLE" if _INFERRED[leaf.physical] == target or (
            types.is_float32(source) and types.is_float64(target)
        ):
            return lambda column: column.cast(target)
    return None


def _from_int32(leaf: Leaf, target: Any, rebase: Rebase) -> ColumnConversion | None:
    types = pa.types
    if leaf.annotation == "INT" and not leaf.is_signed and leaf.details["bitWidth"] == 32:
        return (
            (lambda column: _raw(column, leaf).view(pa.uint32()).cast(target))
            if types.is_int64(target)
            else None
        )
    if types.is_date(target):
        return lambda column: rebase.dates(_raw(column, leaf).view(pa.date32()))
    if types.is_timestamp(target) and target.tz is None and leaf.annotation == "DATE":
        return lambda column: rebase.dates(_raw(column, leaf).view(pa.date32())).cast(target)
    if types.is_decimal(target):
        return _integer_decimal(leaf, target)
    if types.is_float64(target) or types.is_signed_integer(target):
        # A number that the type does not hold loses its upper bits, as in Spark.
        return lambda column: _raw(column, leaf).cast(target, safe=False)
    return None


def _from_int64(leaf: Leaf, target: Any, rebase: Rebase) -> ColumnConversion | None:
    types = pa.types
    if leaf.annotation == "INT" and not leaf.is_signed:
        return (lambda column: column.cast(target)) if target == pa.decimal128(20, 0) else None
    if types.is_int64(target):
        return lambda column: _raw(column, leaf)
    if types.is_timestamp(target) and leaf.annotation == "TIMESTAMP":
        factor = _MICROS.get(leaf.details["timeUnit"])
        return None if factor is None else _timestamps(leaf, target, factor, rebase)
    if types.is_decimal(target):
        return _integer_decimal(leaf, target)
    if types.is_duration(target):
        return lambda column: _raw(column, leaf).view(target)
    return None


def _timestamps(leaf: Leaf, target: Any, factor: int, rebase: Rebase) -> ColumnConversion:
    def convert(column: AnyArray) -> AnyArray:
        micros = _raw(column, leaf)
        if factor > 1:
            micros = pc.multiply_checked(micros, factor)
        return rebase.timestamps(micros, target)

    return convert


def _integer_decimal(leaf: Leaf, target: Any) -> ColumnConversion | None:
    is_number = leaf.annotation == "NONE" or (leaf.annotation == "INT" and leaf.is_signed)
    if not is_number or target.precision - target.scale < _INT_DIGITS[leaf.physical]:
        return None
    return lambda column: _raw(column, leaf).cast(target)


def _decimal(leaf: Leaf, target: Any) -> ColumnConversion | None:
    more_digits = target.precision - leaf.details["precision"]
    more_scale = target.scale - leaf.details["scale"]
    if more_scale < 0 or more_digits < more_scale:
        return None
    return lambda column: column.cast(target)


def _raw(column: Any, leaf: Leaf) -> Any:
    """Return the integers of a column as they are stored."""
    kind = pa.int32() if leaf.physical == "INT32" else pa.int64()
    types = pa.types
    if types.is_decimal(column.type):
        # Without a scale: the unscaled numbers.
        return column.view(pa.decimal128(column.type.precision, 0)).cast(kind)
    if types.is_null(column.type) or (
        types.is_integer(column.type) and column.type.bit_width < kind.bit_width
    ):
        return column.cast(kind)
    return column.view(kind)


def _undictionaried(column: Any) -> Any:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _inferred(kind: Any, leaves: Sequence[Leaf], first: int, path: str) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return _inferred(kind.storage_type, leaves, first, path)
    if pa.types.is_struct(kind):
        fields: list[pa.Field[Any]] = []
        for each in kind:
            fields.append(pa.field(each.name, _inferred(each.type, leaves, first, f"{path}.{each.name}")))
            first += leaf_count(each.type)
        return pa.struct(fields)
    if pa.types.is_map(kind):
        key = _inferred(kind.key_type, leaves, first, f"{path}.key")
        return pa.map_(key, _inferred(kind.item_type, leaves, first + leaf_count(kind.key_type), path))
    if is_list(kind):
        return pa.list_(_inferred(kind.value_type, leaves, first, f"{path}.element"))
    leaf = leaves[first]
    inferred = _leaf_type(leaf)
    if inferred is None:
        raise UnfitTypeError(
            f"column {path!r} is {leaf.physical} ({leaf.annotation}), which no column can be inferred of: "
            "give .schema(...) with another type, or without it"
        )
    return inferred


def _leaf_type(leaf: Leaf) -> pa.DataType | None:  # noqa: PLR0911 - a case for each annotation
    """Return the type that Spark infers, None where it has none."""
    match leaf.physical, leaf.annotation:
        case (("INT32" | "INT64"), "INT"):
            return _INTEGERS[leaf.details["bitWidth"], leaf.is_signed]
        case (("INT32" | "INT64" | "BYTE_ARRAY" | "FIXED_LEN_BYTE_ARRAY"), "DECIMAL"):
            return pa.decimal128(leaf.details["precision"], leaf.details["scale"])
        case "INT32", "DATE":
            return pa.date32()
        case "INT64", "TIMESTAMP" if leaf.details["timeUnit"] in _MICROS:
            return pa.timestamp("us", "UTC" if leaf.details["isAdjustedToUTC"] else None)
        case "BYTE_ARRAY", annotation if annotation in _STRINGS:
            return pa.string()
        case (("INT32" | "INT64"), ("TIME" | "TIMESTAMP")):
            return None
        case (("BYTE_ARRAY" | "FIXED_LEN_BYTE_ARRAY"), annotation) if annotation not in {"NONE", "BSON"}:
            return None
    return _INFERRED[leaf.physical]
