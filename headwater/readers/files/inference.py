"""A schema for files whose user gave none: a look at the oldest files, and at the folders."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.enumerators.files.listing import FileLister
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.arrow_types import spark_type
from headwater.readers.files.drift_settings import OWN_SCHEMA_FORMATS
from headwater.readers.files.file_format import make_format
from headwater.readers.files.opening import opened
from headwater.readers.files.partitions import partition_type
from headwater.readers.files.settings import ReadSettings

log = logging.getLogger(__name__)

STREAM_FILES = 1_000
"""So many files, the oldest of those that are listed first, show the schema of a stream."""

_STREAM_LISTED = 10_000
_MOST_OPENED = 5
_TEXT = {"csv", "json"}


def infer_schema(listers: Iterable[FileLister], settings: ReadSettings, *, is_stream: bool) -> pa.Schema:
    """Return the columns that the files seem to have, then those of the folders.

    Of files that tell their columns five are opened, the oldest; of text all of them, in a stream
    `STREAM_FILES`. A stream lists no more than 10,000.

    Raises:
        SourceError: there is no file to look at, or the files do not agree.
    """
    pages = chain.from_iterable(lister.pages() for lister in listers)
    listed = list(islice(chain.from_iterable(pages), _STREAM_LISTED if is_stream else None))
    file_format = make_format(settings)
    if not listed and file_format.needs_schema:
        paths = ", ".join(path.url for path in settings.paths)
        raise SourceError(
            f"no file is there to infer a schema from ({paths}): give one with .schema(...)", source="files"
        )
    oldest = sorted(listed, key=lambda file: (file.modified_us, file.url))[: _most_files(settings, is_stream)]
    # Of a format that has always the same columns, without a file.
    found = inferred_columns(oldest, settings) if oldest else file_format.infer(None, FileStatus("", 0, 0))
    if is_stream:
        log.warning(
            "the schema of this stream was inferred from %d files, the oldest of %d that were listed; what "
            "comes later is not looked at: %s",
            len(oldest),
            len(listed),
            ", ".join(f"{field.name} {field.type}" for field in found),
        )
    folders = {field.name.lower(): field for field in _folder_columns(listed, settings)}
    # A folder of a column's name is the column, with the folder's type, in the column's place.
    columns = [folders.pop(field.name.lower(), field) for field in found]
    return pa.schema([*columns, *folders.values()])


def _most_files(settings: ReadSettings, is_stream: bool) -> int | None:
    if settings.format in OWN_SCHEMA_FORMATS:
        return _MOST_OPENED
    return STREAM_FILES if is_stream else None


def inferred_columns(files: Sequence[FileStatus], settings: ReadSettings) -> pa.Schema:
    """Return the columns of these files, in Spark's types; folders do not count. Opens each.

    Raises:
        SourceError: a file cannot be read, or the files do not agree.
    """
    file_format = make_format(settings)
    together = file_format.infer_all(files, lambda file: opened(file, settings.storage_options))
    if together is not None:
        return together
    schemas: list[pa.Schema] = []
    for file in files:
        with opened(file, settings.storage_options) as handle:
            schemas.append(file_format.infer(handle, file))
    return _unified(schemas, files, is_text=settings.format in _TEXT)


def _unified(schemas: Sequence[pa.Schema], files: Sequence[FileStatus], *, is_text: bool) -> pa.Schema:
    """Return all columns of all files: where they do not agree on a type, text formats have text.

    Raises:
        CorruptRecordError: the files of another format do not agree.
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
                    f"the files do not agree on column {name!r}: {error}; give .schema(...). "
                    f"Looked at: {looked}",
                    source="files",
                ) from error
            unified.append(pa.field(name, pa.string()))
    # All nullable, and without metadata.
    return pa.schema([(field.name, spark_type(field.type) if is_text else field.type) for field in unified])


def _folder_columns(listed: Sequence[FileStatus], settings: ReadSettings) -> list[pa.Field[Any]]:
    """Return the columns of folders, as the first file spells them.

    Raises:
        SourceError: files are in folders of other keys, or a folder has no value.
    """
    values: dict[str, set[str]] = {}
    spelled: dict[str, str] = {}
    keys: set[tuple[str, ...]] = set()
    for file in listed:
        found = settings.partitions_of(file.url)
        keys.add(tuple(key.lower() for key in found))
        for key, raw in found.items():
            spelled.setdefault(key.lower(), key)
            values.setdefault(key.lower(), set()).add(raw)
    several = sorted(", ".join(each) for each in keys if each)
    if len(several) > 1:
        raise SourceError(
            f"files lie in folders of other columns: {' and '.join(several)}; all must have the same ones",
            source="files",
        )
    empty = [key for key, found in values.items() if "" in found]
    if empty:
        raise SourceError(f"a folder {empty[0]}= has no value", source="files")
    return [pa.field(spelled[key], partition_type(found)) for key, found in values.items()]
