"""What asynchronous I/O adds to a call: from its end until its row is in an output batch; and memory.

``python benchmarks/async_io_latency.py --seconds 60``. Without Spark, at a steady rate, calls of 10 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pyarrow as pa

from headwater.connector.async_io.results import ResultFormat
from headwater.connector.async_io.task import AsyncWait
from headwater.readers.async_io.function_calls import as_function
from headwater.readers.async_io.settings import AsyncSettings

__all__ = ["main", "measure"]

ended: dict[int, float] = {}
"""When the call of each row ended that is not out."""


async def in_10_ms(row: Any) -> tuple[int]:
    await asyncio.sleep(0.01)
    ended[row.id] = time.perf_counter()
    return (row.id,)


def paced(rate: int, seconds: float) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are due, every 5 ms."""
    began = time.perf_counter()
    given = 0
    while given < rate * seconds:
        due = min(int(rate * (time.perf_counter() - began)), int(rate * seconds))
        if due > given:
            yield pa.record_batch({"id": pa.array(range(given, due), pa.int64())})
        given = due
        time.sleep(0.005)


def measure(rate: int, seconds: float) -> tuple[list[float], list[int]]:
    """Return the milliseconds that each row waited, and the resident MiB at the end of each tenth."""
    wait = AsyncWait(
        function=as_function(in_10_ms),
        settings=AsyncSettings(capacity=100, timeout_ms=5000),
        share_id=str(uuid.uuid4()),
        columns=["id"],
        key_columns=(),
        kept_columns=["id"],
        results=ResultFormat(schema=pa.schema([("answer", pa.int64())])),
    )
    waited_ms: list[float] = []
    peaks: list[int] = []
    for batch in wait.run(paced(rate, seconds)):
        now = time.perf_counter()
        waited_ms += [(now - ended.pop(row)) * 1000 for row in batch.column("id").to_numpy().tolist()]
        if len(waited_ms) >= (len(peaks) + 1) * rate * seconds / 10:
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
    return waited_ms, peaks


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=int, default=1000, help="rows a second")
    args = parser.parse_args(arguments)
    waited_ms, peaks = measure(args.rate, args.seconds)
    cuts = statistics.quantiles(waited_ms, n=100)
    print(f"rows {len(waited_ms)}, added p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms; peak MiB {peaks}")


if __name__ == "__main__":
    main()
