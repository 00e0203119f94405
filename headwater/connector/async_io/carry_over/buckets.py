"""Rows divided among tasks and packed for the shuffle: few values with exact types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from headwater.connector.async_io.carried_rows import pack, unpack
from headwater.connector.async_io.carry_over.event_time import EventTime
from headwater.connector.compat import quoted
from headwater.core.errors import OptionError

_MASK = 0xFFFFFFFF
_Packed: TypeAlias = tuple[int, bytes | None, int | None, int | None]
PACKED = "key int, rows binary, latest_ms long, task int, number int"


@dataclass(frozen=True)
class Packing:
    """Packs rows for the shuffle. Pickled to its tasks.

    With event time each task also tells all keys the latest time that it saw. Spark shuffles a batch whole
    before the next stage begins: so every key knows the latest time of the whole batch before its rows end.

    The pieces of each key are numbered in their order, for `PiecesInOrder`.

    Attributes:
        keys: of all buckets.
        event_time: None: no latest time is needed.
    """

    keys: Sequence[int]
    event_time: EventTime | None

    def packed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield `PACKED`: the rows of each key. For ``mapInArrow``; the input's last column is the key."""
        latest_ms: int | None = None
        pieces: Counter[int] = Counter()
        for batch in batches:
            last = batch.num_columns - 1
            rows = batch.select(list(range(last)))
            yield _packed_by_key(rows, batch.column(last), pieces)
            if self.event_time is not None:
                latest_ms = self.event_time.latest_ms(rows, latest_ms)
        if latest_ms is not None:
            yield _packed([(key, None, latest_ms, None) for key in self.keys])


def _packed_by_key(
    rows: pa.RecordBatch, key_column: pa.Array[pa.Int32Scalar], pieces: Counter[int]
) -> pa.RecordBatch:
    packed: list[_Packed] = []
    for each in pc.unique(key_column):
        key = each.as_py()
        for payload in pack(rows.filter(pc.equal(key_column, each))):
            packed.append((key, payload, None, pieces[key]))
            pieces[key] += 1
    return _packed(packed)


def _packed(lines: Sequence[_Packed]) -> pa.RecordBatch:
    context = TaskContext.get()
    task = context.partitionId() if context is not None else 0
    keys, payloads, latest_ms, numbers = zip(*lines, strict=True) if lines else ((), (), (), ())
    return pa.RecordBatch.from_arrays(
        [
            pa.array(keys, pa.int32()),
            pa.array(payloads, pa.binary()),
            pa.array(latest_ms, pa.int64()),
            pa.array([task] * len(lines), pa.int32()),
            pa.array(numbers, pa.int32()),
        ],
        names=["key", "rows", "latest_ms", "task", "number"],
    )


class PiecesInOrder:
    """Gives the pieces of a key in the order in which each task of the shuffle packed them.

    Spark's sort by key leaves them so, until it spills: files that were spilled are merged in any order.
    Pieces that come too early are held in memory.
    """

    def __init__(self) -> None:
        self._next: Counter[int] = Counter()
        self._early: dict[tuple[int, int], bytes] = {}

    def taken(self, piece: Row) -> Iterator[bytes]:
        """Take a piece; yield those whose turn it is."""
        self._early[piece.task, piece.number] = bytes(piece.rows)
        while (rows := self._early.pop((piece.task, self._next[piece.task]), None)) is not None:
            self._next[piece.task] += 1
            yield rows


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches that were packed in the one column of the input. For ``mapInArrow``."""
    for batch in batches:
        yield from (unpack(rows.as_py()) for rows in batch.column(0))


def bucket_of(df: DataFrame, keys: Sequence[int], columns: Collection[str]) -> Column:
    """Return the key of each row's bucket.

    It depends on the row's values alone: if a task of the shuffle is run again and meets its rows in another
    order, each goes where it went before.

    Args:
        df: the input.
        keys: of all buckets.
        columns: by whose values rows are divided.

    Raises:
        OptionError: there are buckets, and no column has a type that Spark can hash.
    """
    if len(keys) == 1:
        return F.lit(keys[0])
    hashed = [
        F.col(quoted(field.name))
        for field in df.schema
        if field.name in columns and _has_hash(field.dataType)
    ]
    if not hashed:
        raise OptionError(
            "needs an input column that is no map: rows are divided among tasks by their values",
            option="carry_over",
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
    used_buckets: set[int] = set()
    key = 0
    while len(keys) < min(buckets, partitions):
        if (partition := _hash_of(key) % partitions) not in used_buckets:
            used_buckets.add(partition)
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
