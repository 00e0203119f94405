"""How long the files source plans a batch, beside a listing of many files."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast
from unittest.mock import patch

from benchmarks.bench import BenchmarkError
from benchmarks.children import run_in_child

if TYPE_CHECKING:
    from headwater.core.jsons import JsonObject
    from headwater.enumerators.files.split import FileStatus

__all__ = ["SEEN_FILES", "peak_mib", "planning", "show_planning"]

NEW_FILES = 100
SEEN_FILES = (20_000, 200_000, 1_000_000)


def planning(
    seen: int, folder: str | None, state: str, rounds: int
) -> Iterator[tuple[float, float, float, int, float]]:
    """In a process of its own.

    Yield milliseconds to plan a batch of new files, those of it that it waited for the listing, those to list
    everything, the bytes of the offset's state, and the peak of resident memory in MiB.

    Args:
        seen: how many files were read before.
        folder: where so many files are; None to simulate the listing.
        state: the ``stateLocation``.
        rounds: how many batches.
    """
    import pyarrow as pa

    from headwater.connector.planned.coordinator import PlannedCoordinator
    from headwater.connector.sources.files.source import FilesSource, configure_files
    from headwater.core.source import Boundedness
    from headwater.enumerators.files import settings

    configured = configure_files(
        {"format": "text", "path": folder or "/simulated", "stateLocation": state},
        Boundedness.CONTINUOUS_UNBOUNDED,
    )
    assert isinstance(configured.source, FilesSource)
    source = configured.source.with_schema(pa.schema([pa.field("value", pa.string())]), given=True)
    outside = _Folder(folder, seen) if folder else _Simulated(seen)
    simulated = (
        patch.object(settings, "lister_for", lambda *_: outside)
        if isinstance(outside, _Simulated)
        else nullcontext()
    )
    with simulated, _Waits() as waits:
        coordinator = PlannedCoordinator(
            source, configured.limits, replace(configured.hints, parallelism=2), configured.backoff
        )
        start = coordinator.initial_offset()
        read = 0
        while read < seen:
            start = coordinator.plan_next(start, limited=True)
            read += len(cast("JsonObject", start.get("starts", {})))
        for _ in range(rounds):
            outside.add(NEW_FILES)
            began_listing = time.perf_counter()
            end = start
            while end is start:
                began = time.perf_counter()
                waits.ms = 0.0
                end = coordinator.plan_next(start, limited=True)
            tasks = coordinator.tasks(start, end)
            done = time.perf_counter()
            if not tasks:
                raise BenchmarkError("a batch of new files has no tasks")
            plan_bytes = sum(len(json.dumps(end[part])) for part in ("splits", "positions", "starts"))
            start = json.loads(json.dumps(end))  # as Spark gives it back
            state_bytes = len(json.dumps(start)) - plan_bytes
            plan_ms = (done - began) * 1000
            yield plan_ms, waits.ms, (done - began_listing) * 1000, state_bytes, peak_mib()
        coordinator.close()


class _Waits:
    """How long plans wait for the listing: they have a little patience, which no number of files changes."""

    def __init__(self) -> None:
        self.ms = 0.0

    def __enter__(self) -> Self:
        from headwater.enumerators.files.discovery import FileDiscovery

        take = FileDiscovery.take

        def timed(discovery: FileDiscovery, patience_ms: int | None) -> object:
            began = time.perf_counter()
            found = take(discovery, patience_ms)
            self.ms += (time.perf_counter() - began) * 1000
            return found

        self._patched = patch.object(FileDiscovery, "take", timed)
        self._patched.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._patched.stop()


class _Simulated:
    """A folder without a disk: the listing costs what it costs to look at the names."""

    def __init__(self, files: int) -> None:
        from headwater.enumerators.files.split import FileStatus

        self._make = FileStatus
        self._files: list[FileStatus] = []
        self.add(files)

    def add(self, files: int) -> None:
        """Let so many more files be there, newer than all."""
        first = len(self._files)
        self._files += [
            self._make(f"file:///simulated/{at:08}.txt", 1_000, 1_700_000_000_000_000 + at * 10_000)
            for at in range(first, first + files)
        ]

    def pages(self) -> Iterator[list[object]]:
        for at in range(0, len(self._files), 1_000):
            yield list(self._files[at : at + 1_000])


class _Folder:
    """A folder on the local disk."""

    def __init__(self, folder: str, files: int) -> None:
        self._folder = Path(folder)
        self._count = 0
        self._folder.mkdir()
        self.add(files)

    def add(self, files: int) -> None:
        """Write so many more small files."""
        for at in range(self._count, self._count + files):
            (self._folder / f"{at:08}.txt").write_bytes(b"x\n")
            os.utime(self._folder / f"{at:08}.txt", ns=(0, 1_700_000_000_000_000_000 + at * 10_000_000))
        self._count += files


def peak_mib() -> float:
    """Return the peak of resident memory of this process."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) / 1024


def show_planning(seen_files: list[int], real: int, folder: str) -> None:
    what = f"Planning a batch of {NEW_FILES} new files (`latestOffset` and `partitions`)"
    print(f"\n### {what}, milliseconds, median\n")
    print(
        "| files seen before | listing | plan | and waiting for the listing | until found and planned "
        "| state in the offset, bytes | peak memory, MiB |"
    )
    print("|---:|---|---:|---:|---:|---:|---:|")
    cases = [(seen, None) for seen in seen_files] + ([(real, f"{folder}/real")] if real else [])
    for seen, where in cases:
        place = f"{folder}/state-{seen}-{bool(where)}"
        found = list(run_in_child(planning, seen=seen, folder=where, state=place, rounds=15))
        plan = statistics.median(plan - wait for plan, wait, *_ in found)
        wait, all_of_it, state, peak = (
            statistics.median(sample[at] for sample in found) for at in range(1, 5)
        )
        listing = "local disk" if where else "simulated"
        print(
            f"| {seen:,} | {listing} | {plan:.0f} | {wait:.0f} | {all_of_it:.0f} | {state:,.0f} "
            f"| {peak:.0f} |",
            flush=True,
        )
