"""How much memory reading takes in a Python worker, beyond what the imports take."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

import headwater as hw
from benchmarks.bench import Bench, Scale
from benchmarks.children import run_in_child
from benchmarks.results import Figure, Section, Target
from benchmarks.subjects import HEADWATER, spark_session
from headwater.connector.compat import arrow_schema
from headwater.connector.spark.batch_reader import BatchReader
from headwater.connector.spark.datasource import HeadwaterDataSource
from headwater.core.source import Boundedness

__all__ = ["MeasuredDataSource", "run", "steps"]

MOST_MIB = 150
IDLE = "nothing: imports only"
IMPORTS = ("pyspark", "pyarrow", "numba")
_FOLDER = "BENCHMARK_MEMORY_FOLDER"
_IDLE = "BENCHMARK_MEMORY_IDLE"


def steps(_: Scale) -> int:
    """Return how often `run` calls ``bench.step``."""
    return 4


def run(bench: Bench) -> Section:
    """Read a small and a large topic of 1 KB records, and a compressed one, each in a new Spark.

    Compare with workers that only import.
    """
    small, large = bench.scale.memory_rows
    topics = {
        IDLE: bench.topic("memory-small", small, 1_000),
        f"1 KB, {small:,} records": bench.topic("memory-small", small, 1_000),
        f"1 KB, {large:,} records": bench.topic("memory-large", large, 1_000),
        f"zstd 100 B, {large:,} records": bench.topic("memory-zstd", large, 100, compression="zstd"),
    }
    figures = []
    for case, topic in topics.items():
        (peaks,) = run_in_child(
            worker_mib, bootstrap=bench.kafka.bootstrap_servers, topic=topic, idle=case == IDLE
        )
        figures.append(Figure(case, HEADWATER, "MiB", tuple(peaks)))
        bench.step(f"{case}: {max(peaks):.0f} MiB")
    return _section(figures)


def worker_mib(bootstrap: str, topic: str, idle: bool) -> Iterator[list[float]]:
    """In a process of its own: read a topic twice, and yield the peak of each Python worker.

    If ``idle``, the workers only import what reading needs, and it yields what they have then.
    """
    with tempfile.TemporaryDirectory(prefix="benchmark-memory-") as folder:
        os.environ[_FOLDER] = folder
        os.environ[_IDLE] = "1" if idle else ""
        spark = spark_session(hw.recommended_conf())
        spark.dataSource.register(MeasuredDataSource)
        reader = (
            spark.read.format(MeasuredDataSource.name())
            .option("source", "kafka")
            .option("kafka.bootstrap.servers", bootstrap)
        )
        for _ in range(2):
            reader.option("subscribe", topic).load().write.format("noop").mode("overwrite").save()
        spark.stop()
        yield [float(path.read_text()) for path in Path(folder).iterdir()]


class MeasuredDataSource(HeadwaterDataSource):
    """Headwater, which notes at the end of each task how much memory its process has needed so far.

    If the environment says so, it only imports what reading needs, and reads nothing.
    """

    @classmethod
    def name(cls) -> str:
        return "headwater-measured"

    def reader(self, schema: StructType) -> BatchReader:
        return (_IdleReader if os.environ[_IDLE] else _MeasuredReader)(
            self._bind(Boundedness.BOUNDED, schema), arrow_schema(schema)
        )


class _MeasuredReader(BatchReader):
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from super().read(partition)
        _note("VmHWM")


class _IdleReader(BatchReader):
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for name in IMPORTS:
            importlib.import_module(name)
        _note("VmRSS")
        return iter(())


def _note(field: str) -> None:
    """Write one of the system's numbers on this process to a file of its own."""
    status = Path("/proc/self/status").read_text()
    kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{field}:"))
    (Path(os.environ[_FOLDER]) / str(os.getpid())).write_text(str(kib / 1024))


def _section(figures: Sequence[Figure]) -> Section:
    idle = figures[0].median
    above = {figure.case: max(figure.samples) - idle for figure in figures[1:]}
    rows = [
        (figures[0].case, f"{idle:.0f}", ""),
        *(
            (figure.case, f"{max(figure.samples):.0f}", f"+{above[figure.case]:.0f}")
            for figure in figures[1:]
        ),
    ]
    return Section(
        "memory",
        "Memory of a Python worker, MiB",
        "Peak resident memory of the largest worker after two batch reads, against a worker that imported "
        f"{', '.join(IMPORTS)} and read nothing.",
        ("read", "peak", "above the imports"),
        rows,
        figures,
        [
            Target(f"{case}: above the imports", MOST_MIB, found, at_least=False, unit="MiB")
            for case, found in above.items()
        ],
    )
