"""Avro's types as the columns that Spark's reader makes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute

from headwater.readers.files.column_types import AnyArray, ColumnConversion, UnfitTypeError, find_name
from headwater.readers.files.rebase import Rebase
from headwater.readers.formats.avro.columns import arrow_type, chosen_type, widened
from headwater.readers.formats.avro.types import (
    ArrayType,
    AvroMapType,
    AvroType,
    FixedType,
    PrimitiveType,
    RecordType,
    UnionType,
)

compute: Any = pyarrow.compute
_DAY_MS = 86_400_000
_NO_COLUMN = {"time-micros", "timestamp-nanos", "local-timestamp-nanos"}


def read_as(written: AvroType, target: Any) -> AvroType:  # noqa: PLR0911 - a case for each type
    """Return the type that a value is decoded as: without its meaning where a plain number is wanted."""
    match written:
        case PrimitiveType() if _is_plain(target):
            return PrimitiveType(written.kind)
        case FixedType() if _is_plain(target):
            return replace(written, decimal=None)
        case ArrayType() if pa.types.is_list(target):
            return ArrayType(read_as(written.items, target.value_type))
        case AvroMapType() if pa.types.is_map(target):
            return AvroMapType(read_as(written.values, target.item_type))
        case RecordType() if pa.types.is_struct(target):
            return _record_as(written, target)
        case UnionType() if len(written.without_null) == 1:
            return UnionType(tuple(read_as(branch, target) for branch in written.branches))
    return written


def _is_plain(target: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(target) or types.is_floating(target) or types.is_binary(target))


def _record_as(written: RecordType, target: Any) -> RecordType:
    kinds = {each.name.lower(): each.type for each in target}
    fields = [
        replace(field, type=read_as(field.type, kinds[field.name.lower()]))
        if field.name.lower() in kinds
        else field
        for field in written.fields
    ]
    return replace(written, fields=tuple(fields))


def decoded_type(read: AvroType, target: Any, path: str) -> Any:
    """Return the Arrow type of a decoded value. The branches of a union have the names that are wanted.

    Raises:
        UnfitTypeError: a union has not as many branches as the struct in the schema has fields.
    """
    branch_type = chosen_type(read)
    match branch_type:
        case ArrayType() if pa.types.is_list(target):
            return pa.list_(decoded_type(branch_type.items, target.value_type, path))
        case AvroMapType() if pa.types.is_map(target):
            return pa.map_(pa.string(), decoded_type(branch_type.values, target.item_type, path))
        case RecordType() if pa.types.is_struct(target):
            kinds = {each.name.lower(): each.type for each in target}
            return pa.struct(
                [
                    (each.name, decoded_type(each.type, kinds.get(each.name.lower(), pa.null()), path))
                    for each in branch_type.fields
                ]
            )
        case UnionType() if pa.types.is_struct(target) and widened(branch_type) is None:
            branches = branch_type.without_null
            if len(branches) != target.num_fields:
                raise UnfitTypeError(
                    f"{path} is a union of {len(branches)} types in this file and {target} in the schema"
                )
            return pa.struct(
                [
                    (field.name, decoded_type(branch, field.type, path))
                    for field, branch in zip(target, branches, strict=True)
                ]
            )
    if pa.types.is_temporal(target) and _is_no_time(branch_type):
        raise UnfitTypeError(f"{path} cannot be read as {target}: it has another meaning in this file")
    return arrow_type(branch_type, path)


def check_inferred(record: RecordType) -> None:
    """See that columns can be inferred of all fields.

    Raises:
        UnfitTypeError: one is a time of day, or has nanoseconds, which Spark has no type for here.
    """
    for field in record.fields:
        kind = chosen_type(field.type)
        if isinstance(kind, PrimitiveType) and kind.logical in _NO_COLUMN:
            raise UnfitTypeError(
                f"column {field.name!r} is {kind.logical}, which no column can be inferred of: give "
                ".schema(...) with bigint for it, or without it"
            )


def _is_no_time(read: AvroType) -> bool:
    """Whether a number is more than a plain one, and no time that a column can hold."""
    return isinstance(read, UnionType) or (isinstance(read, PrimitiveType) and read.logical in _NO_COLUMN)


def wanted_fields(record: RecordType, columns: pa.Schema) -> dict[str, pa.Field[Any]]:
    """Return the columns of the schema by the names of the record's fields that they are read from.

    Raises:
        UnfitTypeError: a column is several fields, if case does not count.
    """
    names = [field.name for field in record.fields]
    fields = {find_name(names, field.name, f"column {field.name!r}"): field for field in columns}
    return {name: field for name, field in fields.items() if name is not None}


def avro_conversion(  # noqa: PLR0911 - a case for each type
    source: Any, target: Any, rebase: Rebase
) -> ColumnConversion:
    """Return the conversion of a leaf to the type in the schema.

    Args:
        source: the Arrow type that it is decoded as (`read_as`).
        target: the type in the schema.
        rebase: of old dates.

    Raises:
        UnfitTypeError: Spark's reader does not take the one as the other.
    """
    types = pa.types
    if types.is_date(source) and target == source:
        return rebase.dates
    if types.is_timestamp(source) and target == source:
        return lambda column: rebase.timestamps(column.view(pa.int64()), target)
    if source == target or (source, target) in _WIDER:
        return lambda column: column.cast(target)
    if types.is_int32(source) and types.is_date(target):
        return lambda column: rebase.dates(column.view(target))
    if types.is_date(source) and types.is_timestamp(target) and target.tz is None:
        return lambda column: rebase.dates(column).cast(target)
    if types.is_int64(source) and types.is_timestamp(target):
        return lambda column: rebase.timestamps(compute.multiply_checked(column, 1000), target)
    if types.is_int64(source) and types.is_date(target):
        return lambda column: compute.divide(column, _DAY_MS).cast(pa.int32()).view(target)
    if types.is_int64(source) and types.is_duration(target):
        return lambda column: column.view(target)
    if types.is_decimal(source) and types.is_decimal(target):
        return _decimal(source, target)
    raise UnfitTypeError


_WIDER = {
    (pa.int32(), pa.int64()),
    (pa.int32(), pa.float64()),
    (pa.float32(), pa.float64()),
}


def _decimal(source: Any, target: Any) -> ColumnConversion:
    if source.precision - source.scale > target.precision - target.scale:
        raise UnfitTypeError

    def convert(column: AnyArray) -> AnyArray:
        if target.scale < source.scale:
            column = compute.round(column, ndigits=target.scale, round_mode="half_towards_infinity")
        return column.cast(target)

    return convert
