"""Arrow batches that are not too large."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


def cut(batch: pa.RecordBatch, most_bytes: int, most_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield a batch in pieces of so many bytes and rows at most. A row that is larger is a piece alone."""
    if batch.num_rows > 1 and (batch.nbytes > most_bytes or batch.num_rows > most_rows):
        # Whole pieces where the rows are small. Where they are not, halves, until each piece is small enough.
        first = most_rows if batch.num_rows > most_rows else batch.num_rows // 2
        yield from cut(batch.slice(0, first), most_bytes, most_rows)
        yield from cut(batch.slice(first), most_bytes, most_rows)
    else:
        yield batch
