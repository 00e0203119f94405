"""Asynchronous I/O side by side, without Spark and inside it.

``python benchmarks/async_io.py`` prints a Markdown table.

Services are simulated: a call that sleeps costs no other process's time. Each figure is the median of some
rounds in which all variants take turns. Inside Spark there is one task on one core (``local[1]``), one
partition, the ``noop`` sink; the time is that of the whole job.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

import headwater as hw
from benchmarks import async_io_core as core

if TYPE_CHECKING:
    from benchmarks.async_io_core import Variant

__all__ = ["main", "spark_variants"]

ARROW_CONCURRENCY = "spark.sql.execution.pythonUDF.arrow.concurrency.level"
SCHEMA = "answer long"


async def at_once(row: Any) -> tuple[int]:
    return (row[0],)


async def in_10_ms(row: Any) -> tuple[int]:
    await asyncio.sleep(0.01)
    return (row[0],)


async def one_in_a_hundred_in_1_s(row: Any) -> tuple[int]:
    await asyncio.sleep(1.0 if row[0] % 100 == 0 else 0.01)
    return (row[0],)


class BulkAtOnce(hw.async_io.AsyncBatchFunction):
    async def async_invoke_batch(self, rows: Sequence[Any]) -> Sequence[Any]:
        return [tuple(row) for row in rows]


class ArrowAtOnce(hw.async_io.AsyncArrowFunction):
    async def async_invoke_arrow(self, rows: pa.RecordBatch) -> pa.Table:
        return pa.table({"answer": pc.add(rows.column("id"), pa.scalar(1))})


def three_columns(df: DataFrame) -> DataFrame:
    return df.selectExpr("id", "id * 0.5D half", "cast(id as string) text")


def as_it_is(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def with_plain_asyncio(
    call: Callable[[Any], Any],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What one writes without the operator: each Arrow batch is asked with a semaphore, and waited for."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        async def ask_all(numbers: list[int]) -> list[int]:
            semaphore = asyncio.Semaphore(core.CAPACITY)

            async def ask(number: int) -> int:
                async with semaphore, asyncio.timeout(core.TIMEOUT_S):
                    return int((await call((number,)))[0])

            return await asyncio.gather(*map(ask, numbers))

        for batch in batches:
            answers = asyncio.run(ask_all(batch.column(0).to_numpy().tolist()))
            yield pa.RecordBatch.from_arrays(
                [batch.column(0), pa.array(answers, pa.int64())], names=["id", "answer"]
            )

    return run


def with_arrow_udf(df: DataFrame, seconds: Callable[[int], float]) -> DataFrame:
    """Ask in Spark's own way: a blocking Arrow UDF, on as many threads as its setting says."""

    def ask(number: int) -> int:
        time.sleep(seconds(number))
        return number

    return df.withColumn("answer", F.udf(ask, "long", useArrow=True)(df.id))


def spark_variants(spark: SparkSession, scale: float) -> list[Variant]:
    """Return what is measured inside Spark."""

    def job(make: Callable[[DataFrame], DataFrame]) -> Callable[[int], int]:
        def run(rows: int) -> int:
            make(spark.range(0, rows, 1, 1)).write.format("noop").mode("overwrite").save()
            return rows

        return run

    def plain(call: Any) -> Callable[[int], int]:
        return job(lambda df: df.mapInArrow(with_plain_asyncio(call), f"id long, {SCHEMA}"))

    def waiting(wait: Any, function: Any, **options: Any) -> Callable[[int], int]:
        return job(
            lambda df: wait(
                df,
                function,
                schema=SCHEMA,
                timeout=f"{core.TIMEOUT_S:.0f}s",
                capacity=core.CAPACITY,
                **options,
            )
        )

    slow, tail, zero, bulk = (max(100, int(rows * scale)) for rows in (40_000, 20_000, 200_000, 2_000_000))
    return [
        core.Variant(
            "10 ms: Spark's Arrow UDF, concurrency 100",
            slow,
            job(lambda df: with_arrow_udf(df, lambda _: 0.01)),
        ),
        core.Variant("10 ms: plain asyncio in mapInArrow", slow, plain(in_10_ms)),
        core.Variant("10 ms: unordered_wait", slow, waiting(hw.unordered_wait, in_10_ms)),
        core.Variant("10 ms: ordered_wait", slow, waiting(hw.ordered_wait, in_10_ms)),
        core.Variant(
            "1 % in 1 s: Spark's Arrow UDF, concurrency 100",
            tail,
            job(lambda df: with_arrow_udf(df, lambda n: 0.01 if n % 100 else 1.0)),
        ),
        core.Variant("1 % in 1 s: plain asyncio in mapInArrow", tail, plain(one_in_a_hundred_in_1_s)),
        core.Variant("1 % in 1 s: unordered_wait", tail, waiting(hw.unordered_wait, one_in_a_hundred_in_1_s)),
        core.Variant("1 % in 1 s: ordered_wait", tail, waiting(hw.ordered_wait, one_in_a_hundred_in_1_s)),
        core.Variant("answers at once: plain asyncio in mapInArrow", zero, plain(at_once)),
        core.Variant("answers at once: unordered_wait", zero, waiting(hw.unordered_wait, at_once)),
        core.Variant(
            "answers at once: unordered_wait, bulk calls of 1000",
            bulk,
            waiting(hw.unordered_wait, BulkAtOnce(), batching=hw.async_io.Batching(size=1000)),
        ),
        core.Variant(
            "Arrow batches, three columns: mapInArrow that does nothing",
            bulk,
            job(lambda df: three_columns(df).mapInArrow(as_it_is, "id long, half double, text string")),
        ),
        core.Variant(
            "Arrow batches, three columns: AsyncArrowFunction that adds one",
            bulk,
            job(lambda df: hw.unordered_wait(three_columns(df), ArrowAtOnce(), schema=SCHEMA)),
        ),
    ]


def session() -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master("local[1]")
        .appName("async_io")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
    )
    for key, value in {**hw.recommended_conf(), ARROW_CONCURRENCY: str(core.CAPACITY)}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def medians(variants: Sequence[Variant], repeat: int) -> dict[str, float]:
    """Measure; return rows per second by name."""
    rounds = [[core.measure(variant)[0] for variant in variants] for _ in range(repeat)]
    return {
        variant.name: statistics.median(samples)
        for variant, samples in zip(variants, zip(*rounds, strict=True), strict=True)
    }


def pyflink(python: str, arguments: argparse.Namespace) -> dict[str, float]:
    """Measure PyFlink in a Python that has it."""
    script = Path(__file__).with_name("async_io_pyflink.py")
    command = [
        python,
        str(script),
        f"--scale={arguments.scale}",
        f"--repeat={arguments.repeat}",
        f"--only={arguments.only}",
    ]
    found: dict[str, float] = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    return found


def table(found: dict[str, float]) -> str:
    """Return the figures as Markdown."""
    return "\n".join(
        ["| calls | rows/s |", "|---|---:|", *(f"| {name} | {rate:,.0f} |" for name, rate in found.items())]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer rows")
    parser.add_argument("--repeat", type=int, default=3, help="rounds")
    parser.add_argument("--only", default="", help="variants whose names begin so")
    parser.add_argument("--pyflink", help="a Python with apache-flink, to measure its operator too")
    args = parser.parse_args(arguments)

    def chosen(variants: list[Variant]) -> list[Variant]:
        return [variant for variant in variants if variant.name.startswith(args.only)]

    outside = medians(chosen(core.variants(args.scale)), args.repeat)
    if args.pyflink:
        outside = dict(sorted({**outside, **pyflink(args.pyflink, args)}.items()))
    print(f"Without Spark\n\n{table(outside)}\n")
    spark = session()
    variants = chosen(spark_variants(spark, args.scale))
    for variant in variants:  # starts the workers
        variant.run(100)
    print(f"Inside Spark, one task\n\n{table(medians(variants, args.repeat))}")
    spark.stop()


if __name__ == "__main__":
    main()
