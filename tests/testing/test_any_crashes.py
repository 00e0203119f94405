"""Whatever is there, whatever the limits, wherever queries crash, whenever rows are added: each row once."""

from __future__ import annotations

import tempfile
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.connector.sources.user_sources import SourceClass, UserSource
from headwater.core.source import Boundedness
from headwater.testing import MemorySystem, MicroBatchEngine, Step, count_rows
from tests.simple_sources import LogSource, TailSource

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
