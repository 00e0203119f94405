"""From a source and a task to the reader of it."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.core.errors import ContractError
from headwater.readers.async_io.settings import AsyncSettings
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
from headwater.readers.runtime.epoch.task import ReadingContext
from tests.pages import Library, PageSource, pages, rows_of, start_of
from tests.readings import epoch_task


async def ask(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"label": row["label"], "number": number} for number in (row["number"], -row["number"])]


def opened(source: PageSource) -> Any:
    return open_epoch_reader(source, epoch_task([start_of("a")]), ReadingContext())


def test_all_rows_go_through_the_sources_asynchronous_function_if_it_has_one() -> None:
    source = PageSource(Library({"a": pages(3)}), function=(ask, AsyncSettings(capacity=2)))
    found = rows_of(opened(source))
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
