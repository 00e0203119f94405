"""From a source and a task to the reader of it."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.core.clock import SystemClock
from headwater.core.epoch import AlignmentMode, Barrier
from headwater.readers.async_io.settings import AsyncSettings
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
from headwater.readers.runtime.epoch.task import EpochTask, ReadingContext
from tests.pages import Library, PageSource, pages, rows_of, start_of


class AskingSource(PageSource):
    """What its pages say is asked about."""

    def create_async_function(self) -> tuple[Any, Any] | None:
        async def ask(row: dict[str, Any]) -> list[dict[str, Any]]:
            return [{"label": row["label"], "number": number} for number in (row["number"], -row["number"])]

        return ask, AsyncSettings(capacity=2)


def opened(source: PageSource) -> Any:
    task = EpochTask(
        "query/epoch-1",
        0,
        (start_of("a"),),
        Barrier(),
        AlignmentMode.ALIGNED,
        None,
        1 << 20,
        restored=(),
        events=(),
    )
    return open_epoch_reader(source, task, ReadingContext(SystemClock()))


def test_all_rows_go_through_the_sources_asynchronous_function_if_it_has_one() -> None:
    found = rows_of(opened(AskingSource(Library({"a": pages(3)}))))
    assert sorted(number for _, number in found) == [-2, -1, 0, 0, 1, 2]


@pytest.mark.parametrize(("threads", "at_once"), [(0, None), (3, 1)])
def test_the_sources_thread_shape_is_taken(threads: int, at_once: int | None) -> None:
    class Shaped(PageSource):
        @property
        def fetcher_threads(self) -> int:
            return threads

        @property
        def splits_per_thread(self) -> int | None:
            return at_once

    reader = opened(Shaped(Library({"a": pages(3)})))
    assert isinstance(reader, EpochReader)
    assert (reader._threads.threads, reader._threads.splits_per_thread) == (threads, at_once)
    reader.close()
