"""The reader of simple sources: one generator at a time, wake-ups, pauses, and everything closed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from headwater.core.barrier_reader import EpochRecords
from headwater.core.clock import SystemClock
from headwater.core.simple_source import AskAgain, Finished, NamedSplit, Page, SimpleSource
from headwater.core.split import SplitRange
from headwater.readers.simple.settings import SimpleReadSettings
from headwater.readers.simple.split_reader import SimpleSplitReader
from tests.simple_sources import LogSource

Answers = dict[str, Sequence[Any]]


class Played(SimpleSource):
    """Yields what a test says, and notes which generators are open."""

    name = "played"
    schema = LogSource.schema

    def __init__(self, answers: Answers) -> None:
        super().__init__({})
        self.answers = answers
        self.open = 0
        self.most_open = 0
        self.threads: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()

    def discover(self) -> list[NamedSplit]:
        return [NamedSplit(name) for name in self.answers]

    def read(self, split: NamedSplit, position: int) -> Iterator[Page]:
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        self.threads.add(threading.current_thread().name)
        try:
            for at, answer in enumerate(self.answers[split.name][position:], start=position):
                self.gate.wait(20)
                if isinstance(answer, AskAgain | Finished):
                    return answer  # type: ignore[return-value]
                yield Page([(split.name, answer)], at + 1)
        finally:
            self.open -= 1


def reader_of(source: Played, *, follows_growth: bool = True) -> SimpleSplitReader:
    settings = SimpleReadSettings(
        is_planned=False, follows_growth=follows_growth, read_timeout_ms=20_000, retry_deadline_ms=1_000
    )
    reader = SimpleSplitReader(source, source.schema, settings, SystemClock())
    reader.handle_splits_changes([SplitRange(split, 0, None) for split in source.discover()])
    return reader


def numbers(fetched: EpochRecords) -> list[int | None]:
    return [
        number
        for records in fetched.records.values()
        for record in records
        for number in record.rows.column(1).to_pylist()
    ]


def some(reader: SimpleSplitReader) -> EpochRecords:
    """Fetch until something comes."""
    while not ((fetched := reader.fetch()).records or fetched.finished or fetched.caught_up):
        pass
    return fetched


def test_one_split_is_read_to_its_end_before_the_next_is_begun_on_one_thread() -> None:
    source = Played({"a": [1, 2], "b": [3, Finished()]})
    with closing(reader_of(source)) as reader:
        fetched = [some(reader) for _ in range(5)]
    assert [numbers(one) for one in fetched] == [[1], [2], [], [3], []]
    assert fetched[2].caught_up == {("a",): None}
    assert fetched[4].finished == {("b",)}
    assert source.most_open == 1
    assert source.threads == {"headwater-read-played"}


def test_ask_again_is_a_not_before_in_a_stream_and_a_wait_in_a_batch() -> None:
    source = Played({"a": [1, AskAgain(5), 2]})
    with closing(reader_of(source)) as reader:
        assert [numbers(some(reader)), some(reader).caught_up] == [[1], {("a",): 5}]

    class Once(Played):
        def read(self, split: NamedSplit, position: int) -> Any:
            yield Page([("a", position)], position + 1)
            return AskAgain(5) if position < 2 else None

    with closing(reader_of(Once({"a": []}), follows_growth=False)) as reader:
        fetched = [some(reader) for _ in range(4)]
    assert [numbers(one) for one in fetched] == [[0], [1], [2], []]
    assert fetched[3].finished == {("a",)}


def test_a_paused_split_gives_nothing_until_it_is_resumed() -> None:
    with closing(reader_of(Played({"a": [1, 2], "b": [3]}))) as reader:
        assert numbers(some(reader)) == [1]
        reader.pause_or_resume_splits([("a",)], [])
        assert [numbers(some(reader)), some(reader).caught_up] == [[3], {("b",): None}]
        assert reader.fetch() == EpochRecords()
        reader.pause_or_resume_splits([], [("a",)])
        assert numbers(some(reader)) == [2]


@pytest.mark.timeout(30)
def test_a_wake_up_ends_a_fetch_while_the_source_takes_its_time_and_nothing_is_lost() -> None:
    source = Played({"a": [1]})
    source.gate.clear()
    with closing(reader_of(source)) as reader:
        threading.Timer(0.01, reader.wake_up).start()
        assert reader.fetch() == EpochRecords()
        source.gate.set()
        assert numbers(some(reader)) == [1]


def test_a_removed_split_is_closed_and_can_come_again_elsewhere() -> None:
    source = Played({"a": [1, 2, 3]})
    with closing(reader_of(source)) as reader:
        assert numbers(some(reader)) == [1]
        reader.handle_splits_removal([("a",)])
        assert reader.fetch() == EpochRecords()
        reader.handle_splits_changes([SplitRange(NamedSplit("a"), 2, None)])
        assert numbers(some(reader)) == [3]
        assert source.open == 1
    assert source.open == 0
