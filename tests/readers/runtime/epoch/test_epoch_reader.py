"""One epoch after the other, however they are cut: no row lost, none twice, and each can be read again."""

from __future__ import annotations

import asyncio
import itertools
import random
from dataclasses import dataclass, field, replace
from typing import Any

import hypothesis
import hypothesis.strategies as st

from headwater.core.epoch import AlignmentMode, Barrier, EpochState, InFlight, SplitStatus, WaitingSplits
from headwater.core.epoch_json import state_from_json, state_to_json
from headwater.core.split import SplitRange
from headwater.core.state_store import MemoryStateStore, StateStore
from headwater.readers.runtime.epoch.calls import CreateCalls
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.state_parts import (
    SplitSegments,
    StateParts,
    WaitingQueue,
    without_taken,
)
from tests.asynchronous import calls_of
from tests.pages import Library, Page, PageSource, as_starts, rows_of, start_of
from tests.readings import epoch_task, read_task

Rows = list[tuple[str, int]]
FOLDER = "query/epoch-1"


@dataclass
class Driver:
    """Stands in for the coordinator: takes a state, gives the next epoch."""

    source: PageSource
    starts: list[SplitRange[Any, Any]]
    restored: tuple[InFlight, ...] = ()
    waiting: tuple[WaitingSplits, ...] = ()
    store: StateStore = field(default_factory=MemoryStateStore)

    def complete(self, state: EpochState) -> None:
        parts = StateParts(self.source, FOLDER, 0)
        written = state_to_json(parts.put_aside(state, self.store), self.source)
        read = state_from_json(self.source, written)
        assert parts.bring_in(read, self.store) == state
        self.starts = as_starts((p.split, p.position) for p in read.progress if p.status is SplitStatus.MORE)
        self.restored = parts.rows(read, self.store)
        self.waiting = (*without_taken(self.waiting, read.taken), *read.waiting)

    @property
    def is_over(self) -> bool:
        return not self.starts and not self.restored and not self.waiting

    def reader(
        self,
        barrier: Barrier,
        *,
        threads: int,
        calls: CreateCalls | None = None,
        stop_at: EpochState | None = None,
        **settings: Any,
    ) -> EpochReader:
        segments = SplitSegments(self.source, FOLDER.partition("/")[0], self.store)
        return read_task(
            replace(self.source, threads=threads),
            epoch_task(self.starts, barrier, folder=FOLDER, **settings),
            calls,
            restored=self.restored,
            waiting=WaitingQueue(self.waiting, segments.read, stop_at.taken if stop_at else None),
            stop_at=stop_at,
        )

    def read(
        self, barrier: Barrier, leave_after: int | None = None, **settings: Any
    ) -> tuple[Rows, EpochState]:
        reader = self.reader(barrier, **settings)
        rows = rows_of(itertools.islice(reader, leave_after))
        reader.close()
        return rows, reader.state()


def everything(library: Library) -> Rows:
    """What a reader that never stops would emit."""
    return sorted(
        (label, number) for label, found in library.pages.items() for page in found for number in page.numbers
    )


@st.composite
def libraries(draw: st.DrawFn) -> Library:
    """A few labels with a few pages; each but the first two is found on one page of an earlier one."""
    library = Library(cursors=draw(st.booleans()))
    for at, label in enumerate("abcdef"):
        sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
        library.pages[label] = [
            Page(tuple(range(10 * page, 10 * page + size))) for page, size in enumerate(sizes)
        ]
        if at >= 2:
            finder = library.pages[draw(st.sampled_from("abcdef"[:at]))]
            page = draw(st.integers(0, len(finder) - 1))
            finder[page] = Page(finder[page].numbers, (*finder[page].found, label))
    return library


def a_barrier(rng: random.Random) -> Barrier:
    return Barrier(rows=rng.choice([None, *range(1, 7)]), row_bytes=rng.choice([None, 1, 50, 200]))


@hypothesis.settings(max_examples=100)
@hypothesis.given(library=libraries(), seed=st.integers(0, 1 << 32))
def test_no_row_is_lost_and_none_comes_twice_however_epochs_are_cut_left_and_read_again(
    library: Library, seed: int
) -> None:
    """What is drawn comes from a seed of its own: how many epochs there are depends on threads."""
    rng = random.Random(seed)
    driver = Driver(
        PageSource(library), [start_of("a", library.position(0)), start_of("b", library.position(0))]
    )
    emitted: Rows = []
    while not driver.is_over:
        barrier = a_barrier(rng)
        mode = rng.choice([AlignmentMode.ALIGNED, AlignmentMode.UNALIGNED])
        leave = rng.choice([None, None, None, 1, 2, 3])
        budget = rng.choice([1, 100, 1 << 20])
        rows, state = driver.read(
            barrier,
            leave,
            mode=mode,
            threads=rng.randint(1, 3),
            budget_bytes=budget,
            least_ready=rng.choice([0, 1, 4]),
        )
        again, same = driver.read(barrier, threads=rng.randint(1, 3), stop_at=state)
        assert sorted(again) == sorted(rows)
        assert same == state
        emitted += rows
        driver.complete(state)
    assert sorted(emitted) == everything(library)


@hypothesis.settings(max_examples=25)
@hypothesis.given(library=libraries(), seed=st.integers(0, 1 << 32))
def test_no_request_is_lost_and_no_answer_comes_twice_however_epochs_are_cut_left_and_read_again(
    library: Library, seed: int
) -> None:
    rng = random.Random(seed)

    async def answer(row: Any) -> list[Any]:
        for _ in range(rng.randint(0, 3)):
            await asyncio.sleep(0)
        # Some rows have no result, some many.
        return [row] * (row.number % 3)

    calls = calls_of(answer, capacity=2, queue_size=3)
    driver = Driver(
        PageSource(library), [start_of("a", library.position(0)), start_of("b", library.position(0))]
    )
    emitted: Rows = []
    while not driver.is_over:
        barrier = a_barrier(rng)
        leave = rng.choice([None, None, 1, 2])
        mode = rng.choice([AlignmentMode.ALIGNED, AlignmentMode.UNALIGNED])
        rows, state = driver.read(barrier, leave, mode=mode, threads=rng.randint(1, 3), calls=calls)
        again, same = driver.read(barrier, threads=rng.randint(1, 3), calls=calls, stop_at=state)
        assert sorted(again) == sorted(rows)
        assert same == state
        emitted += rows
        driver.complete(state)
    expected = [(label, number) for label, number in everything(library) for _ in range(number % 3)]
    assert sorted(emitted) == expected
