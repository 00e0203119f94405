"""Columns of a file as columns of the schema: by name at every level, and by conversions of their leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute

compute: Any = pyarrow.compute

AnyArray: TypeAlias = Any
"""An array of pyarrow's."""

ColumnConversion: TypeAlias = Callable[[AnyArray], AnyArray]

LeafConversion: TypeAlias = Callable[[Any, Any, int], ColumnConversion]
"""How a leaf is converted: its type in the file, the wanted one, its number in the file's order of leaves.

Raises `UnfitTypeError` if it cannot be.
"""


class UnfitTypeError(ValueError):
    """A column of a file cannot be read as the schema has it. The text tells which, and why."""


class ColumnPlan:
    """The columns of one file that are read, and their conversions.

    Args:
        schema: the columns of the file.
        columns: those of the schema that are wanted.
        leaves: called with the name of a column of the file; returns the conversion of its leaves.

    Raises:
        UnfitTypeError: a column of the file cannot be read as the schema has it.
    """

    def __init__(
        self, schema: pa.Schema, columns: pa.Schema, leaves: Callable[[str], LeafConversion]
    ) -> None:
        self._conversions: dict[str, ColumnConversion] = {}
        fields: list[pa.Field[Any]] = []
        for field in columns:
            path = f"column {field.name!r}"
            name = find_name(schema.names, field.name, path)
            if name is not None:
                kind = schema.field(name).type
                self._conversions[name] = conversion(kind, field.type, leaves(name), path)
                fields.append(field)
        self._schema = pa.schema(fields)

    @property
    def names(self) -> list[str]:
        """The columns to be read, as the file spells them."""
        return list(self._conversions)

    def converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with the schema's columns; with one of nulls if there is none, for its rows."""
        if not self._conversions:
            return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows)], names=[""])
        arrays = [convert(batch.column(name)) for name, convert in self._conversions.items()]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def conversion(source: Any, target: Any, leaf: LeafConversion, path: str, first: int = 0) -> ColumnConversion:
    """Return the conversion of a column of the file to the type in the schema.

    Args:
        source: the type in the file.
        target: the type in the schema.
        leaf: converts columns without parts.
        path: of the column, for messages.
        first: the number of its first leaf.

    Raises:
        UnfitTypeError: the file's column cannot be read as the wanted type.
    """
    types = pa.types
    if isinstance(source, pa.BaseExtensionType):
        inner = conversion(source.storage_type, target, leaf, path, first)
        return lambda column: inner(column.storage)
    if types.is_run_end_encoded(source):
        inner = conversion(source.value_type, target, leaf, path, first)
        return lambda column: inner(compute.run_end_decode(column))
    if types.is_struct(source) and types.is_struct(target):
        return _struct(source, target, leaf, path, first)
    if types.is_map(source) and types.is_map(target):
        return _map(source, target, leaf, path, first)
    if is_list(source) and types.is_list(target):
        return _list(source, target, leaf, path, first)
    if types.is_nested(source) or types.is_nested(target):
        raise UnfitTypeError(f"{path} is {source} in this file and {target} in the schema")
    try:
        return leaf(source, target, first)
    except UnfitTypeError as error:
        reason = f": {error}" if str(error) else ""
        raise UnfitTypeError(f"{path} is {source} in this file and {target} in the schema{reason}") from None


def find_name(names: Iterable[str], name: str, path: str) -> str | None:
    """Return the name that is the wanted one, in any case; None if there is none.

    Raises:
        UnfitTypeError: several are.
    """
    matches = [each for each in names if each.lower() == name.lower()]
    if len(matches) > 1:
        raise UnfitTypeError(f"{path} is {' and '.join(matches)} in this file: case does not count")
    return matches[0] if matches else None


def is_list(kind: Any) -> bool:
    """Whether a type is a list of any layout."""
    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )


def leaf_count(kind: Any) -> int:
    """Return how many leaves a type has."""
    if isinstance(kind, pa.BaseExtensionType):
        return leaf_count(kind.storage_type)
    if pa.types.is_nested(kind) and not (pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind)):
        return sum(leaf_count(kind.field(at).type) for at in range(kind.num_fields))
    return 1


def _struct(source: Any, target: Any, leaf: LeafConversion, path: str, first: int) -> ColumnConversion:
    parts: list[tuple[int, ColumnConversion] | None] = []
    for field in target:
        below = f"{path}.{field.name}"
        name = find_name((each.name for each in source), field.name, below)
        if name is None:
            parts.append(None)
            continue
        at = source.get_field_index(name)
        leaf_number = first + sum(leaf_count(source.field(other).type) for other in range(at))
        parts.append((at, conversion(source.field(at).type, field.type, leaf, below, leaf_number)))

    def convert(column: Any) -> AnyArray:
        children = [
            pa.nulls(len(column), field.type) if part is None else part[1](column.field(part[0]))
            for field, part in zip(target, parts, strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=list(target), mask=column.is_null())

    return convert


def _map(source: Any, target: Any, leaf: LeafConversion, path: str, first: int) -> ColumnConversion:
    key = conversion(source.key_type, target.key_type, leaf, f"{path}.key", first)
    value_first = first + leaf_count(source.key_type)
    value = conversion(source.item_type, target.item_type, leaf, f"{path}.value", value_first)

    def convert(column: Any) -> AnyArray:
        entries = pa.StructArray.from_arrays(
            [key(column.keys), value(column.items)], fields=[target.key_field, target.item_field]
        )
        return _with_child(column, target, entries)

    return convert


def _list(source: Any, target: Any, leaf: LeafConversion, path: str, first: int) -> ColumnConversion:
    item = conversion(source.value_type, target.value_type, leaf, f"{path}.element", first)

    def convert(column: Any) -> AnyArray:
        if pa.types.is_list(column.type):
            return _with_child(column, target, item(column.values))
        # Lists of views have no order in their elements, and those that are null may have some.
        ends = compute.cumulative_sum(
            compute.fill_null(compute.list_value_length(column), 0).cast(pa.int64())
        )
        offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends]).cast(pa.int32())
        elements = item(compute.list_flatten(column))
        return pa.ListArray.from_arrays(offsets, elements, type=target, mask=column.is_null())

    return convert


def _with_child(column: Any, kind: pa.DataType, child: AnyArray) -> AnyArray:
    """Return the lists of a column with other elements, as many as before."""
    validity, offsets = column.buffers()[:2]
    return pa.Array.from_buffers(
        kind, len(column), [validity, offsets], offset=column.offset, children=[child]
    )
