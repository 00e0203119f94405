"""Arrow IPC (Feather) and ORC: columns with their types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.column_types import UnfitTypeError
from headwater.readers.files.file_format import FileBlock, FileFormat

_BATCH_ROWS = 32_768


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
            names = _spelled(source.schema, columns)
            if isinstance(source, pa.ipc.RecordBatchFileReader):
                for at, number in _shares(source.num_record_batches, status.size_bytes, start, stop):
                    for part in _parts(source.get_batch(number)):
                        yield _block(part, names, at)
            elif start == 0:
                for batch in source.to_batches() if isinstance(source, pa.Table) else source:
                    yield _block(batch, names, 0)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with named_errors(status, "arrow"):
            return cast("pa.Schema", _open_arrow(file).schema)


class OrcFormat(ColumnarFormat):
    """A range reads the stripes that it has a share in, by their number."""

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        from pyarrow import orc

        with named_errors(status, "orc"):
            source = orc.ORCFile(file)
            names = _spelled(source.schema, columns)
            # With no column one is read all the same, so that the number of rows is known.
            read = list(names) or source.schema.names[:1]
            for at, number in _shares(source.nstripes, status.size_bytes, start, stop):
                for part in _parts(source.read_stripe(number, columns=read)):
                    yield FileBlock(_renamed(part, names, part.num_rows), at, at)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        from pyarrow import orc

        with named_errors(status, "orc"):
            return orc.ORCFile(file).schema


def _spelled(found: pa.Schema, wanted: pa.Schema) -> dict[str, str]:
    """Return the columns of a file that are wanted: the schema's names by those in the file.

    The case of a name does not count, as in Spark, but a name of the same case comes first.
    """
    # Reversed: of names that differ in case only, the first one counts.
    by_lower = {name.lower(): name for name in reversed(found.names)}
    names: dict[str, str] = {}
    for name in wanted.names:
        in_file = name if name in found.names else by_lower.get(name.lower())
        if in_file is not None:
            names[in_file] = name
    return names


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield a large batch in slices."""
    for offset in range(0, batch.num_rows, _BATCH_ROWS):
        yield batch.slice(offset, _BATCH_ROWS)


def _block(batch: pa.RecordBatch, names: dict[str, str], at: int) -> FileBlock:
    """Return a batch of a file with all its columns as a block with those that are wanted."""
    return FileBlock(_renamed(batch.select(list(names)), names, batch.num_rows), at, at)


def _renamed(batch: pa.RecordBatch, names: dict[str, str], rows: int) -> pa.RecordBatch:
    """Return a batch with the schema's names; with one column of nulls if it has no other, for its rows."""
    if not names:
        return pa.RecordBatch.from_arrays([pa.nulls(rows)], names=[""])
    return batch.rename_columns([names.get(name, name) for name in batch.schema.names])


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
        if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
            raise  # of the file system
        raise CorruptRecordError(
            f"this is no {kind} file, or a damaged one: {error}", source="files", split=status.url
        ) from error
