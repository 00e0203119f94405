"""A schema for files whose user gave none: a look at the oldest files, and at the folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Any, cast

import pyarrow as pa

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.enumerators.files.listing import FileLister
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.formats import make_format
from headwater.readers.files.opening import opened
from headwater.readers.files.rows import partition_value
from headwater.readers.files.settings import ReadSettings
from headwater.readers.files.values import infer_type

__all__ = ["infer_schema"]

_MOST_LISTED = 10_000
_MOST_OPENED = 5
_TEXT = {"csv", "json"}


def infer_schema(listers: Iterable[FileLister], settings: ReadSettings) -> pa.Schema:
    """Return the columns that the files seem to have, then those of the folders.

    Opens five files, the oldest of the first 10,000 that are listed.

    Raises:
        SourceError: there is no file to look at, or the files do not agree.
    """
    listed = list(
        islice(chain.from_iterable(page for lister in listers for page in lister.pages()), _MOST_LISTED)
    )
    file_format = make_format(settings)
    if not listed and file_format.needs_schema:
        raise SourceError(
            f"no file is there to infer a schema from ({', '.join(path.url for path in settings.paths)}): give one with .schema(...)",
            source="files",
        )
    oldest = sorted(listed, key=lambda file: (file.modified_us, file.url))[:_MOST_OPENED]
    schemas = []
    for file in oldest:
        with opened(file, settings.storage_options) as handle:
            schemas.append(file_format.infer(handle, file))
    found = (
        _unified(schemas, oldest, is_text=settings.format in _TEXT)
        if schemas
        else file_format.infer(None, FileStatus("", 0, 0))
    )
    folders = [field for field in _folder_columns(listed, settings) if field.name not in found.names]
    return pa.schema([*found, *folders])


def _unified(schemas: Sequence[pa.Schema], files: Sequence[FileStatus], *, is_text: bool) -> pa.Schema:
    """Return all columns of all files.

    Where these do not agree on a type, text formats have text; the others fail.
    """
    fields: dict[str, list[pa.Field[Any]]] = {}
    for field in chain.from_iterable(schemas):
        fields.setdefault(field.name, []).append(field)
    unified: list[pa.Field[Any]] = []
    for name, found in fields.items():
        try:
            unified += pa.unify_schemas([pa.schema([field]) for field in found], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            if not is_text:
                looked = ", ".join(file.url for file in files)
                raise CorruptRecordError(
                    f"the files do not agree on column {name!r}: {error}; give .schema(...). Looked at: {looked}",
                    source="files",
                ) from error
            unified.append(pa.field(name, pa.string()))
    return _normal(pa.schema(unified))


def _folder_columns(listed: Sequence[FileStatus], settings: ReadSettings) -> list[pa.Field[Any]]:
    values: dict[str, set[str | None]] = {}
    for file in listed:
        for key, raw in settings.partitions_of(file.url).items():
            values.setdefault(key, set()).add(partition_value(raw))
    return [
        pa.field(key, infer_type(pa.array(sorted(filter(None, found)), pa.string())))
        for key, found in values.items()
    ]


def _normal(schema: pa.Schema) -> pa.Schema:
    """Return the schema in the types that Spark has, all nullable, without metadata."""
    return pa.schema([pa.field(field.name, _spark_type(field.type)) for field in schema])


def _spark_type(kind: pa.DataType) -> pa.DataType:
    t = pa.types
    if t.is_nested(kind) and not t.is_union(kind):
        return _nested(kind)
    rules: tuple[tuple[Callable[[Any], bool], Callable[[], pa.DataType]], ...] = (
        (t.is_dictionary, lambda: _spark_type(cast("pa.DictionaryType[Any, Any]", kind).value_type)),
        (t.is_timestamp, lambda: pa.timestamp("us", "UTC")),
        (lambda k: t.is_large_string(k) or t.is_null(k) or k == pa.string_view(), pa.string),
        (lambda k: t.is_large_binary(k) or t.is_fixed_size_binary(k) or k == pa.binary_view(), pa.binary),
        (t.is_date, pa.date32),
        (t.is_float16, pa.float32),
        (t.is_uint8, pa.int16),
        (t.is_uint16, pa.int32),
        (t.is_uint32, pa.int64),
        (t.is_uint64, lambda: pa.decimal128(20, 0)),
    )
    return next((make() for is_it, make in rules if is_it(kind)), kind)


def _nested(kind: pa.DataType) -> pa.DataType:
    t = pa.types
    if t.is_struct(kind):
        return pa.struct([pa.field(field.name, _spark_type(field.type)) for field in kind])
    if t.is_map(kind):
        return pa.map_(_spark_type(kind.key_type), _spark_type(kind.item_type))
    return pa.list_(_spark_type(value)) if (value := getattr(kind, "value_type", None)) is not None else kind
