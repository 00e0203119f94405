"""Arrow batches: checked against a schema, cast to another one, as bytes; and event times of any type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from headwater.core.errors import ContractError, SourceError
from headwater.core.source import Source
from headwater.core.split import SplitPath


def check_schema(
    source: Source[Any, Any, Any], schema: pa.Schema, batch: pa.RecordBatch, path: SplitPath
) -> pa.RecordBatch:
    """Return the batch, which has the schema of its source.

    Spark would read a batch of another schema as garbage, or fail without naming the source.

    Args:
        source: for the error.
        schema: of the source.
        batch: from its emitter.
        path: of the split, for the error; empty if the rows are of several.

    Raises:
        ContractError: the batch has another schema.
    """
    if not batch.schema.equals(schema):
        whose = f"split {'-'.join(path)} of source {source.name!r}" if path else f"source {source.name!r}"
        raise ContractError(
            f"RecordEmitter.emit: a batch of {whose} has not the schema that Source.schema says:\n"
            f"{batch.schema}\nis not\n{schema}"
        )
    return batch


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema, source: str) -> pa.RecordBatch:
    """Return a batch with the columns of another schema, which has the same ones in other Arrow types.

    One type of Spark is many of Arrow: a list whose field has another name, a time in another unit or zone,
    a string with long offsets. Nothing is copied where the types are the same.

    Args:
        batch: its columns have the order of the schema.
        schema: the schema of the result.
        source: for the error.

    Raises:
        SourceError: a value does not fit into the other type, such as parts of a microsecond.
    """
    if batch.schema.equals(schema):
        return batch
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        try:
            columns.append(column if column.type.equals(field.type) else column.cast(field.type))
        except pa.ArrowInvalid as error:
            raise SourceError(
                f"column {field.name!r} has a value that does not fit from {column.type} into {field.type}, "
                f"which is what Spark reads: {error}",
                source=source,
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def times_ms(times: pa.Array[Any]) -> pa.Array[Any]:
    """Return times, of any type that has them, in ms since 1970."""
    in_ms: pa.Array[Any] = times.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    return in_ms


def write_batches(batches: Sequence[pa.RecordBatch]) -> bytes:
    """Return batches of one schema as one IPC stream; no bytes for no batch."""
    if not batches:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def read_batches(stream: bytes | memoryview) -> list[pa.RecordBatch]:
    """Return the batches that `write_batches` wrote. They share the memory of ``stream``."""
    if not stream:
        return []
    with pa.ipc.open_stream(pa.py_buffer(stream)) as reader:
        return list(reader)
