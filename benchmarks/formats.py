"""How many rows a second typed rows bring into Spark, and how many they bring for a second of CPU time.

Values are decoded by Spark behind its own Kafka source, and by headwater's formats where they are fetched.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import headwater as hw
from benchmarks import orders
from benchmarks.bench import Bench, BenchmarkError, Scale
from benchmarks.children import run_in_child
from benchmarks.format_cases import CASES, Case, Places
from benchmarks.registry import registry
from benchmarks.results import Figure, Section, Target, median_of
from benchmarks.subjects import HEADWATER, JVM, spark_session
from headwater.tools.commands.cpu_time import cpu_time
from local_kafka import LocalKafka, LocalKafkaError
from spark_kafka_jars import spark_format_jar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["require_same_rows", "run", "steps"]

SUBJECTS = (JVM, HEADWATER)
PARTITIONS = 4
BY_CPU = ", by CPU time"
_DISTINCT = 5_000


def steps(scale: Scale) -> int:
    """Return how often `run` calls ``bench.step``."""
    return len(CASES) * (1 + len(SUBJECTS) * (scale.warmups + scale.rounds))


def run(bench: Bench) -> Section:
    """Fill the topics, and let both subjects read them in turn, in one Spark."""
    for case in CASES:
        _fill(bench.kafka, case, bench.scale.format_rows)
        bench.step(f"{bench.scale.format_rows:,} records of {case.name}")
    jars, missing = _jars()
    samples: dict[tuple[str, str], list[dict[str, float]]] = {}
    with tempfile.NamedTemporaryFile() as file, registry(orders.AVRO_SCHEMA, orders.SCHEMA_ID) as url:
        file.write(orders.descriptor_set())
        file.flush()
        results = run_in_child(
            measure,
            bootstrap=bench.kafka.bootstrap_servers,
            places=dataclasses.asdict(Places(url, file.name)),
            rows=bench.scale.format_rows,
            alone=missing,
            warmups=bench.scale.warmups,
            rounds=bench.scale.rounds,
            jars=[*bench.jars, *jars],
        )
        for result in results:
            if result["measured"]:
                samples.setdefault((result["case"], result["subject"]), []).append(result)
            bench.step(_shown(result))
    for name in missing:
        for _ in range(bench.scale.warmups + bench.scale.rounds):
            bench.step(f"{name}, {JVM}: not measured, because Spark's decoder could not be downloaded")
    return _section(samples, missing, bench.scale)


def _jars() -> tuple[list[str], list[str]]:
    """Return the jars that Spark decodes with, and the cases for which there is none."""
    jars = {}
    missing = []
    for case in CASES:
        if case.artifact is None:
            continue
        try:
            jars[case.artifact] = str(spark_format_jar(case.artifact))
        except LocalKafkaError:
            missing.append(case.name)
    return list(jars.values()), missing


def _fill(kafka: LocalKafka, case: Case, rows: int) -> None:
    """Write so many rows, as evenly over the partitions as their number allows."""
    from confluent_kafka import Producer

    topic = _topic(case)
    if topic in kafka.topics():
        return
    kafka.create_topic(topic, PARTITIONS)
    values = [{"value": case.encode(order)} for order in orders.orders(min(rows, _DISTINCT))]
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "linger.ms": 10,
            "batch.size": 262_144,
            "queue.buffering.max.messages": 20 * _DISTINCT,
        }
    )
    partitions = itertools.cycle(range(PARTITIONS))
    for begin in range(0, rows, len(values)):
        some = values[: rows - begin]
        while len(producer) + len(some) > 20 * _DISTINCT:
            producer.poll(0.1)
        queued = producer.produce_batch(topic, some, partition=next(partitions))
        if queued != len(some):
            raise BenchmarkError(f"{len(some) - queued} of {len(some)} records could not be sent to {topic}")
    producer.flush()


def _topic(case: Case) -> str:
    return f"formats-{CASES.index(case)}"


def measure(
    *,
    bootstrap: str,
    places: dict[str, str],
    rows: int,
    alone: list[str],
    warmups: int,
    rounds: int,
    jars: list[str],
) -> Iterator[dict[str, Any]]:
    """In a process of its own.

    Read every topic with both subjects, one after the other, in an order that turns with every round. The
    cases ``alone`` are those that headwater reads alone.
    """
    spark = spark_session(hw.recommended_conf(), jars)
    found = Places(**places)
    for case in CASES:
        subjects = [HEADWATER] if case.name in alone else list(SUBJECTS)
        frames = {subject: _read(spark, case, subject, bootstrap, found) for subject in subjects}
        require_same_rows(case.name, frames, rows)
        for turn in range(warmups + rounds):
            for i in range(len(subjects)):
                subject = subjects[(turn + i) % len(subjects)]
                cpu_before = cpu_time(os.getpid())
                began = time.perf_counter()
                frame = _read(spark, case, subject, bootstrap, found)
                frame.write.format("noop").mode("overwrite").save()
                seconds = time.perf_counter() - began
                cpu = cpu_time(os.getpid()).since(cpu_before)
                yield {
                    "case": case.name,
                    "subject": subject,
                    "rows_per_s": rows / seconds,
                    "rows_per_cpu_s": rows / cpu.total,
                    "jvm_ns": cpu.jvm / rows * 1e9,
                    "python_ns": cpu.python / rows * 1e9,
                    "measured": turn >= warmups,
                }
    spark.stop()


def _read(spark: SparkSession, case: Case, subject: str, bootstrap: str, places: Places) -> DataFrame:
    reader = spark.read.option("kafka.bootstrap.servers", bootstrap).option("subscribe", _topic(case))
    if subject == JVM:
        return reader.format("kafka").load().select(case.decode(places).alias("row")).select("row.*")
    reader = reader.format("headwater").option("source", "kafka").option("columns", "value.*")
    return reader.options(**case.options(places)).load()


def require_same_rows(case: str, frames: Mapping[str, DataFrame], rows: int) -> None:
    """Compare the rows of the subjects, by a sum of hashes over all columns.

    Raises:
        BenchmarkError: they are not the same, or not all that are in the topic.
    """
    digests = {}
    for subject, frame in frames.items():
        found = frame.selectExpr(
            "count(*) found", "sum(cast(xxhash64(*) as decimal(20))) hashes", "count(address.city) cities"
        ).head()
        assert found is not None
        if found["found"] != rows or found["cities"] != rows:
            raise BenchmarkError(
                f"{subject} read {found['found']} of {rows} records of {case}, "
                f"{found['cities']} of them with all fields"
            )
        digests[subject] = (frame.schema.simpleString(), found["hashes"])
    if len(set(digests.values())) > 1:
        raise BenchmarkError(f"the rows of {case} are not the same: {digests}")


def _shown(result: Mapping[str, Any]) -> str:
    warming = "" if result["measured"] else " (warming up)"
    return (
        f"{result['case']}, {result['subject']}: {_millions(result['rows_per_s'])} M rows/s, CPU time a row: "
        f"{result['jvm_ns']:.0f} ns in the JVM, {result['python_ns']:.0f} ns in Python{warming}"
    )


def _section(
    samples: Mapping[tuple[str, str], Sequence[Mapping[str, float]]], missing: Sequence[str], scale: Scale
) -> Section:
    figures = [
        Figure(f"{case.name}{suffix}", subject, unit, tuple(taken[quantity] for taken in samples[key]))
        for suffix, unit, quantity in (
            ("", "rows/s", "rows_per_s"),
            (BY_CPU, "rows/CPU s", "rows_per_cpu_s"),
        )
        for case in CASES
        for subject in SUBJECTS
        if (key := (case.name, subject)) in samples
    ]
    targets = []
    rows = []
    for case in CASES:
        cells = []
        for suffix, wanted in (("", case.wanted), (BY_CPU, case.wanted_by_cpu)):
            name = f"{case.name}{suffix}"
            ours = median_of(figures, name, HEADWATER)
            if case.name in missing:
                cells += ["-", _millions(ours), "-"]
                continue
            jvm = median_of(figures, name, JVM)
            cells += [_millions(jvm), _millions(ours), f"**{ours / jvm:.2f}x**"]
            if wanted is not None:
                targets.append(Target(f"{name}: headwater / JVM source", wanted, ours / jvm))
        rows.append((case.name, *cells))
    absent = f" Spark's decoder could not be downloaded for: {', '.join(missing)}." if missing else ""
    return Section(
        "formats",
        "Typed rows, million rows a second",
        "`spark.read` of a topic with 4 partitions into the `noop` sink, `local[2]`, broker on the same two "
        "cores, six columns (about 200 B of JSON, 100 B of Avro and Protobuf); `from_json`, `from_avro`, "
        "`from_protobuf` behind the JVM source, `valueFormat` of headwater. A CPU second is one of the JVM, "
        "the driver and the Python workers together, without the broker. Median of "
        f"{scale.rounds} rounds in turn in one Spark with `hw.recommended_conf()`.{absent}",
        ("values", JVM, HEADWATER, "ratio", f"{JVM}, a CPU second", f"{HEADWATER}, a CPU second", "ratio"),
        rows,
        figures,
        targets,
        {
            "no JVM source for": list(missing),
            "samples": {f"{case}, {subject}": list(taken) for (case, subject), taken in samples.items()},
        },
    )


def _millions(rows: float) -> str:
    return f"{rows / 1e6:.2f}"
