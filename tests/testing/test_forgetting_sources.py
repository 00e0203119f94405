"""A source whose outside forgets records passes the suites, and one that hides it does not."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from headwater.core.abilities import Forgets, Heads
from headwater.core.errors import ContractError, DataLossError, OptionError
from headwater.core.options import Option, text
from headwater.core.simple_source import NamedSplit, Page, SimpleSource
from headwater.testing import BrokenContractError, MicroBatchEngine, SourceTests

WORLDS: dict[str, dict[str, list[int | None]]] = {}
"""Logs by world: a record that was dropped is None."""
NUMBERS = itertools.count()


class Log(SimpleSource, Heads, Forgets):
    name = "forgetting"
    schema = pa.schema((("number", pa.int64()),))
    OPTIONS = (Option("world", text, None, "Which.", required=True),)

    def log(self, split: NamedSplit) -> list[int | None]:
        return WORLDS[self.options["world"]][split.name]

    def discover(self) -> list[NamedSplit]:
        return [NamedSplit(name) for name in WORLDS[self.options["world"]]]

    def head(self, split: NamedSplit) -> int:
        return len(self.log(split))

    def first(self, split: NamedSplit) -> int:
        return sum(number is None for number in self.log(split))

    def read(self, split: NamedSplit, position: int, stop: int | None = None) -> Iterator[Page]:
        assert stop is not None
        if self.first(split) > position:
            position = min(self.first(split), stop)
            yield Page((), position, lost=True)
        if position < stop:
            yield Page([(number,) for number in self.log(split)[position:stop]], stop)


class Silent(Log):
    """Says nothing of what is gone."""

    def first(self, split: NamedSplit) -> int:
        return 0

    def read(self, split: NamedSplit, position: int, stop: int | None = None) -> Iterator[Page]:
        yield Page([(number,) for number in self.log(split)[position:stop] if number is not None], stop)


class Rows(Log):
    def read(self, split: NamedSplit, position: int, stop: int | None = None) -> Iterator[Page]:
        yield Page([(1,)], stop, lost=True)


class TestLog(SourceTests):
    source: ClassVar[Any] = Log

    def options(self) -> Mapping[str, str]:
        world = f"world{next(NUMBERS)}"
        WORLDS[world] = {"a": [*range(6)], "b": [*range(10, 14)]}
        return {"world": world, "startingPosition": "earliest"}

    def grow(self, options: Mapping[str, str]) -> None:
        WORLDS[options["world"]]["a"] += [*range(20, 23)]

    def forget(self, options: Mapping[str, str]) -> None:
        for log in WORLDS[options["world"]].values():
            log[:] = [None] * len(log)


class SilentTests(TestLog):
    source: ClassVar[Any] = Silent


def test_a_source_that_is_silent_about_what_is_gone_is_found() -> None:
    with pytest.raises(BrokenContractError, match="Forgets: an error, unless told otherwise"):
        SilentTests().test_what_is_dropped_unread_is_an_error_or_counted()


def test_rows_are_not_lost_and_a_time_needs_a_source_that_finds_it() -> None:
    options = {**TestLog().options()}
    with pytest.raises(ContractError, match="lost in a page without rows"):
        MicroBatchEngine.of(Rows, options).run()
    with pytest.raises(OptionError, match="finds no times"):
        MicroBatchEngine.of(Log, {**options, "startingPosition": "2024-01-01"}).run()


def test_a_log_that_ends_before_the_position_of_a_query_is_a_loss() -> None:
    options = {**TestLog().options()}
    engine = MicroBatchEngine.of(Log, options)
    engine.run()
    del WORLDS[options["world"]]["a"][3:]
    with pytest.raises(DataLossError, match=r"ends at 3: it was cut or put back.*position 6"):
        engine.run()


def test_what_was_dropped_unread_is_counted_and_the_query_goes_on_behind_it() -> None:
    options = {**TestLog().options(), "failOnDataLoss": "false", "maxRowsPerTrigger": "1"}
    engine = MicroBatchEngine.of(Log, options)
    engine.run()
    log = WORLDS[options["world"]]["a"]
    log += [20, 21, 22]
    log[:8] = [None] * 8
    engine.run()
    assert sorted(row["number"] for row in engine.rows) == [*range(6), *range(10, 14), 22]
    assert json.loads(engine.offsets[-1])["losses"]["rows"] == 2
