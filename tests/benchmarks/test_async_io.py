"""The benchmark of asynchronous I/O runs, on a few rows: every variant answers every row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import async_io, async_io_core, async_io_latency

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_variant_answers_every_row(spark: SparkSession) -> None:
    variants = [*async_io_core.variants(0), *async_io.spark_variants(spark, 0)]
    found = async_io.medians(variants, repeat=1)
    assert found.keys() == {variant.name for variant in variants}
    assert all(rate > 0 for rate in found.values())
    assert async_io.table({"10 ms": 9_100.4}) == "| calls | rows/s |\n|---|---:|\n| 10 ms | 9,100 |"


def test_each_row_of_the_benchmark_of_latency_is_measured() -> None:
    waited_ms, peaks = async_io_latency.measure(rate=1000, seconds=0.1)
    assert len(waited_ms) == 100
    assert min(waited_ms) >= 0
    assert peaks
    assert not async_io_latency.ended
