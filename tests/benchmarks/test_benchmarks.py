"""The benchmarks run, on a few rows.

Every step is taken, every subject reads what it should, the report is written. Times do not count.
"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from benchmarks import latency, memory, throughput
from benchmarks.bench import QUICK, Bench, BenchmarkError
from benchmarks.chart import draw
from benchmarks.children import run_in_child
from benchmarks.pacer import Pacer
from benchmarks.readme import renew
from benchmarks.results import Figure, Section, Target, as_json, as_markdown, percentile
from benchmarks.run import measure
from benchmarks.subjects import HEADWATER, JVM
from local_kafka import LocalKafka
from spark_kafka_jars import spark_kafka_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TINY = dataclasses.replace(
    QUICK,
    rounds=1,
    warmups=0,
    topics={"100 B": 400, "1 KB": 300, "zstd 100 B": 200},
    planning_partitions=50,
    planning_rounds=2,
)
ENVIRONMENT = {
    "date": "2026-01-01T00:00:00+00:00",
    "command": "python benchmarks/run.py",
    "machine": {"cores": 2, "processor": "any", "memory_gb": 8.0},
    "versions": dict.fromkeys(("headwater", "pyspark", "kafka", "java", "python"), "1"),
}


@pytest.fixture(scope="module")
def jars() -> list[str]:
    """The JVM source's."""
    return [str(jar) for jar in spark_kafka_jars()]


def test_every_subject_reads_every_topic_and_every_step_is_taken(
    kafka: LocalKafka, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, jars: list[str]
) -> None:
    """In the Spark of all tests: others show that a benchmark's own one starts."""
    monkeypatch.setattr(throughput, "run_in_child", lambda task, **arguments: task(**arguments))
    monkeypatch.setattr(throughput, "spark_session", lambda *_: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    steps: list[str] = []
    section = throughput.run(Bench(kafka, TINY, jars, steps.append))
    assert {(figure.case, figure.subject) for figure in section.figures} == {
        (case.name, subject) for case in throughput.CASES for subject in case.subjects
    }
    assert len(steps) == throughput.steps(TINY)


def test_every_record_of_a_steady_stream_has_a_latency(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic, latency.PARTITIONS)
    with Pacer(kafka.bootstrap_servers, topic, latency.PARTITIONS, rate=200):
        (found,) = run_in_child(
            latency.listen,
            subject=HEADWATER,
            recommended=True,
            bootstrap=kafka.bootstrap_servers,
            topic=topic,
            jars=[],
            warm_s=0,
            measure_s=1,
        )
    # About 200: a pacer that was held up sends what is due at once.
    assert 100 < len(found["latencies_ms"]) < 300
    assert min(found["latencies_ms"]) > 0


@pytest.mark.long
def test_a_worker_that_reads_needs_more_memory_than_one_that_does_not(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic)
    kafka.produce(topic, [bytes(1_000)] * 10_000)
    idle, reading = (
        max(next(run_in_child(memory.worker_mib, bootstrap=kafka.bootstrap_servers, topic=topic, idle=idle)))
        for idle in (True, False)
    )
    assert 20 < idle < reading


def test_planning_runs_on_a_broker_of_its_own_behind_a_progress_bar() -> None:
    shown = io.StringIO()
    (section,) = measure(["planning"], TINY, [], Console(file=shown, width=120))
    assert [len(figure.samples) for figure in section.figures] == [TINY.planning_rounds] * 4
    assert "2/2" in shown.getvalue()


def test_a_child_that_fails_says_why() -> None:
    with pytest.raises(BenchmarkError, match="unexpected keyword argument 'rows'"):
        list(run_in_child(latency.listen, rows=1))


def test_the_report_shows_medians_and_what_is_not_reached(tmp_path: Path) -> None:
    figures = [
        Figure(case, subject, "rows/s", (1e6, 3e6, 2e6))
        for case in ("a", "b")
        for subject in throughput.SUBJECTS
    ]
    section = Section(
        "throughput",
        "Rows",
        "About.",
        ("records", "headwater"),
        [("a", "2.00")],
        figures,
        [Target("ratio", 2.5, 1.0)],
    )
    assert "| ratio | >= 2.5 x | 1 x | no |" in as_markdown([section], ENVIRONMENT)
    found = json.loads(json.dumps(as_json([section], ENVIRONMENT)))
    assert found["benchmarks"]["throughput"]["figures"][0]["median"] == 2e6
    assert draw([section], tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert not draw([], tmp_path / "none.png")


@pytest.mark.parametrize(
    ("medians", "rounds"), [((300, 250, 270), 3), ((228, 356, 310, 240), 3), ((100, 109), 2)]
)
def test_latency_is_measured_until_the_jvm_source_repeats_itself(
    monkeypatch: pytest.MonkeyPatch, kafka: LocalKafka, medians: tuple[float, ...], rounds: int
) -> None:
    of_jvm = iter(medians)
    order = []

    def listen(_task: object, *, subject: str, **_more: object) -> Iterator[dict[str, object]]:
        order.append(subject)
        yield {"latencies_ms": [next(of_jvm) if subject == JVM else 100.0], "phases_ms": {}}

    monkeypatch.setattr(latency, "run_in_child", listen)
    shown: list[str] = []
    bench = Bench(kafka, TINY, [], shown.append)
    assert len(latency.alternate(bench, "topic", latency.DEFAULT)) == rounds
    assert order == [JVM, HEADWATER, HEADWATER, JVM, JVM, HEADWATER][: 2 * rounds]
    assert len(shown) == 2 * rounds


def test_the_readme_gets_the_table_between_its_marks() -> None:
    section = Section("throughput", "Rows", "About.", ("records", "rows"), [("a", "2.00")], [], [])
    page = "Before.\n\n<!-- throughput -->\nold\n<!-- /throughput -->\n\n"
    page += "<!-- latency -->\nkept\n<!-- /latency -->\n"
    new = renew(page, [section], ENVIRONMENT)
    assert "old" not in new
    assert "| a | 2.00 |" in new
    assert "2 cores (any)" in new
    assert new.startswith("Before.\n\n<!-- throughput -->\n")
    assert new.endswith("<!-- latency -->\nkept\n<!-- /latency -->\n")
    assert renew(new, [section], ENVIRONMENT) == new
    assert renew("without marks", [section], ENVIRONMENT) == "without marks"


@pytest.mark.parametrize(("percent", "expected"), [(50, 2), (99, 4), (0, 1), (100, 4)])
def test_a_percentile_is_the_nearest_rank(percent: int, expected: float) -> None:
    assert percentile([4, 1, 3, 2], percent) == expected


def test_a_target_may_be_a_limit_from_above() -> None:
    assert Target("ms", 100, 99, at_least=False).met
    assert not Target("ms", 100, 101, at_least=False).met
