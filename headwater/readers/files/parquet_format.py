"""Parquet, by pyarrow, with the types of Spark's reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.column_types import Conversion, conversion, find_name, leaf_count
from headwater.readers.files.columnar_formats import ColumnarFormat, named_errors
from headwater.readers.files.file_format import FileBlock
from headwater.readers.files.parquet_types import inferred_schema, leaf_conversion, leaves_of
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
            plan = _conversions(parquet, columns, rebase)
            for group in in_range:
                if not may_match(groups[group], filters):
                    continue
                at = _group_start(groups[group])
                for batch in parquet.iter_batches(
                    _BATCH_ROWS, row_groups=[group], columns=list(plan), use_threads=False
                ):
                    yield FileBlock(_converted(batch, plan), at, at)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with named_errors(status, "parquet"):
            return inferred_schema(_open(file))


def _open(file: Any) -> Any:
    import pyarrow.parquet as pq

    # Microseconds: all that Spark knows, and nanoseconds hold the years 1677 to 2262 only.
    return pq.ParquetFile(file, coerce_int96_timestamp_unit="us")


def _conversions(
    parquet: Any, columns: pa.Schema, rebase: Rebase
) -> dict[str, tuple[pa.Field[Any], Conversion]]:
    """Return for each column of the file that is wanted what it is in the schema, and what makes it that."""
    found = parquet.schema_arrow
    leaves = leaves_of(parquet)

    def convert_leaf(kind: Any, wanted: Any, at: int) -> Conversion:
        return leaf_conversion(leaves[at], kind, wanted, rebase)

    first = 0
    firsts: dict[str, int] = {}
    for field in found:
        firsts[field.name] = first
        first += leaf_count(field.type)
    plan: dict[str, tuple[pa.Field[Any], Conversion]] = {}
    for field in columns:
        name = find_name(found.names, field.name, f"column {field.name!r}")
        if name is not None:
            kind = found.field(name).type
            convert = conversion(kind, field.type, convert_leaf, f"column {field.name!r}", firsts[name])
            plan[name] = (field, convert)
    return plan


def _converted(batch: pa.RecordBatch, plan: dict[str, tuple[pa.Field[Any], Conversion]]) -> pa.RecordBatch:
    """Return a batch with the schema's columns; with one of nulls if there is none, for its rows."""
    if not plan:
        return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows)], names=[""])
    arrays = [convert(batch.column(name)) for name, (_, convert) in plan.items()]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([field for field, _ in plan.values()]))


def _group_start(meta: Any) -> int:
    """Return where the first page of a row group begins."""
    chunks = [meta.column(at) for at in range(meta.num_columns)]
    offsets = [
        offset for chunk in chunks for offset in (chunk.dictionary_page_offset, chunk.data_page_offset)
    ]
    return min((int(offset) for offset in offsets if offset), default=0)
