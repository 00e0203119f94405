"""A program that measures how much memory large batches and compression bombs take.

Prints the peaks in MiB as JSON: ``{"zeros": {codec: peak}, "bombs": {codec: peak}}``.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable

import cramjam
import pytest

from headwater.core.errors import SourceError
from headwater.readers.kafka.codecs import decompress
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.record_set import RecordSet
from headwater.readers.kernels.arenas import ArenaPool, Scratch
from tests.readers.kafka.record_sets import GZIP, LZ4, SNAPPY, ZSTD, Record, batch, emitted, state_of

MIB = 1 << 20
RECORD_BYTES = 70 * MIB
LIMIT_BYTES = 100 * MIB


def compress(codec: int, plain: bytes) -> bytes:
    match codec:
        case 1:
            return bytes(cramjam.gzip.compress(plain))
        case 2:
            return bytes(cramjam.snappy.compress_raw(plain))
        case 3:
            return bytes(cramjam.lz4.compress(plain))
        case _:
            return bytes(cramjam.zstd.compress(plain))


def peak_of(work: Callable[[], None]) -> float:
    """Return how far the peak of a child process rises: a peak never goes down again."""
    read, write = os.pipe()
    if not os.fork():
        before = _peak_mib()
        work()
        os.write(write, json.dumps(_peak_mib() - before).encode())
        os._exit(0)
    os.close(write)
    return float(os.read(read, 100))


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read_zeros(data: bytes) -> None:
    """Make rows of a batch with one record of zeros."""
    emitter = KafkaRecordEmitter(["value"])
    (rows,) = [*emitter.emit(RecordSet(data), state_of()), *emitter.flush()]
    assert rows.column("value")[0].as_buffer().size == RECORD_BYTES


def refuse(codec: int, bomb: bytes) -> None:
    """Decompress what becomes larger than the limit."""
    with pytest.raises(SourceError, match="maxInflatedBatchBytes"):
        decompress(codec, memoryview(bomb), Scratch(ArenaPool()), "orders-3", 7, LIMIT_BYTES)


def zeros_of(codec: int) -> float:
    record = Record(0, value=bytes(RECORD_BYTES))
    data = batch([record], attributes=codec, compress=lambda body: compress(codec, body))
    return peak_of(lambda: read_zeros(data))


def bomb_of(codec: int) -> float:
    """Frames one after the other where the codec allows it: 4 GiB in all; else 256 MiB."""
    bomb = compress(codec, bytes(256 * MIB)) if codec == LZ4 else compress(codec, bytes(MIB)) * 4_096
    return peak_of(lambda: refuse(codec, bomb))


def main() -> None:
    emitted(batch([Record(0)]))  # the kernel is loaded now
    names = {"gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
    zeros = {name: zeros_of(codec) for name, codec in names.items()}
    bombs = {name: bomb_of(codec) for name, codec in names.items() if codec != SNAPPY}
    print(json.dumps({"zeros": zeros, "bombs": bombs}))


if __name__ == "__main__":
    main()
