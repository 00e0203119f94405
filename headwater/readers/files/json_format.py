"""JSON lines: a line is an object, its members are columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.json as pajson

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.codecs import decompressed
from headwater.readers.files.corrupt import BadLines
from headwater.readers.files.file_format import FileBlock
from headwater.readers.files.line_format import LineFormat, line_blocks
from headwater.readers.files.values import parse_column, parse_leniently

_SAMPLE_BYTES = 1 << 20


class JsonFormat(LineFormat):
    """Members that the schema does not name are skipped; those that a line lacks are null."""

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        data = cast("bytes", block.data)
        try:
            yield _parse(data, columns)
        except ValueError:
            bad = BadLines(
                mode=self.settings.records.mode,
                url=file.url,
                start=block.start,
                parse=lambda lines: _parse(b"\n".join(lines), columns),
                keep=lambda line: self._kept(line, columns),
            )
            yield from bad.rows([line for line in data.split(b"\n") if line.strip()])

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        """Look at the first megabyte or two. A line that cannot be read does not count."""
        blocks = line_blocks(decompressed(status.url, file), 0, None, status.url, block_bytes=_SAMPLE_BYTES)
        data = b"".join(cast("bytes", block.data) for block in islice(blocks, 2))
        fields: dict[str, pa.DataType] = {}
        for line in data.split(b"\n"):
            for name, value in _members(line).items():
                fields[name] = _wider(fields.get(name, pa.null()), _type_of(value))
        return pa.schema([pa.field(name, kind) for name, kind in sorted(fields.items())])

    def _kept(self, line: bytes, columns: pa.Schema) -> pa.RecordBatch:
        """Return the row of a bad line: the members that can be read, and the line in its own column."""
        members = _members(line)
        arrays = [_lenient(members.get(field.name), field.type) for field in columns]
        text = pa.array([line.removesuffix(b"\r").decode("utf-8", "replace")], pa.string())
        return pa.RecordBatch.from_arrays(
            [*arrays, text], names=[*columns.names, self.settings.records.corrupt_column]
        )


def _parse(data: bytes, columns: pa.Schema) -> pa.RecordBatch:
    """Return the rows of whole lines.

    Raises:
        ArrowInvalid: a line is not one object of these types.
    """
    if not data or data.isspace():
        return pa.RecordBatch.from_pylist([], schema=columns)
    # Pyarrow reads no dates out of JSON: they come as text.
    fields: list[pa.Field[Any]] = [
        pa.field(field.name, pa.string() if pa.types.is_date(field.type) else field.type) for field in columns
    ]
    table = pajson.read_json(
        cast("IO[bytes]", pa.BufferReader(data)),
        read_options=pajson.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pajson.ParseOptions(
            explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
        ),
    )
    if not _is_a_line_each(data, table.num_rows):
        raise pa.ArrowInvalid("a line holds more or less than one object")
    batch = table.combine_chunks().to_batches()[0]
    if not columns.names:
        return batch  # its number of rows is all that is wanted
    arrays = [
        column if column.type == field.type else parse_column(column, field.type)
        for column, field in zip(batch.columns, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _is_a_line_each(data: bytes, objects: int) -> bool:
    """Whether so many objects are on a line each.

    That is so where there are as many lines as objects, and every line begins with a brace and ends with
    one: an object that went on in the next line would lack a comma between them.
    """
    # Fast, for most blocks: every line end but the last is between two braces.
    line_ends = data.strip().count(b"\n")
    if data.startswith(b"{") and line_ends == objects - 1 and data.count(b"}\n{") == line_ends:
        return True
    lines = [line for line in map(bytes.strip, data.split(b"\n")) if line]
    return len(lines) == objects and all(line.startswith(b"{") and line.endswith(b"}") for line in lines)


def _members(line: bytes) -> dict[str, Any]:
    """Return the members of the object on a line, none if there is no such object."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _lenient(value: Any, kind: pa.DataType) -> pa.Array[Any]:
    """Return a member as a value of a column, null if it is none.

    A column of strings takes anything, as the JSON that it is.
    """
    if value is not None and pa.types.is_string(kind) and not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        if pa.types.is_nested(kind):
            return pa.array([None], kind)
        return parse_leniently(pa.array([value], pa.string()), kind)
    try:
        return pa.array([value], kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None], kind)


def _type_of(value: Any) -> pa.DataType:
    """Return the type of a value of Python's JSON parser."""
    if isinstance(value, dict):
        return pa.struct(sorted((name, _type_of(item)) for name, item in value.items()))
    if isinstance(value, list):
        return pa.list_(reduce(_wider, map(_type_of, value), cast("pa.DataType", pa.null())))
    if isinstance(value, int) and not isinstance(value, bool):  # a bool is an int in Python
        return pa.int64() if -(1 << 63) <= value < 1 << 63 else pa.float64()
    simple: dict[type, pa.DataType] = {bool: pa.bool_(), float: pa.float64(), str: pa.string()}
    return simple.get(type(value), pa.null())


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that holds both, string if nothing else does."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return pa.struct(sorted(_merged(list(one), list(other)).items()))
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_wider(one.value_type, other.value_type))
    return pa.string()


def _merged(one: Sequence[Any], other: Sequence[Any]) -> dict[str, pa.DataType]:
    """Return the fields of two structs, each with the type that holds both."""
    fields = {field.name: field.type for field in one}
    for field in other:
        fields[field.name] = _wider(fields.get(field.name, pa.null()), field.type)
    return fields
