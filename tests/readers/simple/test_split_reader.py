"""The reader of simple sources: one generator at a time, wake-ups, pauses, and everything closed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from headwater.core.barrier_reader import EpochRecords
from headwater.core.clock import Clock, ManualClock, SystemClock
from headwater.core.errors import ContractError, TransientSourceError
from headwater.core.simple_source import AskAgain, Finished, NamedSplit, Page, SimpleSource
from headwater.core.split import SplitRange
from headwater.readers.simple.settings import SimpleReadSettings
from headwater.readers.simple.split_reader import SimpleSplitReader
from tests.simple_sources import LogSource

Answers = dict[str, Sequence[Any]]
READ_TIMEOUT_MS = 20_000


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


class LeapingClock(ManualClock):
    """Waits for the source as long as it takes; every other wait is over at once."""

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        return event.wait(20) if timeout_ms == READ_TIMEOUT_MS else super().wait(event, timeout_ms)


class Limited(Played):
    """Asks to wait so often before it goes on."""

    def __init__(self, numbers: Sequence[int], *, refusals: int, after_ms: int = 1) -> None:
        super().__init__({"a": numbers})
        self.refusals = refusals
        self.after_ms = after_ms

    def read(self, split: NamedSplit, position: int) -> Iterator[Page]:
        if self.refusals:
            self.refusals -= 1
            return AskAgain(self.after_ms)  # type: ignore[return-value]
        return (yield from super().read(split, position))


def reader_of(
    source: Played,
    *,
    follows_growth: bool = True,
    stop: int | None = None,
    clock: Clock | None = None,
    is_planned: bool = False,
) -> SimpleSplitReader:
    settings = SimpleReadSettings(
        is_planned=is_planned,
        follows_growth=follows_growth,
        ends_at_records=False,
        read_timeout_ms=READ_TIMEOUT_MS,
        retry_deadline_ms=1_000,
    )
    reader = SimpleSplitReader(source, source.schema, settings, clock or SystemClock())
    reader.handle_splits_changes([SplitRange(split, 0, stop) for split in source.discover()])
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


@pytest.mark.parametrize("follows_growth", [True, False], ids=["stream", "batch"])
def test_a_rate_limit_in_a_second_reading_is_waited_for_and_the_same_rows_come(follows_growth: bool) -> None:
    with closing(reader_of(Limited([1, 2], refusals=3), follows_growth=follows_growth, stop=2)) as reader:
        assert numbers(some(reader)) == [1]
        last = some(reader)
    assert numbers(last) == [2]
    assert last.finished or last.caught_up


def test_a_second_reading_waits_as_long_as_it_is_asked_to_though_that_is_beyond_the_deadline() -> None:
    source = Limited([1], refusals=1, after_ms=60_000)
    with closing(reader_of(source, stop=1, clock=LeapingClock())) as reader:
        assert numbers(some(reader)) == [1]


@pytest.mark.parametrize("is_planned", [True, False], ids=["planned", "barrier"])
def test_a_split_that_fails_waits_alone_and_the_others_are_read(is_planned: bool) -> None:
    class Failing(Played):
        failures = 3

        def read(self, split: NamedSplit, position: int) -> Iterator[Page]:
            if split.name == "a" and self.failures:
                self.failures -= 1
                raise TransientSourceError("away")
            yield from super().read(split, position)

    clock = LeapingClock()
    with closing(reader_of(Failing({"a": [1], "b": [2, 3]}), clock=clock, is_planned=is_planned)) as reader:
        failed = reader.fetch()
        assert list(failed.failed) == [("a",)]
        assert list(failed.paused) == ([] if is_planned else [("a",)])
        before_ms = clock.monotonic_ms()
        assert [numbers(reader.fetch()), numbers(reader.fetch())] == [[2], [3]]
        assert clock.monotonic_ms() == before_ms
        reader.handle_splits_removal([("b",)])
        while not (fetched := reader.fetch()).records:
            pass
        assert numbers(fetched) == [1]
        assert clock.monotonic_ms() > before_ms


def test_a_second_reading_that_only_ever_asks_to_wait_ends_at_the_deadline_and_says_so() -> None:
    source = Limited([1], refusals=1_000, after_ms=400)
    with (
        closing(reader_of(source, stop=1, clock=LeapingClock())) as reader,
        pytest.raises(ContractError, match=r"nothing but AskAgain for 1200 ms \(option retryDeadline\) at 0"),
    ):
        some(reader)
    assert source.refusals == 1_000 - 4


def test_a_second_reading_that_ends_early_breaks_the_contract() -> None:
    with closing(reader_of(Limited([1], refusals=2), stop=2)) as reader:
        assert numbers(some(reader)) == [1]
        with pytest.raises(ContractError, match="came to 2 when it was read before, and ends now"):
            some(reader)


def test_a_paused_split_gives_nothing_until_it_is_resumed() -> None:
    with closing(reader_of(Played({"a": [1, 2], "b": [3]}))) as reader:
        assert numbers(some(reader)) == [1]
        reader.pause_or_resume_splits([("a",)], [])
        assert [numbers(some(reader)), some(reader).caught_up] == [[3], {("b",): None}]
        assert reader.fetch() == EpochRecords()
        reader.pause_or_resume_splits([], [("a",)])
        assert numbers(some(reader)) == [2]


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
