"""The fields of JSON values, inferred from a sample by the rules of Spark's `spark.read.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    LongType,
    NullType,
    StringType,
    StructField,
    StructType,
)

_MOST_DIGITS: Final = 38
_LONG_DIGITS: Final = 20
"""What Spark counts for a bigint beside decimals."""


def inferred_fields(values: Sequence[bytes]) -> StructType:
    """Return the fields that objects have, sorted by name; those that are only ever null are strings.

    Values that are not JSON objects count for nothing: they are bad with any schema.

    Args:
        values: of one sample.
    """
    fields = _canonical(_common_of(map(_type_of, _objects(values))))
    return fields if isinstance(fields, StructType) else StructType()


def _objects(values: Sequence[bytes]) -> Iterable[Any]:
    from headwater.readers.formats.json.whole_objects import whole_objects

    for text in whole_objects(values):
        yield json.loads(text, object_pairs_hook=_Members)


class _Members(list[tuple[str, Any]]):
    """The members of an object, those of one name too."""


def _type_of(value: Any) -> DataType:
    if isinstance(value, _Members):
        found: dict[str, DataType] = {}
        for name, member in value:
            found[name] = _common(found.get(name, NullType()), _type_of(member))
        return _struct(found)
    if isinstance(value, list):
        return ArrayType(_common_of(map(_type_of, value)))
    if isinstance(value, bool):
        return BooleanType()
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return DoubleType()
    # An empty string may be how a producer writes null.
    return StringType() if value else NullType()


def _common_of(kinds: Iterable[DataType]) -> DataType:
    found: DataType = NullType()
    for kind in kinds:
        found = _common(found, kind)
    return found


def _integer(value: int) -> DataType:
    if -(1 << 63) <= value < 1 << 63:
        return LongType()
    digits = len(str(abs(value)))
    return DecimalType(digits, 0) if digits <= _MOST_DIGITS else DoubleType()


def _struct(fields: dict[str, DataType]) -> StructType:
    # Java's order of strings is that of their UTF-16.
    names = sorted(fields, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return StructType([StructField(name, fields[name]) for name in names])


def _common(one: DataType, other: DataType) -> DataType:  # noqa: PLR0911 - a rule a line
    """Return the type that holds values of both."""
    if one == other or isinstance(other, NullType):
        return one
    if isinstance(one, NullType):
        return other
    if isinstance(one, StructType) and isinstance(other, StructType):
        fields = {field.name: field.dataType for field in one.fields}
        for field in other.fields:
            fields[field.name] = _common(fields.get(field.name, NullType()), field.dataType)
        return _struct(fields)
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return ArrayType(_common(one.elementType, other.elementType))
    numbers = (LongType, DecimalType, DoubleType)
    if not isinstance(one, numbers) or not isinstance(other, numbers):
        return StringType()
    if isinstance(one, DoubleType) or isinstance(other, DoubleType):
        return DoubleType()
    digits = max(_whole_digits(one), _whole_digits(other))
    return DecimalType(digits, 0) if digits <= _MOST_DIGITS else DoubleType()


def _whole_digits(kind: DataType) -> int:
    return kind.precision if isinstance(kind, DecimalType) else _LONG_DIGITS


def _canonical(kind: DataType) -> DataType | None:
    """Return the type without objects that have no members; None if nothing is left."""
    if isinstance(kind, NullType):
        return StringType()
    if isinstance(kind, ArrayType):
        element = _canonical(kind.elementType)
        return None if element is None else ArrayType(element)
    if isinstance(kind, StructType):
        found = {field.name: _canonical(field.dataType) for field in kind.fields if field.name}
        fields = [StructField(name, each) for name, each in found.items() if each is not None]
        return StructType(fields) if fields else None
    return kind
