"""Parquet, by pyarrow, with the types of Spark's reader."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pyarrow as pa

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.column_types import ColumnConversion, ColumnPlan, LeafConversion, leaf_count
from headwater.readers.files.columnar_formats import ColumnarFormat, named_errors
from headwater.readers.files.file_format import FileBlock
from headwater.readers.files.parquet_types import inferred_schema, leaf_conversion, leaves_of
from headwater.readers.files.parquet_variants import check_no_variant
from headwater.readers.files.pruning import may_match
from headwater.readers.files.rebase import Rebase

_BATCH_ROWS = 32_768


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
            in_range = [at for at, meta in enumerate(groups) if start <= _group_start(meta) < stop]
            if not in_range:
                return
            plan = _plan(parquet, columns, rebase)
            for group in in_range:
                if not may_match(groups[group], filters):
                    continue
                at = _group_start(groups[group])
                for batch in parquet.iter_batches(
                    _BATCH_ROWS, row_groups=[group], columns=plan.names, use_threads=False
                ):
                    yield FileBlock(plan.converted(batch), at, at)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with named_errors(status, "parquet"):
            return inferred_schema(_open(file))


def _open(file: Any) -> Any:
    import pyarrow.parquet as pq

    # Microseconds: all that Spark knows, and nanoseconds hold the years 1677 to 2262 only.
    return pq.ParquetFile(file, coerce_int96_timestamp_unit="us")


def _plan(parquet: Any, columns: pa.Schema, rebase: Rebase) -> ColumnPlan:
    """Return what becomes of the columns of an open file."""
    check_no_variant(parquet, columns)
    leaves = leaves_of(parquet)
    counts = [leaf_count(field.type) for field in parquet.schema_arrow]
    firsts = dict(zip(parquet.schema_arrow.names, accumulate(counts, initial=0), strict=False))

    def leaves_below(name: str) -> LeafConversion:
        def convert(found: Any, wanted: Any, at: int) -> ColumnConversion:
            return leaf_conversion(leaves[firsts[name] + at], found, wanted, rebase)

        return convert

    return ColumnPlan(parquet.schema_arrow, columns, leaves_below)


def _group_start(meta: Any) -> int:
    """Return where the first page of a row group begins."""
    chunks = [meta.column(at) for at in range(meta.num_columns)]
    offsets = [
        offset for chunk in chunks for offset in (chunk.dictionary_page_offset, chunk.data_page_offset)
    ]
    return min((int(offset) for offset in offsets if offset), default=0)
