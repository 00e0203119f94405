"""What an epoch costs beside the reading.

Measures the claim and the manifest of a task, and the recovery of an epoch with very many splits. Needs
neither Spark nor a broker.

    python benchmarks/barriers.py [--folder /some/local/disk]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pyarrow as pa

from headwater.connector.barrier.coordinator import BarrierCoordinator
from headwater.connector.barrier.options import EpochSettings
from headwater.connector.sources.http.options import configure_http
from headwater.connector.sources.http.source import HttpSource
from headwater.core.epoch import Barrier, EpochState, SplitProgress, SplitStatus
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.core.state_location import LocalStateStore
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.task import EpochTask

MOST_TASK_MS: Final = 15
MOST_RECOVERY_S: Final = 1
SPLITS: Final = 1_000
ROUNDS: Final = 50


class NothingToRead:
    """A dataflow that ends at once: every split is read to its next page."""

    def __init__(self, task: EpochTask) -> None:
        self._ranges: tuple[SplitRange[Any, Any], ...] = task.ranges

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(())

    def close(self) -> None:
        """Nothing is open."""

    def state(self) -> EpochState:
        """Return a state of the usual size."""
        return EpochState(
            tuple(
                SplitProgress(piece.split, {**piece.start, "page": piece.start["page"] + 1}, SplitStatus.MORE)
                for piece in self._ranges
            )
        )


def nothing_to_read(_: object, task: EpochTask, __: object) -> NothingToRead:
    """Stand in for `headwater.readers.runtime.epoch.open_reader.open_epoch_reader`."""
    return NothingToRead(task)


def timed_ms(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def query(folder: Path, splits: int, places: int) -> tuple[HttpSource, BarrierCoordinator, LocalStateStore]:
    """Return a source of so many splits, a new driver, and its store."""
    urls = ",".join(f"http://127.0.0.1/items/{number}" for number in range(splits))
    source = configure_http(
        {"url": urls, "statelocation": str(folder)}, Boundedness.CONTINUOUS_UNBOUNDED
    ).source
    assert isinstance(source, HttpSource)
    store = LocalStateStore(folder)
    return (
        source,
        BarrierCoordinator(
            source,
            EpochSettings(store=store, barrier=Barrier(rows=1), parallelism=places),
            Backoff(deadline_ms=1_000),
        ),
        store,
    )


def tasks(folder: Path) -> list[float]:
    """Return the milliseconds of each task, of one split, that claims, reads nothing and publishes."""
    source, driver, store = query(folder, 1, 1)
    start = driver.initial_offset()
    found = []
    for _ in range(ROUNDS):
        end = driver.plan_next(start, limited=True)
        (task,) = driver.tasks(start, end)
        found.append(timed_ms(lambda: list(read_epoch(source, task, store, nothing_to_read))))  # noqa: B023
        start = end
    driver.close()
    return found


def recoveries(folder: Path) -> list[float]:
    """Return the milliseconds from a restart until the first row of the next epoch could come.

    That is: to settle, to plan, and the first task's claim.
    """
    source, driver, store = query(folder, SPLITS, 8)
    start = driver.initial_offset()
    found = []
    for _ in range(10):
        end = driver.plan_next(start, limited=True)
        for task in driver.tasks(start, end):
            list(read_epoch(source, task, store, nothing_to_read))
        driver.close()
        _, driver, store = query(folder, SPLITS, 8)
        began = time.perf_counter()
        start = driver.plan_next(end, limited=True)
        list(read_epoch(source, driver.tasks(end, start)[0], store, nothing_to_read))
        found.append((time.perf_counter() - began) * 1000)
        for task in driver.tasks(end, start)[1:]:
            list(read_epoch(source, task, store, nothing_to_read))
    driver.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=None,
        help="where the state location is made; a temporary folder by default",
    )
    with tempfile.TemporaryDirectory(dir=parser.parse_args().folder) as folder:
        found = {"claim + manifest, one task": (tasks(Path(folder, "a")), MOST_TASK_MS)}
        found[f"recovery of an epoch of {SPLITS:,} splits"] = (
            recoveries(Path(folder, "b")),
            MOST_RECOVERY_S * 1000,
        )
    print("| | p50, ms | worst, ms | target, ms |\n|---|---|---|---|")
    for name, (samples, target) in found.items():
        print(f"| {name} | {statistics.median(samples):.1f} | {max(samples):.1f} | {target} |")


if __name__ == "__main__":
    main()
