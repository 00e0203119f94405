"""Parquet, by pyarrow, with the types of Spark's reader."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

import pyarrow as pa

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.column_types import (
    ColumnConversion,
    ColumnPlan,
    LeafConversion,
    UnfitTypeError,
    leaf_count,
)
from headwater.readers.files.columnar_formats import ColumnarFormat, named_errors
from headwater.readers.files.file_format import FileBlock
from headwater.readers.files.parquet_statistics import bounds_of, footer_of, may_match
from headwater.readers.files.parquet_types import inferred_schema, leaf_conversion, leaves_of
from headwater.readers.files.rebase import Rebase
from headwater.readers.files.rows import Filters
from headwater.readers.files.spark_notes import noted_schema

_BATCH_ROWS = 32_768
_COLUMN: Final = re.compile(r"  (?! )\S+ .*?field_id=\S+ (?P<name>.*?)( \(.*\))?( \{|;)$")
_VARIANT_GROUP: Final = re.compile(r" \(Variant\(\d+\)\) \{$")
_VARIANT: Final = (
    "is of the type variant, which cannot be made here: leave it out of the schema, or read it with "
    "Spark's own reader"
)


class ParquetFormat(ColumnarFormat):
    """A range reads the row groups that begin in it."""

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        with named_errors(status, "parquet"):
            parquet = _open(file)
            rebase = Rebase.of(status.url, parquet.metadata.metadata, self.settings.rebase)
            filters = self.settings.filters if rebase.is_none else ()
            groups = [parquet.metadata.row_group(at) for at in range(parquet.metadata.num_row_groups)]
            rows = sum(group.num_rows for group in groups)
            if rows < parquet.metadata.num_rows:
                # More are right: Spark goes by the row groups alone, and some writers count no rows else.
                raise EOFError(f"it has {parquet.metadata.num_rows} rows, and its row groups have {rows}")
            starts = _group_starts(groups, status.size_bytes)
            in_range = [group for group, at in enumerate(starts) if start <= at < stop]
            if not in_range:
                return
            plan = _plan(parquet, columns, rebase)
            for group in _matching(file, status, parquet.metadata, in_range, filters):
                rows_left = groups[group].num_rows
                for batch in parquet.iter_batches(
                    _BATCH_ROWS, row_groups=[group], columns=plan.names, use_threads=False
                ):
                    rows_left -= batch.num_rows
                    yield FileBlock(plan.converted(batch), starts[group], starts[group])
                if rows_left:
                    # pyarrow passes over pages of a type that it does not know.
                    raise EOFError(f"{rows_left} rows are missing in the row group {group}")

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with named_errors(status, "parquet"):
            parquet = _open(file)
            _check_no_variant(parquet, parquet.schema_arrow)
            noted = noted_schema(parquet.metadata.metadata)
            return inferred_schema(parquet) if noted is None else noted


def _open(file: Any) -> Any:
    import pyarrow.parquet as pq

    # Microseconds: all that Spark knows, and nanoseconds hold the years 1677 to 2262 only.
    return pq.ParquetFile(file, coerce_int96_timestamp_unit="us")


def _matching(file: Any, status: FileStatus, metadata: Any, groups: list[int], filters: Filters) -> list[int]:
    """Return the row groups that may hold a row that passes."""
    if not filters:
        return groups
    names = {name for name, _, _ in filters}
    bounds = bounds_of(footer_of(file, metadata), status, names)
    return [group for group in groups if may_match(bounds[group], filters)]


def _plan(parquet: Any, columns: pa.Schema, rebase: Rebase) -> ColumnPlan:
    """Return the plan for the columns of an open file."""
    _check_no_variant(parquet, columns)
    leaves = leaves_of(parquet)
    counts = [leaf_count(field.type) for field in parquet.schema_arrow]
    firsts = dict(zip(parquet.schema_arrow.names, accumulate(counts, initial=0), strict=False))

    def leaves_below(name: str) -> LeafConversion:
        def convert(source: Any, target: Any, at: int) -> ColumnConversion:
            return leaf_conversion(leaves[firsts[name] + at], source, target, rebase)

        return convert

    return ColumnPlan(parquet.schema_arrow, columns, leaves_below)


def _group_starts(groups: Sequence[Any], size: int) -> list[int]:
    """Return where row groups begin in a file of so many bytes, as far as their sizes tell it.

    Which range reads a group must be the same for each of them, and no more. The offsets of its columns would
    tell it exactly, but to ask for a column ends the process where the column's statistics are damaged.
    """
    sizes = [max(0, group.total_byte_size) for group in groups]
    whole = max(1, sum(sizes))
    starts = [end - own for end, own in zip(accumulate(sizes), sizes, strict=True)]
    return [min(size * each // whole, size - 1) for each in starts]


def _check_no_variant(parquet: Any, columns: pa.Schema) -> None:
    """Raise an error if one of the wanted columns is of the type variant.

    Raises:
        UnfitTypeError: it is.
    """
    names = {name.lower() for name in columns.names}
    for name in sorted(_variants_of(parquet)):
        if name.lower() in names:
            raise UnfitTypeError(f"column {name!r} {_VARIANT}")


def _variants_of(parquet: Any) -> set[str]:
    """Return the columns of an open file that are of the type variant, or have it inside.

    To pyarrow they are structs, of which a part holds the value in pieces; only its text tells them.
    """
    variants: set[str] = set()
    column = ""
    for line in str(parquet.schema).splitlines():
        begins = _COLUMN.match(line)
        if begins is not None:
            column = begins["name"]
        if _VARIANT_GROUP.search(line):
            variants.add(column)
    return variants
