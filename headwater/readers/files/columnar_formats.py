"""Parquet, Arrow IPC (Feather) and ORC: files that say themselves what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.block import FileBlock
from headwater.readers.files.file_format import FileFormat
from headwater.readers.files.pruning import may_match

__all__ = ["ArrowFormat", "OrcFormat", "ParquetFormat", "spelled"]

_BATCH_ROWS = 32_768


class _ColumnarFormat(FileFormat):
    """What they have in common: a block is a batch, decoded by pyarrow already."""

    def decode(self, block: FileBlock, url: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield cast("pa.RecordBatch", block.data)


class ParquetFormat(_ColumnarFormat):
    """A range reads the row groups that begin in it."""

    def is_splittable(self, url: str) -> bool:
        return True

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        import pyarrow.parquet as pq

        with _said(status, "parquet"):
            parquet = pq.ParquetFile(file)
            names = spelled(parquet.schema_arrow, columns)
            for group in range(parquet.metadata.num_row_groups):
                meta = parquet.metadata.row_group(group)
                at = (
                    min(_chunk_start(meta.column(column)) for column in range(meta.num_columns))
                    if meta.num_columns
                    else 0
                )
                if start <= at < stop and may_match(meta, self.settings.filters):
                    for batch in parquet.iter_batches(
                        _BATCH_ROWS, row_groups=[group], columns=list(names), use_threads=False
                    ):
                        yield FileBlock(_renamed(batch, names, batch.num_rows), at, at)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        import pyarrow.parquet as pq

        with _said(status, "parquet"):
            return pq.ParquetFile(file).schema_arrow


class ArrowFormat(_ColumnarFormat):
    """Arrow IPC files and streams, and Feather of both versions.

    A range of a file reads the batches that it has a share in, by their number.
    """

    def is_splittable(self, url: str) -> bool:
        return True

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        with _said(status, "arrow"):
            opened = _open_arrow(file)
            names = spelled(opened.schema, columns)
            if not isinstance(opened, pa.ipc.RecordBatchFileReader):
                batches = (
                    iter(
                        opened if isinstance(opened, pa.ipc.RecordBatchStreamReader) else opened.to_batches()
                    )
                    if not start
                    else iter(())
                )
                yield from (
                    FileBlock(_renamed(batch.select(list(names)), names, batch.num_rows), 0, 0)
                    for batch in batches
                )
                return
            for at, number in _shares(opened.num_record_batches, status.size_bytes, start, stop):
                batch = opened.get_batch(number)
                for offset in range(0, batch.num_rows, _BATCH_ROWS):
                    part = batch.slice(offset, _BATCH_ROWS)
                    yield FileBlock(_renamed(part.select(list(names)), names, part.num_rows), at, at)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with _said(status, "arrow"):
            return cast("pa.Schema", _open_arrow(file).schema)


class OrcFormat(_ColumnarFormat):
    """A range reads the stripes that it has a share in, by their number."""

    def is_splittable(self, url: str) -> bool:
        return True

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        from pyarrow import orc

        with _said(status, "orc"):
            opened = orc.ORCFile(file)
            names = spelled(opened.schema, columns)
            for at, number in _shares(opened.nstripes, status.size_bytes, start, stop):
                stripe = opened.read_stripe(number, columns=list(names) or opened.schema.names[:1])
                for offset in range(0, stripe.num_rows, _BATCH_ROWS):
                    part = stripe.slice(offset, _BATCH_ROWS)
                    yield FileBlock(_renamed(part, names, part.num_rows), at, at)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        from pyarrow import orc

        with _said(status, "orc"):
            return orc.ORCFile(file).schema


def spelled(found: pa.Schema, wanted: pa.Schema) -> dict[str, str]:
    """Return which columns of a file are wanted, by their names there.

    In any case, as in Spark, but the same case first.
    """
    by_lower = {name.lower(): name for name in reversed(found.names)}
    pairs = ((name if name in found.names else by_lower.get(name.lower()), name) for name in wanted.names)
    return {there: here for there, here in pairs if there is not None}


def _renamed(batch: pa.RecordBatch, names: dict[str, str], rows: int) -> pa.RecordBatch:
    """Return a batch with the schema's names.

    One column of nulls if there is no other, so that the number of rows is known.
    """
    if not names:
        return pa.RecordBatch.from_arrays([pa.nulls(rows)], names=[""])
    return batch.rename_columns([names.get(name, name) for name in batch.schema.names])


def _chunk_start(chunk: Any) -> int:
    offsets = (chunk.dictionary_page_offset, chunk.data_page_offset)
    return min(int(offset) for offset in offsets if offset)


def _shares(parts: int, size: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield place and number of the parts of a file that a range reads, as if all were equally long."""
    for number in range(parts):
        at = size * number // parts
        if start <= at < stop:
            yield at, number


def _open_arrow(file: Any) -> Any:
    magic = file.read(6)
    file.seek(0)
    if magic == b"ARROW1":
        return pa.ipc.open_file(file)
    if magic.startswith(b"FEA1"):
        from pyarrow import feather

        return feather.read_table(file)
    return pa.ipc.open_stream(file)


@contextmanager
def _said(status: FileStatus, kind: str) -> Iterator[None]:
    """Name the file in what pyarrow says of it."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, EOFError) as error:
        raise CorruptRecordError(
            f"this is no {kind} file, or a damaged one: {error}", source="files", split=status.url
        ) from error
