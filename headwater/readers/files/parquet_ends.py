"""Where files of Parquet end in a topic: out of their footers, without reading a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from headwater.core.errors import SourceError
from headwater.core.part_end import EndPositions
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.opening import opened

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
        SourceError: a footer does not say it.
    """
    found: dict[str, dict[str, int]] = {}
    with ThreadPoolExecutor(_THREADS, "headwater-footers") as threads:
        for end in threads.map(lambda file: _file_end(file, storage_options), files):
            if end is not None:
                of_topic = found.setdefault(end.topic, {})
                name = str(end.partition)
                of_topic[name] = max(of_topic.get(name, 0), end.offset)
    return found


def _file_end(file: FileStatus, storage_options: Mapping[str, object]) -> FileEnd | None:
    """Return where a file ends; None if it has no rows."""
    import pyarrow.parquet as pq

    with opened(file, storage_options) as handle:
        metadata = pq.ParquetFile(handle).metadata
        if not metadata.num_rows:
            return None
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    names = metadata.schema.names
    topic = "" if "topic" not in names else str(_only_value(file, groups, "topic"))
    partition = int(_only_value(file, groups, "partition"))
    return FileEnd(topic, partition, max(high for _, high in _spans(file, groups, "offset")) + 1)


def _only_value(file: FileStatus, groups: Sequence[Any], column: str) -> Any:
    values = {value for span in _spans(file, groups, column) for value in span}
    if len(values) != 1:
        raise _unclear(file, f"has several values of the column {column!r}")
    return values.pop()


def _spans(file: FileStatus, groups: Sequence[Any], column: str) -> list[tuple[Any, Any]]:
    """Return the least and the largest value of a column in each row group that has rows."""
    return [_span(file, group, column) for group in groups if group.num_rows]


def _span(file: FileStatus, group: Any, column: str) -> tuple[Any, Any]:
    chunks = [group.column(number) for number in range(group.num_columns)]
    chunk = next((each for each in chunks if each.path_in_schema == column), None)
    if chunk is None:
        raise _unclear(file, f"has no column {column!r}")
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        raise _unclear(file, f"has no statistics of the column {column!r} in its footer")
    if statistics.null_count:
        raise _unclear(file, f"has rows without {column!r}")
    return statistics.min, statistics.max


def _unclear(file: FileStatus, why: str) -> SourceError:
    return SourceError(
        f"the file {why}, so it does not tell where the next part begins (option 'seamOffsets'): each file "
        "needs the rows of one partition, with statistics of `partition` and `offset`. Say where it begins "
        'as JSON, such as {"orders": {"0": 1200}}, or part by time with seamColumn and seamTime',
        source="files",
        split=file.url,
    )
