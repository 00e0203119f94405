"""Statistics in the footers of Parquet, read by a process that a damaged footer may end.

pyarrow ends its process where it is asked for a column of a footer whose parts contradict each other.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

import pyarrow as pa

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.decoder_process import DecoderMessage, DecoderProcessEndedError, decoder_process
from headwater.readers.files.rows import Filters

_MAGIC: Final = b"PAR1"
_BEHIND: Final = 8
"""The number of bytes behind a footer: its length, and the magic bytes."""


class ColumnBounds(NamedTuple):
    """Between which values those of a column lie in one row group, and how many are null."""

    least: Any
    greatest: Any
    nulls: int


GroupBounds: TypeAlias = Mapping[str, ColumnBounds | None]
"""Of one row group: the columns that were asked for and that it has. None of those without statistics."""


# Least and greatest value, and the filter's: whether any row may pass.
_RANGES: dict[str, Callable[[Any, Any, Any], bool]] = {
    "==": lambda low, high, value: low <= value <= high,
    "<": lambda low, _, value: low < value,
    "<=": lambda low, _, value: low <= value,
    ">": lambda _, high, value: high > value,
    ">=": lambda _, high, value: high >= value,
    "in": lambda low, high, values: any(low <= value <= high for value in values),
}


def footer_of(file: Any, metadata: Any) -> bytes:
    """Return the end of a file, from where its footer begins.

    Args:
        file: that can be read and sought.
        metadata: of pyarrow.
    """
    size = metadata.serialized_size + _BEHIND
    file.seek(-size, io.SEEK_END)
    return cast("bytes", file.read(size))


def bounds_of(footer: bytes, status: FileStatus, columns: Collection[str]) -> list[GroupBounds]:
    """Return the bounds of some columns, for each row group.

    Args:
        footer: the result of `footer_of`.
        status: of the file, for errors.
        columns: names of columns without parts.

    Raises:
        CorruptRecordError: the footer ends the process that reads it.
        TransientSourceError: somebody else has ended that process.
        pa.ArrowInvalid: the footer cannot be read.
    """
    with decoder_process() as process:
        try:
            process.ask(DecoderMessage.FOOTER, pickle.dumps((list(columns), footer)))
            ((_, content),) = process.answers(io.BytesIO())
        except DecoderProcessEndedError as error:
            raise error.kind(
                f"the statistics in its footer were not read: {error}",
                source="files",
                split=status.url,
                position=status.size_bytes - len(footer),
            ) from error
    return cast("list[GroupBounds]", pickle.loads(content))  # noqa: S301 - of a process that this one started


def read_bounds(question: pa.Buffer) -> bytes:
    """Answer `bounds_of`, in the process that is asked.

    Raises:
        pa.ArrowException, OSError: the footer cannot be read.
    """
    import pyarrow.parquet as pq

    columns, footer = pickle.loads(question)  # noqa: S301 - of the process that has started this one
    metadata = pq.ParquetFile(pa.BufferReader(_MAGIC + footer)).metadata
    leaves = [metadata.schema.column(at) for at in range(metadata.num_columns)]
    # A part of a struct has the path of a column whose name has a dot, and another name.
    places = {
        leaf.name: at for at, leaf in enumerate(leaves) if leaf.name == leaf.path and leaf.name in columns
    }
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    return pickle.dumps(
        [{name: _bounds(group.column(at)) for name, at in places.items()} for group in groups]
    )


def _bounds(chunk: Any) -> ColumnBounds | None:
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        return None
    return ColumnBounds(statistics.min, statistics.max, statistics.null_count or 0)


def may_match(bounds: GroupBounds, filters: Filters) -> bool:
    """Whether a row group may hold a row that passes, by its statistics. Without them it may.

    Args:
        bounds: of the columns that filters name.
        filters: all must pass.
    """
    return all(
        _may_pass(bounds.get(name), operator, value)
        for name, operator, value in filters
        if operator in _RANGES
    )


def _may_pass(bounds: ColumnBounds | None, operator: str, value: object) -> bool:
    """Whether a value between these bounds may pass."""
    if bounds is None:
        return True
    try:
        return _RANGES[operator](bounds.least, bounds.greatest, value)
    except TypeError:
        return True  # the bounds are of another kind than the value
