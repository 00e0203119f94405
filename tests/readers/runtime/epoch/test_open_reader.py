"""From a source and a task to the reader of it."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.core.errors import ContractError
from headwater.readers.runtime.epoch.calls import CreateCalls
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
from headwater.readers.runtime.epoch.task import ReadingContext
from tests.asynchronous import calls_of
from tests.pages import Library, PageSource, pages, rows_of, start_of
from tests.readings import epoch_task


async def ask(row: Any) -> list[tuple[str, int]]:
    return [(row.label, number) for number in (row.number, -row.number)]


def opened(source: PageSource, calls: CreateCalls | None = None) -> Any:
    return open_epoch_reader(source, epoch_task([start_of("a")]), ReadingContext(), calls)


def test_all_rows_go_through_the_calls_if_there_are_any() -> None:
    found = rows_of(opened(PageSource(Library({"a": pages(3)})), calls_of(ask, capacity=2)))
    assert sorted(number for _, number in found) == [-2, -1, 0, 0, 1, 2]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_task_has_as_many_fetchers_as_the_source_says(threads: int) -> None:
    reader = opened(PageSource(Library({"a": pages(3)}), threads))
    assert isinstance(reader, EpochReader)
    assert len(reader._flow.partition) == threads
    reader.close()


def test_a_source_without_any_fetcher_is_refused() -> None:
    with pytest.raises(ContractError, match="source pages: fetcher_threads is 0"):
        opened(PageSource(threads=0))
