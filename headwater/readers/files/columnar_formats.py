"""Arrow IPC (Feather) and ORC: columns with their types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.arrow_types import arrow_conversion, orc_conversion, spark_type
from headwater.readers.files.column_types import ColumnConversion, ColumnPlan, UnfitTypeError
from headwater.readers.files.file_format import FileBlock, FileFormat
from headwater.readers.files.rebase import Rebase
from headwater.readers.files.rebase_modes import RebaseModes

_BATCH_ROWS = 32_768
_ORC_MODES = RebaseModes("LEGACY")
"""ORC says by which calendar dates are, and pyarrow does not tell it: all but Spark write the old one."""


class ColumnarFormat(FileFormat):
    """What they have in common: a file can be split, and a block is a batch that pyarrow has decoded."""

    def is_splittable(self, url: str) -> bool:
        return True

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield cast("pa.RecordBatch", block.data)


class ArrowFormat(ColumnarFormat):
    """Arrow IPC files and streams, and Feather of both versions.

    A range of a file reads the batches that it has a share in, by their number. A stream, and Feather of
    version 1, are read whole, by the range that begins the file.
    """

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        with named_errors(status, "arrow"):
            source = _open_arrow(file)
            plan = ColumnPlan(source.schema, columns, lambda _name: arrow_conversion)
            if isinstance(source, pa.ipc.RecordBatchFileReader):
                for at, number in _shares(source.num_record_batches, status.size_bytes, start, stop):
                    for part in _parts(source.get_batch(number)):
                        yield FileBlock(plan.converted(part), at, at)
            elif start == 0:
                for batch in source.to_batches() if isinstance(source, pa.Table) else source:
                    yield FileBlock(plan.converted(batch), 0, 0)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with named_errors(status, "arrow"):
            found = _open_arrow(file).schema
            return pa.schema([pa.field(field.name, spark_type(field.type)) for field in found])


class OrcFormat(ColumnarFormat):
    """A range reads the stripes that it has a share in, by their number."""

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        from pyarrow import orc

        with named_errors(status, "orc"):
            source = orc.ORCFile(file)
            stripes = list(_shares(source.nstripes, status.size_bytes, start, stop))
            if not stripes:
                return
            found = source.schema
            if _is_without_names(found, columns):
                found = pa.schema([found.field(at).with_name(name) for at, name in _places(found, columns)])
            rebase = Rebase.of(status.url, source.schema.metadata, _ORC_MODES)

            def convert(kind: Any, wanted: Any, _at: int) -> ColumnConversion:
                return orc_conversion(kind, wanted, rebase)

            plan = ColumnPlan(found, columns, lambda _name: convert)
            spelled = dict(zip(source.schema.names, found.names, strict=True))
            # With no column one is read all the same, so that the number of rows is known.
            read = [name for name in spelled if spelled[name] in plan.names] or source.schema.names[:1]
            for at, number in stripes:
                for part in _parts(source.read_stripe(number, columns=read)):
                    batch = part.rename_columns([spelled[name] for name in part.schema.names])
                    yield FileBlock(plan.converted(batch), at, at)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        from pyarrow import orc

        with named_errors(status, "orc"):
            return pa.schema([pa.field(field.name, _orc_type(field)) for field in orc.ORCFile(file).schema])


def _is_without_names(found: pa.Schema, columns: pa.Schema) -> bool:
    """Whether columns go by their places, as in Spark: old versions of Hive wrote no names."""
    both = (found.names, columns.names)
    return [bool(names) and all(name.startswith("_col") for name in names) for names in both] == [True, False]


def _places(found: pa.Schema, columns: pa.Schema) -> list[tuple[int, str]]:
    """Return the places of a file's columns, with the names that the schema has there.

    Raises:
        UnfitTypeError: the file has more columns than the schema.
    """
    if len(found.names) > len(columns.names):
        raise UnfitTypeError(
            f"the file has {len(found.names)} columns without names, and the schema {len(columns.names)}"
        )
    return list(enumerate(columns.names[: len(found.names)]))


def _orc_type(field: pa.Field[Any]) -> pa.DataType:
    """Return the type that Spark infers. It notes which longs are times without a zone."""
    note = (field.metadata or {}).get(b"spark.sql.catalyst.type")
    return pa.timestamp("us") if note == b"timestamp_ntz" else spark_type(field.type)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield a large batch in slices."""
    for offset in range(0, batch.num_rows, _BATCH_ROWS):
        yield batch.slice(offset, _BATCH_ROWS)


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
def named_errors(status: FileStatus, kind: str) -> Iterator[None]:
    """Name the file in what pyarrow says of it, and in how it does not fit the schema."""
    try:
        yield
    except UnfitTypeError as error:
        raise CorruptRecordError(str(error), source="files", split=status.url) from error
    except (pa.ArrowException, EOFError, OSError) as error:
        if "out of range for nanosecond" in str(error):
            raise CorruptRecordError(
                f"ORC is read with timestamps from 1677 to 2262 only: {error}; leave the column out, or "
                "write Parquet or Avro",
                source="files",
                split=status.url,
            ) from error
        if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
            raise  # of the file system
        raise CorruptRecordError(
            f"this is no {kind} file, or a damaged one: {error}", source="files", split=status.url
        ) from error
