"""Whatever is there, whatever the limits, wherever queries crash, whenever rows are added: each row once."""

from __future__ import annotations

import itertools
import json
import tempfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.connector.planned.report_listener import REPORTS_VARIABLE
from headwater.connector.sources.user_sources import SourceClass, UserSource
from headwater.core.source import Boundedness
from headwater.testing import MemorySystem, MicroBatchEngine, Step, count_rows, read_batch
from tests.simple_sources import END, EndingLogSource, EndingTailSource, LogSource, TailSource

WORLD = st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), min_size=1)
RUNS = st.lists(st.tuples(st.sampled_from([None, *Step]), st.integers(0, 2), WORLD), min_size=1, max_size=5)


@given(RUNS, st.integers(1, 7))
@settings(max_examples=30)
def test_planned(runs: list[Any], limit: int) -> None:
    each_row_once(LogSource, runs, {"maxrowspertrigger": str(limit), "minpartitions": "2"})


@given(RUNS, st.integers(1, 7), st.integers(1, 3), st.sampled_from(["aligned", "unaligned"]))
@settings(max_examples=15)
def test_barrier(runs: list[Any], limit: int, tasks: int, mode: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        each_row_once(
            TailSource,
            runs,
            {
                "statelocation": folder,
                "barrierrows": str(limit),
                "parallelism": str(tasks),
                "barriermode": mode,
            },
        )


def each_row_once(source: SourceClass, runs: list[Any], options: dict[str, str]) -> None:
    system = MemorySystem()
    engine = MicroBatchEngine(
        lambda: UserSource(source)({"system": system.name, **options}, Boundedness.CONTINUOUS_UNBOUNDED)
    )
    written: list[dict[str, Any]] = []
    for step, batches, added in runs:
        for log, count in added.items():
            numbers = range(len(written), len(written) + count)
            system.append(log, numbers)
            written += [{"log": log, "number": number} for number in numbers]
        engine.run(crash_after=step, in_batch=len(engine.offsets) + batches)
    engine.run()
    assert count_rows(engine.rows) == count_rows(written)


ENDING_RUNS = st.lists(
    st.tuples(
        st.sampled_from([None, *Step]),
        st.integers(0, 2),
        st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from([1, 2, 3, 4, END]), max_size=9)),
    ),
    min_size=1,
    max_size=5,
)


@given(ENDING_RUNS, st.integers(1, 7), st.booleans())
@settings(max_examples=30)
def test_planned_rows_before_the_first_end_once_and_none_behind(
    runs: list[Any], limit: int, reports: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not reports:
            patch.setenv(REPORTS_VARIABLE, "off")
        engine = rows_before_the_end(EndingLogSource, runs, {"maxrowspertrigger": str(limit)})
    positions = json.loads(engine.offsets[-1]).get("positions", {}) if engine.offsets else {}
    for log, rows in written(runs).items():
        assert positions.get(log, 0) == (rows.index(END) + 1 if END in rows else len(rows))


@given(ENDING_RUNS, st.integers(1, 7), st.integers(1, 3), st.sampled_from(["aligned", "unaligned"]))
@settings(max_examples=20)
def test_barrier_rows_before_the_first_end_once_and_none_behind(
    runs: list[Any], limit: int, tasks: int, mode: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        options = {"barrierrows": str(limit), "parallelism": str(tasks), "barriermode": mode}
        rows_before_the_end(EndingTailSource, runs, {"statelocation": folder, **options})


def rows_before_the_end(source: SourceClass, runs: list[Any], options: dict[str, str]) -> MicroBatchEngine:
    system = MemorySystem()
    engine = MicroBatchEngine(
        lambda: UserSource(source)({"system": system.name, **options}, Boundedness.CONTINUOUS_UNBOUNDED)
    )
    for step, batches, added in runs:
        for log, rows in added.items():
            system.append(log, rows)
        engine.run(crash_after=step, in_batch=len(engine.offsets) + batches)
    engine.run()
    before = [
        {"log": log, "number": number}
        for log, rows in written(runs).items()
        for number in itertools.takewhile(END.__ne__, rows)
    ]
    assert count_rows(engine.rows) == count_rows(before)
    whole = UserSource(source)({"system": system.name}, Boundedness.BOUNDED)
    assert count_rows(read_batch(whole)) == count_rows(before)
    return engine


def written(runs: list[Any]) -> dict[str, list[int]]:
    logs: dict[str, list[int]] = {}
    for _, _, added in runs:
        for log, rows in added.items():
            logs.setdefault(log, []).extend(rows)
    return logs
