"""Arrow IPC (Feather), Arrow's types as those of Spark, and the base of formats that tell their columns."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

import pyarrow as pa

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.column_types import ColumnConversion, ColumnPlan, UnfitTypeError
from headwater.readers.files.file_format import FileBlock, FileFormat

_FLAT_TYPES: Final[tuple[tuple[Callable[[Any], bool], pa.DataType], ...]] = (
    (pa.types.is_timestamp, pa.timestamp("us", "UTC")),
    (pa.types.is_date, pa.date32()),
    (pa.types.is_null, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_binary_view, pa.binary()),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_uint32, pa.int64()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
)
"""Types that Spark does not have, and those that hold their values."""
_MOST_DIGITS: Final = 38


def spark_type(kind: Any) -> pa.DataType:
    """Return the type of Spark that holds the values of a type of Arrow."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return spark_type(kind.value_type)
    if types.is_struct(kind):
        return pa.struct([pa.field(field.name, spark_type(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(spark_type(kind.key_type), spark_type(kind.item_type))
    if types.is_nested(kind) and not types.is_union(kind):  # lists of all kinds
        return pa.list_(spark_type(cast("Any", kind).value_type))
    if types.is_decimal(kind):
        # Arrow's shorter and longer ones.
        return pa.decimal128(min(kind.precision, _MOST_DIGITS), kind.scale)
    return next((spark for is_kind, spark in _FLAT_TYPES if is_kind(kind)), kind)


def arrow_conversion(source: Any, target: Any, _at: int) -> ColumnConversion:
    """Return the cast of a leaf of an Arrow file: one without loss.

    Raises:
        UnfitTypeError: the one is never the other.
    """
    types = pa.types
    is_time = types.is_timestamp(source) and types.is_timestamp(target)
    if not is_time and not pa.scalar(None, source).cast(target).type == target:
        raise UnfitTypeError
    # Nanoseconds become microseconds, as in Spark, and no error.
    return lambda column: column.cast(target, safe=not is_time)


_BATCH_ROWS = 32_768


class ColumnarFormat(FileFormat):
    """The base of such formats: a file can be split, and a block is a batch that pyarrow has decoded."""

    def is_splittable(self, url: str) -> bool:
        return True

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield block.batch


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
                for at, number in shares(source.num_record_batches, status.size_bytes, start, stop):
                    for part in _parts(_checked(source.get_batch(number), plan)):
                        yield FileBlock(plan.converted(part), at, at)
            elif start == 0:
                for batch in source.to_batches() if isinstance(source, pa.Table) else source:
                    yield FileBlock(plan.converted(_checked(batch, plan)), 0, 0)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with named_errors(status, "arrow"):
            schema = _open_arrow(file).schema
            for field in schema:
                if _has_no_spark_type(field.type):
                    raise UnfitTypeError(
                        f"column {field.name!r} is {field.type}, which no column can be inferred of: give "
                        ".schema(...) without it"
                    )
            return pa.schema([pa.field(field.name, spark_type(field.type)) for field in schema])


def _has_no_spark_type(kind: Any) -> bool:
    """Whether a type of Arrow, or one inside of it, has values that no type of Spark holds."""
    types = pa.types
    if types.is_union(kind) or types.is_interval(kind):
        return True
    if types.is_decimal(kind):
        return bool(kind.precision > _MOST_DIGITS)
    return any(_has_no_spark_type(kind.field(at).type) for at in range(kind.num_fields))


def _checked(batch: pa.RecordBatch, plan: ColumnPlan) -> pa.RecordBatch:
    """Return a batch of which the columns that are read were looked at, value by value.

    A file says where each value lies in it, and pyarrow believes it: a wrong offset would read memory behind
    the file, or end this process, or the JVM.

    Raises:
        pa.ArrowInvalid: it is damaged.
    """
    for name in plan.names:
        batch.column(name).validate(full=True)
    return batch


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield a large batch in slices."""
    for offset in range(0, batch.num_rows, _BATCH_ROWS):
        yield batch.slice(offset, _BATCH_ROWS)


def shares(parts: int, size: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield place and number of the parts of a file that a range reads, as if all were equally long."""
    for number in range(parts):
        at = size * number // parts
        if start <= at < stop:
            yield at, number


def _open_arrow(file: Any) -> Any:
    # A task has one core. And where memory is short, Arrow's library up to 25 ends the process that gets no
    # thread.
    options = pa.ipc.IpcReadOptions(use_threads=False)
    magic = file.read(6)
    file.seek(0)
    if magic == b"ARROW1":
        return pa.ipc.open_file(file, options=options)
    if magic.startswith(b"FEA1"):
        from pyarrow import feather

        return feather.read_table(file, use_threads=False)
    return pa.ipc.open_stream(file, options=options)


_NOT_OF_ARROW: Final = re.compile(r"^(LIST|MAP)-annotated groups|^Map keys must|^Key-value map node")
"""The beginnings of errors of Arrow's library about nested columns in a layout that it does not expect."""


def _is_short_of_memory(error: BaseException) -> bool:
    """Whether a read failed by the limit of this process, and not by the file.

    Without a limit no right file asks for more than there is. A thread of Arrow's has no room for its stack.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return False
    return isinstance(error, MemoryError) or "Failed to launch worker thread" in str(error)


@contextmanager
def named_errors(status: FileStatus, kind: str) -> Iterator[None]:
    """Name the file in pyarrow's errors, and in errors about its schema."""
    try:
        yield
    except UnfitTypeError as error:
        raise CorruptRecordError(str(error), source="files", split=status.url) from error
    except (pa.ArrowException, EOFError, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
            raise  # of the file system
        if _is_short_of_memory(error):
            # The file may be right: so it is never skipped as a damaged one is.
            raise SourceError(
                f"this {kind} file takes more memory than a Python worker may have "
                f"(spark.executor.pyspark.memory): {error}",
                source="files",
                split=status.url,
            ) from error
        if _NOT_OF_ARROW.search(str(error)):
            # Spark may well read it: so it is never skipped as a damaged file is.
            raise SourceError(
                f"the columns of this {kind} file are laid out as Arrow's library does not read them "
                f"({error}): read it with Spark's own reader, spark.read.format({kind!r})",
                source="files",
                split=status.url,
            ) from error
        raise CorruptRecordError(
            f"this is no {kind} file, or a damaged one: {error}", source="files", split=status.url
        ) from error
