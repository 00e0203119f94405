"""Where files of Parquet end in a topic: out of their footers, without reading a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from headwater.core.errors import SourceError
from headwater.core.planned_source import EndPositions
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.columnar_formats import named_errors
from headwater.readers.files.file_format import opened
from headwater.readers.files.parquet_statistics import ColumnBounds, GroupBounds, bounds_of, footer_of

_THREADS: Final = 16


class FileEnd(NamedTuple):
    """Where one file ends: it has the rows of one partition, none from ``offset`` on."""

    topic: str
    partition: int
    offset: int


def end_positions(files: Sequence[FileStatus], storage_options: Mapping[str, object]) -> EndPositions:
    """Return for each partition the offset behind the last one that files have. Blocks.

    Args:
        files: each has the rows of one partition, in the columns ``partition`` and ``offset``; where several
            topics are in them, in ``topic`` too.
        storage_options: for fsspec.

    Raises:
        SourceError: a footer does not have it.
        CorruptRecordError: a file is no Parquet, or its footer is damaged.
    """
    positions: dict[str, dict[str, int]] = {}
    with ThreadPoolExecutor(_THREADS, "headwater-footers") as threads:
        for file, footer in zip(
            files, threads.map(lambda file: _footer_of(file, storage_options), files), strict=True
        ):
            end = _file_end(file, footer)
            if end is not None:
                of_topic = positions.setdefault(end.topic, {})
                name = str(end.partition)
                of_topic[name] = max(of_topic.get(name, 0), end.offset)
    return positions


@dataclass(frozen=True)
class _Footer:
    """The end of a file, and the facts in it that need no other process."""

    content: bytes
    names: Sequence[str]
    group_rows: Sequence[int]


def _footer_of(file: FileStatus, storage_options: Mapping[str, object]) -> _Footer:
    import pyarrow.parquet as pq

    with named_errors(file, "parquet"), opened(file, storage_options) as handle:
        metadata = pq.ParquetFile(handle).metadata
        rows = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        return _Footer(footer_of(handle, metadata), metadata.schema.names, rows)


def _file_end(file: FileStatus, footer: _Footer) -> FileEnd | None:
    """Return where a file ends; None if it has no rows."""
    if not any(footer.group_rows):
        return None
    columns = [name for name in ("topic", "partition", "offset") if name != "topic" or name in footer.names]
    with named_errors(file, "parquet"):
        of_groups = bounds_of(footer.content, file, columns)
    groups = [bounds for bounds, rows in zip(of_groups, footer.group_rows, strict=True) if rows]
    topic = str(_only_value(file, groups, "topic")) if "topic" in columns else ""
    partition = int(_only_value(file, groups, "partition"))
    return FileEnd(topic, partition, max(_bounds(file, group, "offset").greatest for group in groups) + 1)


def _only_value(file: FileStatus, groups: Sequence[GroupBounds], column: str) -> Any:
    of_groups = [_bounds(file, group, column) for group in groups]
    values = {value for bounds in of_groups for value in (bounds.least, bounds.greatest)}
    if len(values) != 1:
        raise _unclear(file, f"has several values of the column {column!r}")
    return values.pop()


def _bounds(file: FileStatus, group: GroupBounds, column: str) -> ColumnBounds:
    if column not in group:
        raise _unclear(file, f"has no column {column!r}")
    bounds = group[column]
    if bounds is None:
        raise _unclear(file, f"has no statistics of the column {column!r} in its footer")
    if bounds.nulls:
        raise _unclear(file, f"has rows without {column!r}")
    return bounds


def _unclear(file: FileStatus, why: str) -> SourceError:
    return SourceError(
        f"the file {why}, so it does not tell where the next part begins (option 'seamOffsets'): each file "
        "needs the rows of one partition, with statistics of `partition` and `offset`. Say where it begins "
        'as JSON, such as {"orders": {"0": 1200}}, or part by time with seamColumn and seamTime',
        source="files",
        split=file.url,
    )
