"""Rows packed for the shuffle and for the state: few values with exact types, one bucket for each task.

The state holds packed rows: what `unpack` reads must stay as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from headwater.core.errors import OptionError

_ROWS = 1024
_MASK = 0xFFFFFFFF


def pack(batch: pa.RecordBatch) -> Iterator[bytes]:
    """Yield a batch as Arrow's own bytes, piece by piece."""
    for start in range(0, batch.num_rows, _ROWS):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch.slice(start, _ROWS))
        yield sink.getvalue().to_pybytes()


def unpack(packed_rows: bytes) -> pa.RecordBatch:
    """Return the batch that `pack` made bytes of."""
    return pa.ipc.open_stream(packed_rows).read_next_batch()


def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield ``key`` and ``rows``: the rows of each key, packed.

    For ``mapInArrow``; the last column of the input is the key.
    """
    for batch in batches:
        last = batch.num_columns - 1
        key_column = batch.column(last)
        rows = batch.select(list(range(last)))
        keys: list[int] = []
        payloads: list[bytes] = []
        for key in pc.unique(key_column):
            for payload in pack(rows.filter(pc.equal(key_column, key))):
                keys.append(key.as_py())
                payloads.append(payload)
        yield pa.RecordBatch.from_arrays(
            [pa.array(keys, pa.int32()), pa.array(payloads, pa.binary())], names=["key", "rows"]
        )


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches that were packed in the one column of the input. For ``mapInArrow``."""
    for batch in batches:
        yield from (unpack(rows.as_py()) for rows in batch.column(0))


def bucket_of(df: DataFrame, columns: Sequence[str], keys: Sequence[int]) -> Column:
    """Return the key of each row's bucket.

    It depends on the row's values alone: if a task of the shuffle is run again and meets its rows in another
    order, each goes where it went before.

    Raises:
        OptionError: no column has a type that Spark can hash.
    """
    hashed = [F.col(f"`{name}`") for name in columns if _has_hash(df.schema[name].dataType)]
    if not hashed:
        raise OptionError(
            "must hold a column that is no map: rows are divided among tasks by their values",
            option="columns",
        )
    bucket = F.pmod(F.xxhash64(*hashed), F.lit(len(keys))).cast("int")
    return F.element_at(F.array(*map(F.lit, keys)), bucket + 1)  # element_at counts from 1


def bucket_keys(buckets: int, partitions: int) -> list[int]:
    """Return keys that Spark puts into shuffle partitions of their own, so that tasks wait side by side.

    Args:
        buckets: how many keys.
        partitions: how many shuffle partitions there are; no more keys than that are returned.
    """
    keys: list[int] = []
    taken: set[int] = set()
    key = 0
    while len(keys) < min(buckets, partitions):
        if (partition := _hash_of(key) % partitions) not in taken:
            taken.add(partition)
            keys.append(key)
        key += 1
    return keys


def _has_hash(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return all(_has_hash(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return _has_hash(kind.elementType)
    return not isinstance(kind, MapType)


def _hash_of(key: int) -> int:
    """Return Spark's hash of an int: Murmur3 (x86, 32 bits) with seed 42."""
    mixed = _rotated(key * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    value = (_rotated(42 ^ mixed, 13) * 5 + 0xE6546B64) & _MASK ^ 4
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    value ^= value >> 16
    return value - (1 << 32) if value >> 31 else value


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK
