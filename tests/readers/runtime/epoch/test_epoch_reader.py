"""One epoch after the other, whatever cuts them: no row lost, none twice, and every epoch can be read again."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

import hypothesis
import hypothesis.strategies as st

from headwater_core.epoch import AlignmentMode, Barrier, EpochState, InFlight, SplitStatus
from headwater_core.split import SplitRange
from readers.runtime.epoch.epoch_reader import EpochReader
from readers.runtime.fetchers.shape import INLINE, ONE_AFTER_THE_OTHER, ONE_THREAD, thread_per_split
from tests.pages import Library, Page, PageSource, as_starts, rows_of, start_of

SHAPES = [INLINE, ONE_THREAD, ONE_AFTER_THE_OTHER, thread_per_split(3)]
Rows = list[tuple[str, int]]


@dataclass
class Driver:
    """Stands in for the coordinator: takes a state, gives the next epoch."""

    source: PageSource
    starts: list[SplitRange[Any, Any]]
    restored: tuple[InFlight, ...] = ()

    def complete(self, state: EpochState) -> None:
        state = EpochState.from_json(self.source, state.to_json(self.source))
        going_on = [(p.split, p.position) for p in state.progress if p.status is SplitStatus.MORE]
        self.starts = as_starts([*going_on, *((found.split, found.start) for found in state.found)])
        self.restored = state.in_flight

    @property
    def is_over(self) -> bool:
        return not self.starts and not self.restored

    def read(self, barrier: Barrier, leave_after: int | None = None, **settings: Any) -> tuple[Rows, EpochState]:
        reader = EpochReader(self.source, self.starts, barrier, restored=self.restored, **settings)
        rows = rows_of(itertools.islice(reader, leave_after))
        reader.close()
        return rows, reader.state()


def everything(library: Library) -> Rows:
    """What a reader that never stops would emit."""
    return sorted((label, number) for label, found in library.pages.items() for page in found for number in page.numbers)


@st.composite
def libraries(draw: st.DrawFn) -> Library:
    """A few labels with a few pages; each but the first two is found on one page of an earlier one."""
    library = Library(cursors=draw(st.booleans()))
    for at, label in enumerate("abcdef"):
        sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
        library.pages[label] = [Page(tuple(range(10 * page, 10 * page + size))) for page, size in enumerate(sizes)]
        if at >= 2:
            finder = library.pages[draw(st.sampled_from("abcdef"[:at]))]
            page = draw(st.integers(0, len(finder) - 1))
            finder[page] = Page(finder[page].numbers, (*finder[page].found, label))
    return library


a_barrier = st.builds(Barrier, rows=st.one_of(st.none(), st.integers(1, 6)), row_bytes=st.one_of(st.none(), st.integers(1, 200)))


@hypothesis.settings(max_examples=100)
@hypothesis.given(library=libraries(), data=st.data())
def test_no_row_is_lost_and_none_comes_twice_however_epochs_are_cut_left_and_read_again(library: Library, data: st.DataObject) -> None:
    driver = Driver(PageSource(library), [start_of("a", library.position(0)), start_of("b", library.position(0))])
    emitted: Rows = []
    while not driver.is_over:
        barrier = data.draw(a_barrier)
        mode = data.draw(st.sampled_from([AlignmentMode.ALIGNED, AlignmentMode.UNALIGNED]))
        leave = data.draw(st.one_of(st.none(), st.none(), st.integers(1, 3)))
        budget = data.draw(st.sampled_from([1, 100, 1 << 20]))
        rows, state = driver.read(barrier, leave, mode=mode, threads=data.draw(st.sampled_from(SHAPES)), budget_bytes=budget)
        again, same = driver.read(barrier, threads=data.draw(st.sampled_from(SHAPES)), stop_at=state)
        assert sorted(again) == sorted(rows)
        assert same == state
        emitted += rows
        driver.complete(state)
    assert sorted(emitted) == everything(library)


@hypothesis.settings(max_examples=50)
@hypothesis.given(library=libraries(), data=st.data())
def test_at_least_once_loses_nothing_and_repeats_only_what_followed_the_first_barrier(library: Library, data: st.DataObject) -> None:
    """As after a failure: every epoch goes on from the state that was copied early."""
    driver = Driver(PageSource(library), [start_of("a", library.position(0)), start_of("b", library.position(0))])
    emitted: Rows = []
    after_first_barrier = 0
    while not driver.is_over:
        rows: Rows = []
        early: list[EpochState] = []
        at: list[int] = []

        def copy(state: EpochState, rows: Rows = rows, early: list[EpochState] = early, at: list[int] = at) -> None:
            early.append(state)
            at.append(len(rows))

        threads = thread_per_split(data.draw(st.integers(1, 3)))
        reader = EpochReader(
            driver.source,
            driver.starts,
            data.draw(a_barrier),
            mode=AlignmentMode.AT_LEAST_ONCE,
            restored=driver.restored,
            threads=threads,
            on_snapshot=copy,
        )
        for batch in reader:
            rows += rows_of([batch])
        after_first_barrier += len(rows) - at[0]
        emitted += rows
        driver.complete(early[0])
    surplus = Counter(emitted) - Counter(everything(library))
    assert not Counter(everything(library)) - Counter(emitted)
    assert surplus.total() <= after_first_barrier
