"""Arrow batches as bytes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.ipc


def write_batches(batches: Sequence[pa.RecordBatch]) -> bytes:
    """Return batches of one schema as one IPC stream; no bytes for no batch."""
    if not batches:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def read_batches(stream: bytes) -> list[pa.RecordBatch]:
    """Return the batches that `write_batches` wrote. They share the memory of ``stream``."""
    if not stream:
        return []
    with pa.ipc.open_stream(stream) as reader:
        return list(reader)
