"""Asynchronous I/O without Spark, beside plain asyncio in the same run.

``python benchmarks/async_io_core.py``.

Each line is the median of some rounds in which the variants take turns, so that other load on the machine
hits all of them. CPU seconds are the process's own: on a busy machine they tell more than the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.connector.async_io.results import ResultFormat
from headwater.connector.async_io.task import AsyncWait
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncArrowFunction, AsyncBatchFunction
from headwater.readers.async_io.settings import AsyncSettings, Batching, OnFailure, OutputMode

CAPACITY = 100
TIMEOUT_S = 5.0
FEED = 4096
ARROW_ROWS = 10_000


async def at_once(row: int) -> int:
    return row


async def in_10_ms(row: int) -> int:
    await asyncio.sleep(0.01)
    return row


async def one_in_a_hundred_in_1_s(row: int) -> int:
    await asyncio.sleep(1.0 if row % 100 == 0 else 0.01)
    return row


class BulkAtOnce(AsyncBatchFunction):
    async def async_invoke_batch(self, rows: Sequence[int]) -> Sequence[int]:
        return rows


class ArrowAtOnce(AsyncArrowFunction):
    async def async_invoke_arrow(self, rows: pa.RecordBatch) -> pa.Table:
        return pa.table({"answer": pc.add(rows.column("id"), pa.scalar(1))})


def arrow_task(rows: int) -> int:
    """Run Arrow batches of three columns through a whole task, whose function adds one."""
    columns = ["id", "half", "text"]
    ids = pa.array(range(ARROW_ROWS), pa.int64())
    halves = pc.multiply(ids.cast(pa.float64()), 0.5)
    batch = pa.RecordBatch.from_arrays([ids, halves, ids.cast(pa.string())], columns)
    wait = AsyncWait(
        function=ArrowAtOnce(),
        settings=AsyncSettings(capacity=CAPACITY, timeout_ms=int(TIMEOUT_S * 1000)),
        share_id="arrow_task",
        columns=columns,
        key_columns=["id"],
        kept_columns=columns,
        results=ResultFormat(
            schema=pa.schema([("answer", pa.int64())]), error_column=None, on_failure=OnFailure.FAIL
        ),
    )
    return sum(out.num_rows for out in wait.run([batch] * (rows // ARROW_ROWS)))


def operator(function: Any, rows: int, **settings: Any) -> int:
    """Run rows through the operator."""
    numbers = range(rows)
    feeds = [list(numbers[start : start + FEED]) for start in range(0, rows, FEED)]
    with AsyncWaitOperator(
        function, AsyncSettings(capacity=CAPACITY, timeout_ms=int(TIMEOUT_S * 1000), **settings)
    ) as running:
        return sum(len(outputs) for outputs in running.process(feeds))


async def plain(call: Callable[[int], Awaitable[int]], rows: int) -> int:
    """What one writes without the operator.

    A task per row, a semaphore, a timeout, results as they complete.
    """
    semaphore = asyncio.Semaphore(CAPACITY)
    done = 0

    async def one(row: int) -> None:
        nonlocal done
        async with semaphore, asyncio.timeout(TIMEOUT_S):
            await call(row)
            done += 1

    await asyncio.gather(*[one(row) for row in range(rows)])
    return done


@dataclass(frozen=True)
class Variant:
    """One line of the table."""

    name: str
    rows: int
    run: Callable[[int], int]


def variants(scale: float) -> list[Variant]:
    ordered = {"mode": OutputMode.ORDERED}
    zero, slow, tail, bulk = (max(100, int(rows * scale)) for rows in (50_000, 20_000, 10_000, 1_000_000))
    arrow = max(1, int(1_000 * scale)) * ARROW_ROWS
    return [
        Variant("answers at once: plain asyncio", zero, lambda rows: asyncio.run(plain(at_once, rows))),
        Variant("answers at once: operator, unordered", zero, lambda rows: operator(at_once, rows)),
        Variant("answers at once: operator, ordered", zero, lambda rows: operator(at_once, rows, **ordered)),
        Variant(
            "answers at once: operator, bulk calls of 1000",
            bulk,
            lambda rows: operator(BulkAtOnce(), rows, batching=Batching(size=1000)),
        ),
        Variant("Arrow batches, three columns: a task that adds one", arrow, arrow_task),
        Variant("10 ms: plain asyncio", slow, lambda rows: asyncio.run(plain(in_10_ms, rows))),
        Variant("10 ms: operator, unordered", slow, lambda rows: operator(in_10_ms, rows)),
        Variant("10 ms: operator, ordered", slow, lambda rows: operator(in_10_ms, rows, **ordered)),
        Variant(
            "1 % in 1 s: plain asyncio", tail, lambda rows: asyncio.run(plain(one_in_a_hundred_in_1_s, rows))
        ),
        Variant(
            "1 % in 1 s: operator, unordered", tail, lambda rows: operator(one_in_a_hundred_in_1_s, rows)
        ),
        Variant(
            "1 % in 1 s: operator, ordered",
            tail,
            lambda rows: operator(one_in_a_hundred_in_1_s, rows, **ordered),
        ),
        Variant(
            "1 % in 1 s: operator, ordered, Flink's room",
            tail // 20,
            lambda rows: operator(one_in_a_hundred_in_1_s, rows, queue_size=CAPACITY, **ordered),
        ),
    ]


def measure(variant: Variant) -> tuple[float, float]:
    """Return rows per second, and rows per CPU second."""
    clock = time.perf_counter()
    cpu = time.process_time()
    done = variant.run(variant.rows)
    assert done == variant.rows
    return variant.rows / (time.perf_counter() - clock), variant.rows / (time.process_time() - cpu)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer rows")
    parser.add_argument("--repeat", type=int, default=3, help="rounds")
    parser.add_argument("--only", default="", help="variants whose names begin so")
    arguments = parser.parse_args()
    chosen = [variant for variant in variants(arguments.scale) if variant.name.startswith(arguments.only)]
    rounds = [[measure(variant) for variant in chosen] for _ in range(arguments.repeat)]
    print(f"{'':52}{'rows/s':>12}{'rows/CPU s':>14}")
    for index, variant in enumerate(chosen):
        by_clock, by_cpu = (statistics.median(each[index][kind] for each in rounds) for kind in (0, 1))
        print(f"{variant.name:52}{by_clock:12,.0f}{by_cpu:14,.0f}")


if __name__ == "__main__":
    main()
