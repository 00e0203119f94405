"""A schema for files whose user gave none: a look at the oldest files, and at the folders."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from heapq import nlargest
from itertools import chain, islice
from typing import IO, Any

import pyarrow as pa

from headwater.core.clock import SystemClock
from headwater.core.errors import CorruptRecordError, OptionError, SourceError
from headwater.core.redaction import logger_of
from headwater.core.retry import Backoff, retrying
from headwater.enumerators.files.listing import FileLister, lister_for
from headwater.enumerators.files.selection import SUMMARY_NAMES, FileSelection
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.file_format import make_format, opened
from headwater.readers.files.partitions import partition_type
from headwater.readers.files.settings import ReadSettings

log = logger_of(__name__)

STREAM_FILES = 1_000
"""The number of files that show the schema of a stream: the oldest of the first that are listed."""

_STREAM_LISTED = 10_000
_PATIENCE_MS = 120_000


def infer_schema(
    listers: Iterable[FileLister], settings: ReadSettings, *, is_stream: bool, selection: FileSelection
) -> pa.Schema:
    """Return the columns that the files seem to have, then those of the folders.

    Of files that tell their columns one is opened, or all with ``mergeSchema``; of text all of them. Of
    Parquet, the listers bring files that only tell columns, too: they count first, as in Spark. In a stream
    these are `STREAM_FILES` at most, and a stream lists no more than 10,000.

    Raises:
        OptionError: whether a file is to be looked at depends on a time zone that is not known here.
        SourceError: there is no file to look at, or the files do not agree.
    """
    pages = chain.from_iterable(lister.pages() for lister in listers)
    files = (file for file in chain.from_iterable(pages) if _is_selected(file, selection))
    listed = list(islice(files, _STREAM_LISTED if is_stream else None))
    file_format = make_format(settings)
    if not listed and file_format.needs_schema:
        paths = ", ".join(path.url for path in settings.paths)
        raise SourceError(
            f"no file with anything in it is there to infer a schema from ({paths}): give one with "
            ".schema(...)",
            source="files",
        )
    shown_by = _shown_by(listed, settings, is_stream)
    listed = [file for file in listed if not _name(file).startswith(SUMMARY_NAMES)]
    # Of a format that has always the same columns, without a file.
    of_files = (
        inferred_columns(shown_by, settings) if shown_by else file_format.infer(None, FileStatus("", 0, 0))
    )
    if is_stream:
        log.warning(
            "the schema of this stream was inferred from %d files of %d that were listed; %s: %s",
            len(shown_by),
            len(listed),
            "of later ones only new columns are looked at (schemaEvolutionMode)"
            if settings.drift.mode != "none"
            else "what comes later is not looked at",
            ", ".join(f"{field.name} {field.type}" for field in of_files),
        )
    folders = {field.name.lower(): field for field in _folder_columns(listed, settings)}
    # A folder of a column's name is the column, with the folder's type, in the column's place.
    columns = [folders.pop(field.name.lower(), field) for field in of_files]
    return pa.schema([*columns, *folders.values()])


def _is_selected(file: FileStatus, selection: FileSelection) -> bool:
    if selection.is_unsure(file.modified_us):
        raise OptionError(
            f"is required: whether the schema is that of {file.url} too depends on the zone of modifiedAfter "
            "or modifiedBefore, and that of the session is not known where a schema is inferred",
            option="timeZone",
        )
    return selection.in_time(file.modified_us, time.time_ns() // 1_000)


def _shown_by(listed: Sequence[FileStatus], settings: ReadSettings, is_stream: bool) -> list[FileStatus]:
    """Return the files that show the schema.

    Of files that tell their columns it is the first one by name, as in Spark, or all with ``mergeSchema``:
    the columns are in the order of the files' names then.
    """
    if settings.abilities.tells_columns and not settings.merge_schema:
        by_name = sorted(listed, key=lambda file: (_place(file), file.url))
        # Where summaries may be, Spark looks at no other file if the first one is damaged.
        skips = settings.ignore_corrupt and not settings.abilities.has_summaries
        return _first_readable(by_name, settings) if skips else by_name[:1]
    oldest = sorted(listed, key=lambda file: (file.modified_us, file.url))
    shown_by = oldest[: STREAM_FILES if is_stream else None]
    if not settings.merge_schema:
        return shown_by
    return sorted(shown_by, key=lambda file: (-_place(file), file.url))


def _name(file: FileStatus) -> str:
    return file.url.rpartition("/")[2]


def _place(file: FileStatus) -> int:
    """Return how early a file tells columns: those that only tell them come before those with rows."""
    name = _name(file)
    return SUMMARY_NAMES.index(name) if name in SUMMARY_NAMES else len(SUMMARY_NAMES)


def _first_readable(files: list[FileStatus], settings: ReadSettings) -> list[FileStatus]:
    """Return the first file that is not damaged; the first one if all are. Opens them."""
    file_format = make_format(settings)
    for file in files:
        with _looked_at(file, settings) as handle:
            file_format.infer(handle, file)
            return [file]
    return files[:1]


@contextmanager
def _looked_at(file: FileStatus, settings: ReadSettings) -> Iterator[IO[bytes]]:
    """Open a file. Damage in it ends the work with it in silence, if the user wants so.

    Raises:
        CorruptRecordError: it is damaged, and that fails the query.
    """
    try:
        with opened(file, settings.storage_options) as handle:
            yield handle
    except CorruptRecordError as error:
        if not settings.ignore_corrupt:
            raise
        log.warning("%s; no columns are inferred of what is there (ignoreCorruptFiles)", error)


def inferred_columns(files: Sequence[FileStatus], settings: ReadSettings) -> pa.Schema:
    """Return the columns of these files, in Spark's types; folders do not count. Opens each.

    Raises:
        SourceError: a file cannot be read, or the files do not agree.
    """
    file_format = make_format(settings)
    together = file_format.infer_all(files, lambda file: _looked_at(file, settings))
    if together is not None:
        return together
    schemas: list[pa.Schema] = []
    for file in files:
        with _looked_at(file, settings) as handle:
            schemas.append(file_format.infer(handle, file))
    if not schemas:
        raise SourceError(
            "no file can be read to infer a schema from: give one with .schema(...)", source="files"
        )
    try:
        return merged_schema(schemas)
    except ValueError as error:
        looked = ", ".join(file.url for file in files)
        raise CorruptRecordError(
            f"the files do not agree: {error}; give .schema(...). Looked at: {looked}", source="files"
        ) from error


def newest_columns(file: FileStatus, settings: ReadSettings) -> pa.Schema:
    """Return the columns that a file and the newest ones beside it have together. Lists and opens files.

    These are `STREAM_FILES` at most: of a batch of no more files, all of them, whichever of them is given.
    Where they do not agree, or one cannot be read, these are the columns of the file alone.

    Raises:
        SourceError: the file itself cannot be read.
    """
    ask = partial(
        retrying, backoff=Backoff(deadline_ms=_PATIENCE_MS), clock=SystemClock(), cancelled=threading.Event()
    )
    listers = (lister_for(path, settings.storage_options, ask) for path in settings.paths)
    listed = chain.from_iterable(page for lister in listers for page in lister.pages())
    newest = set(nlargest(STREAM_FILES, listed, key=lambda each: (each.modified_us, each.url)))
    try:
        if settings.abilities.has_header:
            newest = _of_same_columns(file, newest, settings)
        return inferred_columns(sorted({file, *newest}, key=lambda each: each.url), settings)
    except SourceError as error:
        log.warning("the types of new columns are those of %s alone: %s", file.url, error)
        return inferred_columns([file], settings)


def _of_same_columns(
    file: FileStatus, files: Iterable[FileStatus], settings: ReadSettings
) -> set[FileStatus]:
    """Return those of some CSV files that have the columns of a file: their values go by position."""
    plain = replace(settings, csv=replace(settings.csv, infer_types=False))
    names = inferred_columns([file], plain).names
    return {each for each in files if inferred_columns([each], plain).names == names}


def _folder_columns(listed: Sequence[FileStatus], settings: ReadSettings) -> list[pa.Field[Any]]:
    """Return the columns of folders, as the first file spells them.

    Raises:
        SourceError: files are in folders of other keys, or below several folders, or one has no key or value.
    """
    settings.folder_columns.check(file.url for file in listed)
    values: dict[str, set[str]] = {}
    spelled: dict[str, str] = {}
    for file in listed:
        for key, raw in settings.partitions_of(file.url).items():
            spelled.setdefault(key.lower(), key)
            values.setdefault(key.lower(), set()).add(raw)
    return [pa.field(spelled[key], partition_type(texts)) for key, texts in values.items()]


def merged_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return all columns of all schemas, as the first one spells them: the case of names does not count.

    Raises:
        ValueError: a column has types that Spark does not merge: only decimals of one scale are widened.
    """
    merged: pa.Schema = pa.schema([])
    for schema in schemas:
        merged = pa.schema(_fields(list(merged), list(schema), ""))
    return merged


def _fields(one: list[pa.Field[Any]], other: list[pa.Field[Any]], path: str) -> list[pa.Field[Any]]:
    fields = {field.name.lower(): field for field in one}
    for field in other:
        earlier = fields.get(field.name.lower(), field)
        kind = _merged(earlier.type, field.type, f"{path}{field.name}")
        fields[field.name.lower()] = earlier.with_type(kind)
    return list(fields.values())


def _merged(one: Any, other: Any, path: str) -> Any:
    types = pa.types
    if one == other:
        return one
    if types.is_struct(one) and types.is_struct(other):
        return pa.struct(_fields(list(one), list(other), f"{path}."))
    if types.is_list(one) and types.is_list(other):
        return pa.list_(_merged(one.value_type, other.value_type, path))
    if types.is_map(one) and types.is_map(other):
        key = _merged(one.key_type, other.key_type, path)
        return pa.map_(key, _merged(one.item_type, other.item_type, path))
    if types.is_decimal(one) and types.is_decimal(other) and one.scale == other.scale:
        return pa.decimal128(max(one.precision, other.precision), one.scale)
    raise ValueError(f"column {path!r} is {one} in one file and {other} in another")
