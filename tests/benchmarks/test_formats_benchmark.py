"""The benchmark of typed rows runs, on a few rows, and what it measures with measures. Times do not count."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks import decode, formats, orders
from benchmarks.bench import QUICK, Bench, BenchmarkError
from benchmarks.chart import draw
from benchmarks.format_cases import CASES
from benchmarks.registry import registry
from benchmarks.subjects import HEADWATER, JVM
from headwater.tools.commands.cpu_time import cpu_time
from local_kafka import LocalKafka
from spark_kafka_jars import spark_kafka_jars
from tests.patience import PATIENCE_S

TINY = dataclasses.replace(QUICK, rounds=1, warmups=0, format_rows=100)
BURN = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ninput()"
LEAST_S = 0.4
"""The system counts in hundredths."""


@pytest.mark.long
def test_both_subjects_read_the_same_rows_of_every_format(kafka: LocalKafka, tmp_path: Path) -> None:
    taken: list[str] = []
    jars = [str(jar) for jar in spark_kafka_jars()]
    section = formats.run(Bench(kafka, TINY, jars, taken.append))
    measured = {
        (case.name, subject)
        for case in CASES
        for subject in formats.SUBJECTS
        if subject == HEADWATER or case.name not in section.details["no JVM source for"]
    }
    assert {("JSON", JVM), ("Avro", JVM), ("Avro, Confluent", JVM)} < measured
    by_cpu = {(case + formats.BY_CPU, subject) for case, subject in measured}
    assert {(figure.case, figure.subject) for figure in section.figures} == measured | by_cpu
    assert [row[0] for row in section.rows] == [case.name for case in CASES]
    assert {len(row) for row in section.rows} == {len(section.header)}
    assert len(taken) == formats.steps(TINY)
    assert draw([section], tmp_path / "chart.png"), "a case that one subject lacks is drawn too"


def test_rows_that_are_not_the_same_end_the_benchmark(spark: SparkSession) -> None:
    query = "select id, named_struct('city', 'Oslo') address from range({}) order by id"
    rows = spark.sql(query.format("3"))
    formats.require_same_rows("JSON", {JVM: rows, HEADWATER: rows}, 3)
    with pytest.raises(BenchmarkError, match="the rows of JSON are not the same"):
        formats.require_same_rows("JSON", {JVM: rows, HEADWATER: spark.sql(query.format("1, 4"))}, 3)
    with pytest.raises(BenchmarkError, match="headwater read 3 of 4 records of JSON"):
        formats.require_same_rows("JSON", {HEADWATER: rows}, 4)
    lacking = spark.sql("select id, named_struct('city', cast(null as string)) address from range(3)")
    with pytest.raises(BenchmarkError, match="0 of them with all fields"):
        formats.require_same_rows("JSON", {HEADWATER: lacking}, 3)


def test_cpu_time_is_that_of_the_process_and_of_what_it_started() -> None:
    before = cpu_time(os.getpid())
    with subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = cpu_time(os.getpid())
        assert cpu_time(child.pid).total > LEAST_S
        child.communicate(b"\n", timeout=PATIENCE_S)
    assert running.since(before).python > LEAST_S, "while the child runs"
    assert cpu_time(os.getpid()).since(before).python > LEAST_S, "after its end"


def test_the_registry_answers_with_its_schema() -> None:
    with (
        registry('"string"', 7) as url,
        urllib.request.urlopen(f"{url}/schemas/ids/7", timeout=PATIENCE_S) as answer,
    ):
        assert json.load(answer)["schema"] == '"string"'


def test_every_format_decodes_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert decode.main(["--rounds", "1", "--only", "formats"]) == 0
    said = capsys.readouterr().out
    # JSON, Avro and Protobuf, each also with bad rows: what they are to reach stands beside what they did.
    assert said.count(">=") == 6


def test_rows_are_the_same_at_each_call_and_all_different() -> None:
    rows = orders.orders(50)
    assert rows == orders.orders(50)
    assert len({orders.json_text(row) for row in rows}) == 50
    assert 190 < len(orders.json_text(rows[0])) < 210
