#!/usr/bin/env python3
"""Measures headwater beside Spark's own Kafka source, on a broker of its own.

``python benchmarks/run.py --help``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "scripts"))

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.bench import FULL, QUICK, ROOT, Bench, BenchmarkError, Scale
from benchmarks.chart import draw
from benchmarks.environment import describe
from benchmarks.readme import renew
from benchmarks.results import Section, as_json, as_markdown
from local_kafka import LocalKafka, LocalKafkaError
from spark_kafka_jars import spark_kafka_jars

__all__ = ["BENCHMARKS", "main", "measure"]

BENCHMARKS = (
    "throughput",
    "formats",
    "latency",
    "cold",
    "memory",
    "planning",
    "wide",
    "parallelism",
    "event_time",
)
_BROKER_HEAP_MB = 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for, print the report, and write it with chart and samples."""
    args = _parse(arguments)
    scale = QUICK if args.quick else FULL
    if args.rounds:
        scale = dataclasses.replace(scale, rounds=args.rounds)
    try:
        jars = spark_kafka_jars()
        sections = measure(args.only or BENCHMARKS, scale, jars)
    except (BenchmarkError, LocalKafkaError) as error:
        print(error, file=sys.stderr)
        return 1
    environment = describe(jars)
    _write(sections, environment, ROOT / "docs" if args.readme else args.out)
    if args.readme:
        for page in (ROOT / "README.md", ROOT / "docs" / "performance.md"):
            page.write_text(renew(page.read_text(), sections, environment))
    return 0


def measure(
    names: Sequence[str], scale: Scale, jars: Sequence[Path], console: Console | None = None
) -> list[Section]:
    """Run these benchmarks one after the other, on one broker, showing how far they are.

    Raises:
        BenchmarkError: one of them failed.
        LocalKafkaError: there is no broker to run them on.
    """
    modules: list[Any] = [import_module(f"benchmarks.{name}") for name in names]
    console = console or Console(stderr=True)
    columns = (
        TextColumn("{task.description:>10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[done]}"),
    )
    with (
        Progress(*columns, console=console) as progress,
        LocalKafka(heap_mb=_BROKER_HEAP_MB, jvm_options=()) as kafka,
    ):
        bars = {
            name: progress.add_task(name, total=module.steps(scale), done="")
            for name, module in zip(names, modules, strict=True)
        }
        sections = []
        for name, module in zip(names, modules, strict=True):

            def step(done: str, bar: Any = bars[name]) -> None:
                progress.update(bar, advance=1, done=done)

            sections.append(module.run(Bench(kafka, scale, [str(jar) for jar in jars], step)))
        return sections


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Measure headwater beside Spark's own Kafka source, on a broker of its own."
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=BENCHMARKS,
        help="run this one; may be given several times (default: all)",
    )
    parser.add_argument(
        "--rounds", type=int, help=f"how often everything is measured (default {FULL.rounds})"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small topics and few rounds: a few minutes, and noisier numbers"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / ".cache" / "benchmarks",
        help="where to write benchmarks.md, .json and .png",
    )
    parser.add_argument(
        "--readme",
        action="store_true",
        help="renew README.md, docs/performance.md and docs/benchmarks.*, whatever --out says",
    )
    return parser.parse_args(arguments)


def _write(sections: Sequence[Section], environment: dict[str, object], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    report = as_markdown(sections, environment)
    (folder / "benchmarks.md").write_text(report)
    (folder / "benchmarks.json").write_text(json.dumps(as_json(sections, environment), indent=2) + "\n")
    drawn = draw(sections, folder / "benchmarks.png")
    print(report)
    print(
        f"written to {folder}: benchmarks.md, benchmarks.json{', benchmarks.png' if drawn else ''}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    sys.exit(main())
