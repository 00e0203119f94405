#!/usr/bin/env python3
"""Measures the files source beside Spark's own readers, and how long it plans.

``python benchmarks/files.py --help``. Needs no broker.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "scripts"))

from benchmarks.bench import BenchmarkError
from benchmarks.children import run_in_child
from benchmarks.files_planning import SEEN_FILES, peak_mib, show_planning

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


__all__ = ["main", "many", "memory", "throughput"]

WANTED = {
    "csv": 2.0,
    "csv multiLine": 1.0,
    "csv 10 % bad": 1.0,
    "csv 10 % rescued": 1.0,
    "json": 2.0,
    "text": 0.6,
    "parquet": 0.8,
}
"""What is read, and how many times as fast as by Spark. The first word is the format."""
_BAD = ("if(id % 10 = 0, 'x', string(id)) id", "user", "amount", "ok", "ts", "city")
"""A tenth of the records has a text where a number should be."""
OURS = "headwater"
THEIRS = "Spark's own"
CEILING = "ceiling"
"""The same batches, made before: see `benchmarks.files_ceiling`."""
DDL = "id bigint, user string, amount double, ok boolean, ts timestamp, city string"
_QUERY = """select id, concat('user-', id % 100000) user, (id % 100000) / 7 amount, id % 3 = 0 ok,
    timestamp_seconds(1700000000 + id) ts,
    element_at(array('Oslo', 'Lima', 'Pune', 'Bern', 'Accra'), int(id % 5) + 1) city
    from range(0, {rows}, 1, 8)"""


def main() -> None:
    """Run what was asked for and print tables in Markdown."""
    parser = argparse.ArgumentParser(description="Measure the files source beside Spark's own readers.")
    parts = ["throughput", "planning", "memory", "many"]
    parser.add_argument("--only", choices=parts, help="run this one alone")
    parser.add_argument("--rows", type=int, default=4_000_000, help="of the tables that are read")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is read; medians are shown")
    parser.add_argument(
        "--seen",
        type=int,
        nargs="*",
        default=list(SEEN_FILES),
        help="how many files were seen when a batch is planned",
    )
    parser.add_argument(
        "--real",
        type=int,
        default=200_000,
        help="how many files are on the local disk for planning without simulation",
    )
    parser.add_argument("--files", type=int, default=200_000, help="how many small files one stream reads")
    parser.add_argument("--limit", type=int, default=400, help="of them in a batch")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchmark-files-") as folder:
        if args.only in (None, "throughput"):
            _show_throughput(
                list(run_in_child(throughput, folder=folder, rows=args.rows, rounds=args.rounds)), args.rows
            )
        if args.only in (None, "planning"):
            show_planning(args.seen, args.real, folder)
        if args.only in (None, "memory"):
            _show_memory(folder)
        if args.only in (None, "many"):
            print("\n### Many small files in one stream\n\n| | |\n|---|---:|")
            for what, value in run_in_child(
                many, folder=f"{folder}/many", files=args.files, limit=args.limit
            ):
                print(f"| {what} | {value:,.0f} |", flush=True)


def throughput(folder: str, rows: int, rounds: int) -> Iterator[tuple[str, str, float]]:
    """In a process of its own: yield format, subject, and rows a second of each read into the ``noop`` sink.

    The first round is a warm-up.
    """
    import headwater as hw
    from benchmarks.files_ceiling import FilesCeilingDataSource, make_batches
    from benchmarks.subjects import spark_session

    spark = spark_session(hw.recommended_conf())
    spark.dataSource.register(FilesCeilingDataSource)
    for case in WANTED:
        kind, _, special = case.partition(" ")
        url = f"{folder}/{case.replace(' ', '-')}"
        frame = spark.sql(_QUERY.format(rows=rows))
        if "%" in special:
            frame = frame.selectExpr(*_BAD)
        (frame.selectExpr("to_json(struct(*)) value") if kind == "text" else frame).write.format(kind).save(
            url
        )
        schema = "value string" if kind == "text" else DDL
        options = {"multiLine": "true"} if special == "multiLine" else {}
        theirs = spark.read.schema(schema).format(kind).options(**options)
        if special.endswith("rescued"):
            schema = f"{DDL}, _rescued_data string"
            options = {"rescuedDataColumn": "_rescued_data"}
        options |= {"source": "files", "format": kind}
        ours = spark.read.schema(schema).format("headwater").options(**options)
        make_batches(url, options, _spark_ddl(schema))
        ceiling = spark.read.schema(schema).format("headwater-files-ceiling").options(**options)
        readers = {THEIRS: theirs, OURS: ours, CEILING: ceiling}
        for turn in range(rounds + 1):
            for subject in sorted(readers, reverse=bool(turn % 2)):
                began = time.perf_counter()
                readers[subject].load(url).write.format("noop").mode("overwrite").save()
                if turn:
                    yield case, subject, rows / (time.perf_counter() - began)
    spark.stop()


def many(folder: str, files: int, limit: int) -> Iterator[tuple[str, float]]:
    """In a process of its own: read many small files in one stream; yield what was measured, and its value.

    Args:
        folder: an empty one.
        files: how many, of three rows each.
        limit: ``maxFilesPerTrigger``.
    """
    import headwater as hw
    from benchmarks.subjects import spark_session

    inbox = Path(folder) / "in"
    inbox.mkdir(parents=True)
    for at in range(files):
        rows = "".join(f'{{"id":{at * 3 + row},"user":"user-{row}"}}\n' for row in range(3))
        (inbox / f"{at:07}.json").write_text(rows)
    spark = spark_session(hw.recommended_conf())
    reader = spark.readStream.schema("id bigint, user string").format("headwater").option("source", "files")
    frame = reader.options(
        format="json", maxFilesPerTrigger=limit, stateLocation=f"{folder}/state", timeZone="UTC"
    ).load(str(inbox))
    writer = frame.writeStream.format("parquet").option("path", f"{folder}/out").trigger(availableNow=True)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000000")
    began = time.perf_counter()
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").start()
    peaks = [0.0]
    while not query.awaitTermination(1):
        peaks.append(_runner_mib())
    seconds = time.perf_counter() - began
    reports = [report for report in query.recentProgress if report["numInputRows"]]
    offsets = [json.loads(str(report["sources"][0]["endOffset"])) for report in reports]
    plans = [report["durationMs"]["latestOffset"] for report in reports]
    batches = [report["durationMs"]["triggerExecution"] for report in reports]
    tenth = max(1, len(reports) // 10)
    result = spark.read.parquet(f"{folder}/out").selectExpr("count(*) n", "count(distinct id) d").first()
    if result is None or (result.n, result.d) != (3 * files, 3 * files):
        raise BenchmarkError(f"{3 * files} rows were written, and {result} read")
    yield "files", files
    yield "batches", len(reports)
    yield "seconds", seconds
    yield "files a second", files / seconds
    yield "planning, ms, median", statistics.median(plans)
    yield "planning, ms, median of the first tenth", statistics.median(plans[:tenth])
    yield "planning, ms, median of the last tenth", statistics.median(plans[-tenth:])
    yield "planning, ms, most", max(plans)
    yield "batch, ms, median", statistics.median(batches)
    yield "offset, bytes, most", max(len(json.dumps(offset)) for offset in offsets)
    yield "state in the offset, bytes, most", max(len(json.dumps(offset["state"])) for offset in offsets)
    yield "peak memory of the source's process, MiB", max(peaks)
    yield "objects at the stateLocation", sum(path.is_file() for path in Path(folder, "state").rglob("*"))
    spark.stop()


def _runner_mib() -> float:
    """Return the resident memory of the process in which Spark runs the source."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"python_streaming_source_runner" in (process / "cmdline").read_bytes():
                status = (process / "status").read_text()
                return next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line) / 1024
        except OSError:
            continue  # it ended at this moment
    return 0.0


def memory(path: str, kind: str) -> Iterator[float]:
    """In a process of its own: read a file as a task does; yield the peak of resident memory in MiB."""
    from headwater.connector.compat import arrow_schema
    from headwater.connector.sources.files.source import configure_files
    from headwater.connector.sources.spark_schema import bind_schema
    from headwater.connector.spark.batch_reader import BatchReader
    from headwater.core.source import Boundedness

    options = {"format": kind, "path": path, "parallelism": "1", "timezone": "UTC"}
    schema = _spark_ddl(DDL)
    configured = bind_schema(configure_files(options, Boundedness.BOUNDED), schema, given=True)
    reader = BatchReader(configured, arrow_schema(schema))
    for partition in reader.partitions():
        for _ in reader.read(partition):
            pass
    yield peak_mib()


def _spark_ddl(ddl: str) -> StructType:
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructType, TimestampType

    kinds = {
        "bigint": LongType(),
        "string": StringType(),
        "double": DoubleType(),
        "boolean": BooleanType(),
        "timestamp": TimestampType(),
    }
    schema = StructType()
    for name, kind in (field.split() for field in ddl.split(", ")):
        schema = schema.add(name, kinds[kind])
    return schema


def _show_throughput(found: list[tuple[str, str, float]], rows: int) -> None:
    print(
        f"### Batch read of {rows:,} rows of 6 columns (text: lines of JSON), million rows a second, median\n"
    )
    print("| format | Spark's own | headwater | ratio | wanted | batches made before | headwater's share |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for kind, wanted in WANTED.items():
        theirs, ours, ceiling = (
            statistics.median(rate for k, s, rate in found if (k, s) == (kind, subject))
            for subject in (THEIRS, OURS, CEILING)
        )
        print(
            f"| {kind} | {theirs / 1e6:.2f} | {ours / 1e6:.2f} | **{ours / theirs:.2f}x** | {wanted}x "
            f"| {ceiling / 1e6:.2f} | {ours / ceiling:.0%} |",
            flush=True,
        )


def _show_memory(folder: str) -> None:
    print("\n### Peak memory of a process that reads one file, MiB\n")
    print("| format | 50 MB | 500 MB |\n|---|---:|---:|")
    line = b'{"id":1,"user":"user-12345","amount":12.5,"ok":true,"ts":"2024-01-01T00:00:00Z","city":"Oslo"}\n'
    lines = {"json": line, "csv": b"1,user-12345,12.5,true,2024-01-01T00:00:00Z,Oslo\n"}
    for kind, one in lines.items():
        peaks = []
        for size in (50_000_000, 500_000_000):
            path = Path(folder) / f"large.{kind}"
            with path.open("wb") as file:
                block = one * 10_000
                for _ in range(size // len(block)):
                    file.write(block)
            (peak,) = run_in_child(memory, path=str(path), kind=kind)
            peaks.append(peak)
        print(f"| {kind} | {peaks[0]:.0f} | {peaks[1]:.0f} |", flush=True)


if __name__ == "__main__":
    import_module("benchmarks.files").main()  # under the name by which children find their functions
