"""The suites accept sources that keep their contracts, in both modes, and the scripted source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from headwater.core.errors import TransientSourceError
from headwater.testing import (
    CheckpointTests,
    End,
    Fail,
    Find,
    MemorySystem,
    MicroBatchEngine,
    Pause,
    Rows,
    ScriptedSource,
    SourceTests,
    Step,
    scripted,
)
from tests.simple_sources import (
    END,
    EndingLogSource,
    EndingTailSource,
    FamilySource,
    HidingSource,
    LogSource,
    TailSource,
)


class TestPlanned(SourceTests):
    source = LogSource

    def options(self) -> Mapping[str, str]:
        system = MemorySystem()
        system.append("a", range(10))
        system.append("b", range(3))
        system.fail_next(2)
        return {"system": system.name}

    def grow(self, options: Mapping[str, str]) -> None:
        system = MemorySystem.open(options["system"])
        system.append("a", range(10, 13))
        system.append("c", range(2))

    def many_splits(self, count: int) -> Mapping[str, str]:
        system = MemorySystem()
        for number in range(count):
            system.append(f"log-{number:04}", range(2))
        return {"system": system.name}


class TestPlannedOutOfSight(CheckpointTests):
    source = HidingSource

    def options(self) -> Mapping[str, str]:
        system = MemorySystem()
        system.append("a", range(10))
        system.append("b", range(3))
        return {"system": system.name}

    @contextmanager
    def out_of_sight(self, options: Mapping[str, str]) -> Iterator[None]:
        system = MemorySystem.open(options["system"])
        system.append("hidden b", [])
        yield
        system.remove("hidden b")


class TestBarrier(SourceTests):
    source = TailSource

    def options(self) -> Mapping[str, str]:
        system = MemorySystem()
        system.append("a", [1, 2, 3, -1, 4, 5])
        system.append("b", [1, None])
        system.append("child1", [7, 8, 9, None])
        system.fail_next(2)
        return {"system": system.name}

    def grow(self, options: Mapping[str, str]) -> None:
        system = MemorySystem.open(options["system"])
        system.append("a", [6, 7])
        system.append("c", [1, 2])

    def many_splits(self, count: int) -> Mapping[str, str]:
        system = MemorySystem()
        for number in range(count):
            system.append(f"log-{number:04}", range(2))
        return {"system": system.name}


class TestBarrierOrdered(TestBarrier):
    source = FamilySource

    def options(self) -> Mapping[str, str]:
        """One log is split, two are merged, and two more follow; a query reads nothing that is old."""
        system = MemorySystem()
        for log in ("a", "b", "a>c", "a>d", "a>d+b>e", "a>d+b>e>f"):
            system.append(log, [1, 2, 3, None])
        system.append("a>d+b>e>f>g", [4, 5])
        return {"system": system.name}

    def grow(self, options: Mapping[str, str]) -> None:
        system = MemorySystem.open(options["system"])
        system.append("a>d+b>e>f>g", [6, None])
        system.append("a>d+b>e>f>g>h", [7])


class TestPlannedEnding(TestPlanned):
    source = EndingLogSource

    def options(self) -> Mapping[str, str]:
        system = MemorySystem()
        system.append("a", [*range(10), END, 10, END])
        system.append("b", range(3))
        return {"system": system.name}


class TestBarrierEnding(TestBarrier):
    source = EndingTailSource

    def options(self) -> Mapping[str, str]:
        system = MemorySystem()
        system.append("a", [1, 2, 3, -1, 4, END, 5])
        system.append("b", [1, None])
        system.append("child1", [7, 8, 9, END, 10])
        return {"system": system.name}


class TestScripted(SourceTests):
    source = ScriptedSource

    def options(self) -> Mapping[str, str]:
        away = TransientSourceError("away", source="scripted")
        return scripted(
            one=[Rows(2), Pause(5), Find("child"), Fail(away, 2), Rows(1), Rows(3)],
            two=[Rows(1), Rows(1), End()],
            child=[Rows(2), End()],
        )


def test_an_engine_reads_a_source_as_a_stream_through_a_crash() -> None:
    options = {"rows": "100", "rowsPerSecond": "1", "maxRowsPerTrigger": "40"}
    engine = MicroBatchEngine.of("demo", options)
    assert engine.run(crash_after=Step.LOGGED, in_batch=1)
    assert not engine.run()
    orders = [row["order_id"] for row in engine.rows]
    assert len(orders) == len(set(orders)) >= 100
