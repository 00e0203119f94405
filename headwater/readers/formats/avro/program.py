"""Resolution: how values of the writer's schema become columns of the reader's, as a table of operations.

The rules are those of Avro's specification ("Schema Resolution"), and its Java library's where that
is silent: records need not have the same name, and a writer's branch or field that cannot be resolved makes
only those values bad that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from headwater.readers.formats.avro import layout
from headwater.readers.formats.avro.columns import chosen_type, widened
from headwater.readers.formats.avro.defaults import UnfitDefaultError, encoded_default
from headwater.readers.formats.avro.operations import NODE_BYTES, Operations, Program
from headwater.readers.formats.avro.types import (
    NO_DEFAULT,
    ArrayType,
    AvroMapType,
    AvroType,
    EnumType,
    FixedType,
    PrimitiveType,
    RecordField,
    RecordType,
    RecursiveType,
    UnionType,
    by_writers_names,
    matching_branch,
    same_name,
)
from headwater.readers.formats.columns import layout as table
from headwater.readers.kernels.arrays import Int64Array

_ROOT: Final = 0
_OPERATIONS: Final = {
    ("boolean", "boolean"): layout.OP_BOOLEAN,
    ("int", "int"): layout.OP_INT,
    ("int", "long"): layout.OP_INT_LONG,
    ("int", "float"): layout.OP_INT_FLOAT,
    ("int", "double"): layout.OP_INT_DOUBLE,
    ("long", "long"): layout.OP_LONG,
    ("long", "float"): layout.OP_LONG_FLOAT,
    ("long", "double"): layout.OP_LONG_DOUBLE,
    ("float", "float"): layout.OP_FLOAT,
    ("float", "double"): layout.OP_FLOAT_DOUBLE,
    ("double", "double"): layout.OP_DOUBLE,
    ("string", "string"): layout.OP_STRING,
    ("bytes", "string"): layout.OP_STRING,
    ("string", "bytes"): layout.OP_BYTES,
    ("bytes", "bytes"): layout.OP_BYTES,
}
_UNITS: Final = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}


def compile_program(
    writer: AvroType,
    reader: AvroType,
    nodes: Int64Array,
    reason: Callable[[str], int],
    *,
    raw_bytes: bool,
) -> Program:
    """Return the operations that read values of ``writer`` into the columns of ``reader``.

    Args:
        writer: the schema that the values were written with.
        reader: the schema whose columns the table has.
        nodes: the table of columns.
        reason: called with the end of a sentence where types cannot be resolved; returns its code.
        raw_bytes: whether a value of the schema ``bytes`` has no length in front, as Confluent's serializer
            writes it.
    """
    compiler = _Compiler(nodes, reason)
    compiler.all_is_raw = raw_bytes and isinstance(writer, PrimitiveType) and writer.kind == "bytes"
    by_columns = isinstance(chosen_type(reader), RecordType)
    compiler.read(writer, reader, _ROOT if by_columns else compiler.children(_ROOT)[0], "the value")
    return compiler.finish()


def nodes_of_nulls(nodes: Int64Array, node: int) -> Iterator[int]:
    """Yield the places of a node, and if it is a struct of all that have an entry for each of its entries."""
    yield node * NODE_BYTES
    if nodes[node, table.NODE_TYPE] == table.TYPE_STRUCT:
        first = int(nodes[node, table.NODE_FIRST_CHILD])
        for child in range(first, first + int(nodes[node, table.NODE_CHILDREN])):
            yield from nodes_of_nulls(nodes, child)


class _Compiler(Operations):
    """Emits operations. Makes one program."""

    def __init__(self, nodes: Int64Array, reason: Callable[[str], int]) -> None:
        super().__init__()
        self._nodes = nodes
        self._reason = reason
        self.all_is_raw = False
        """Whether the value is nothing but bytes, without their length."""

    def children(self, node: int) -> range:
        first = int(self._nodes[node, table.NODE_FIRST_CHILD])
        return range(first, first + int(self._nodes[node, table.NODE_CHILDREN]))

    def read(self, writer: AvroType, reader: AvroType, node: int, path: str) -> None:
        """Emit the reading of one value of ``writer`` into an entry of the node, which is of ``reader``."""
        # The reader's columns are as deep as they are: so this comes to an end.
        if isinstance(writer, RecursiveType):
            writer = writer.record
        if isinstance(writer, UnionType):
            self.each_branch(writer, lambda branch: self.read(branch, reader, node, path))
        elif isinstance(reader, UnionType):
            self._read_into_union(writer, reader, node, path)
        elif writer.kind == "null":
            self._fail(f"{path} may not be null in the reader's schema")
        else:
            self._read_one(writer, reader, node, path)

    def _read_into_union(self, writer: AvroType, reader: UnionType, node: int, path: str) -> None:
        branch = matching_branch(writer, reader)
        if branch is None:
            self._fail(f"{path} is {_named(writer)} in the writer's schema, and none of the reader's union")
        elif branch.kind == "null":
            self._null(node)
        elif number := widened(reader):
            if branch.kind == "float" and writer.kind in {"int", "long"}:
                self.emit(_OPERATIONS[writer.kind, number], node, 0, 1)
            else:
                self.read(writer, PrimitiveType(number), node, path)
        elif len(reader.without_null) == 1:
            self.read(writer, branch, node, path)
        else:
            self.emit(layout.OP_STRUCT, node)
            for member, child in zip(reader.without_null, self.children(node), strict=True):
                if member is branch:
                    self.read(writer, branch, child, path)
                else:
                    self._null(child)

    def _read_one(self, writer: AvroType, reader: AvroType, node: int, path: str) -> None:
        match writer, reader:
            case RecordType(), RecordType():
                self._record(writer, reader, node, path)
            case ArrayType(), ArrayType():
                items = self.children(node)[0]
                self._list(node, items, lambda: self.read(writer.items, reader.items, items, f"{path}[]"))
            case AvroMapType(), AvroMapType():
                entries = self.children(node)[0]
                self._list(node, entries, lambda: self._entry(writer, reader, entries, path))
            case EnumType(), EnumType() if same_name(writer, reader):
                self._enum(writer, reader, node)
            case FixedType(), FixedType() if same_name(writer, reader) and writer.size == reader.size:
                self._bytes(writer, reader, node, path)
            case PrimitiveType(), PrimitiveType() if (writer.kind, reader.kind) in _OPERATIONS:
                self._primitive(writer, reader, node, path)
            case _:
                self._fail(
                    f"{path} is {_named(writer)} in the writer's schema, {_named(reader)} in the reader's"
                )

    def _record(self, writer: RecordType, reader: RecordType, node: int, path: str) -> None:
        # The root may have a column for bad values behind those of the fields.
        children = dict(zip((field.name for field in reader.fields), self.children(node), strict=False))
        matches = by_writers_names(writer, reader)
        reader_names = {field.name for field in matches.values()}
        missing = [field for field in reader.fields if field.name not in reader_names]
        required = [field.name for field in missing if field.default is NO_DEFAULT]
        if required:
            self._fail(f"{path} has no field {required[0]!r} in the writer's schema, and it has no default")
            return
        if node != _ROOT:
            self.emit(layout.OP_STRUCT, node)
        for field in writer.fields:
            reader_field = matches.get(field.name)
            if reader_field is None:
                self.skip(field.type)
            else:
                self.read(
                    field.type,
                    reader_field.type,
                    children[reader_field.name],
                    _below(path, reader_field.name),
                )
        for field in missing:
            self._default(field, children[field.name], _below(path, field.name))

    def _default(self, field: RecordField, node: int, path: str) -> None:
        try:
            content = encoded_default(field.type, field.default)
        except UnfitDefaultError:
            self._fail(
                f"{path} is not in the writer's schema, and its default in the reader's is not of its type"
            )
            return
        if field.default is None and isinstance(field.type, UnionType) and len(content) == 1:
            self._null(node)
            return
        self.emit(layout.OP_DEFAULT, 0, self.text(content), len(content))
        self.read(field.type, field.type, node, path)
        self.emit(layout.OP_DEFAULT_END)

    def _entry(self, writer: AvroMapType, reader: AvroMapType, entries: int, path: str) -> None:
        key, value = self.children(entries)
        self.emit(layout.OP_STRING, key)
        self.read(writer.values, reader.values, value, f"{path}[]")

    def _list(self, node: int, items: int, read_item: Callable[[], None]) -> None:
        self.emit(layout.OP_LIST)
        self.loop((layout.OP_ITEM, layout.OP_ITEM_END), node, items, read_item)

    def _enum(self, writer: EnumType, reader: EnumType, node: int) -> None:
        symbols: list[int] = []
        for symbol in writer.symbols:
            target = symbol if symbol in reader.symbols else reader.default
            text = (target or "").encode()
            symbols += [self.text(text), -1 if target is None else len(text)]
        self.emit(layout.OP_ENUM, node, self.list_of(symbols), len(writer.symbols))

    def _primitive(self, writer: PrimitiveType, reader: PrimitiveType, node: int, path: str) -> None:
        if reader.kind == "bytes":
            self._bytes(writer, reader, node, path)
            return
        code = _OPERATIONS[writer.kind, reader.kind]
        if self.all_is_raw:
            self.emit(layout.OP_FIXED, node, layout.SIZE_IS_REST, 1)
            return
        factor = _factor(writer, reader)
        if code == layout.OP_LONG and factor != 1:
            code = layout.OP_LONG_TIMES
        self.emit(code, node, factor)

    def _bytes(
        self, writer: PrimitiveType | FixedType, reader: PrimitiveType | FixedType, node: int, path: str
    ) -> None:
        size = (
            writer.size if isinstance(writer, FixedType) else layout.SIZE_IS_REST if self.all_is_raw else -1
        )
        if reader.decimal is None:
            self.emit(layout.OP_BYTES if size == -1 else layout.OP_FIXED, node, size)
        elif writer.decimal is not None and writer.decimal.scale != reader.decimal.scale:
            self._fail(
                f"{path} is a decimal of scale {writer.decimal.scale} in the writer's schema, "
                f"{reader.decimal.scale} in the reader's"
            )
        else:
            self.emit(layout.OP_DECIMAL, node, size)

    def _null(self, node: int) -> None:
        places = list(nodes_of_nulls(self._nodes, node))
        self.emit(layout.OP_NULL, node, self.list_of(places), len(places))

    def _fail(self, reason: str) -> None:
        self.emit(layout.OP_FAIL, 0, self._reason(reason))


def _factor(writer: PrimitiveType, reader: PrimitiveType) -> int:
    """Return the factor of times; below 0 the divisor.

    The unit is the writer's, if it says so, else the reader's. Timestamps become microseconds.
    """
    family, _, unit = reader.logical.rpartition("-")
    if unit not in _UNITS:
        return 1
    written_family, _, written_unit = writer.logical.rpartition("-")
    if written_unit not in _UNITS or (family == "time") != (written_family == "time"):
        written_unit = unit
    becomes = "micros" if family != "time" and unit == "millis" else unit
    reader_ticks = _UNITS[becomes]
    writer_ticks = _UNITS[written_unit]
    return reader_ticks // writer_ticks if reader_ticks >= writer_ticks else -(writer_ticks // reader_ticks)


def _below(path: str, name: str) -> str:
    return name if path == "the value" else f"{path}.{name}"


def _named(schema: AvroType) -> str:
    match schema:
        case RecordType() | EnumType() | FixedType():
            return f"the {schema.kind} {schema.name}"
    return schema.kind
