"""A source whose positions do not count passes the suites; limits are kept by reading ahead."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from headwater.core.abilities import Forgets, Heads, ReadsAhead
from headwater.core.errors import ContractError, OptionError
from headwater.core.options import Option, text
from headwater.core.simple_source import NamedSplit, Page, SimpleSource
from headwater.testing import MicroBatchEngine, SourceTests

WORLDS: dict[str, dict[str, list[int]]] = {}
"""Logs by world: the marks of their records, which grow by steps of any size."""
NUMBERS = itertools.count()
STEPS = (3, 1, 40, 2, 7)


class Marked(SimpleSource, Heads, Forgets, ReadsAhead):
    """A position is how many records lie before it, and the mark of the last one of these."""

    name = "marked"
    schema = pa.schema((("mark", pa.int64()),))
    OPTIONS = (Option("world", text, None, "Which.", required=True),)

    def log(self, split: NamedSplit) -> list[int]:
        return WORLDS[self.options["world"]][split.name]

    def at(self, split: NamedSplit, count: int) -> list[Any]:
        return [count, self.log(split)[count - 1] if count else 0]

    def discover(self) -> list[NamedSplit]:
        return [NamedSplit(name) for name in WORLDS[self.options["world"]]]

    def head(self, split: NamedSplit) -> list[Any]:
        return self.at(split, len(self.log(split)))

    def first(self, split: NamedSplit) -> list[Any]:
        return self.at(split, 0)

    def position_after(self, split: NamedSplit, position: Any, rows: int, stop: Any) -> Any:
        count = position[0] + rows
        return stop if count >= stop[0] else self.at(split, count)

    def position_of(self, split: NamedSplit, mark: Any) -> Any:
        if mark not in self.log(split):
            raise ValueError(f"there is no mark {mark}")
        return self.at(split, self.log(split).index(mark))

    def read(self, split: NamedSplit, position: Any, stop: Any = None) -> Iterator[Page]:
        marks = [mark for mark in self.log(split) if position[1] < mark <= stop[1]]
        yield Page([(mark,) for mark in marks], stop)


class TestMarked(SourceTests):
    source: ClassVar[Any] = Marked

    def options(self) -> Mapping[str, str]:
        return world()

    def grow(self, options: Mapping[str, str]) -> None:
        log = WORLDS[options["world"]]["a"]
        log += [log[-1] + 5, log[-1] + 6]


def world(**options: str) -> dict[str, str]:
    name = f"world{next(NUMBERS)}"
    WORLDS[name] = {"a": [*itertools.accumulate(STEPS)], "b": [2, 9]}
    return {"world": name, "startingPosition": "earliest", **options}


def batches(options: Mapping[str, str], source: Any = Marked) -> list[list[int]]:
    """Return the marks of each batch that has some."""
    engine = MicroBatchEngine.of(source, options)
    engine.run()
    return [[row["mark"] for row in rows] for _, rows in sorted(engine.sink.items()) if rows]


def test_a_batch_has_no_more_rows_than_the_limit_and_all_come_once() -> None:
    read = batches(world(maxRowsPerTrigger="2"))
    assert [len(each) for each in read] == [2, 2, 2, 1]
    assert sorted(mark for each in read for mark in each) == [2, 3, 4, 9, 44, 46, 53]
    assert len(batches(world())) == 1


def test_a_query_begins_at_a_mark_of_the_user_and_at_none_that_there_is_not() -> None:
    assert batches(world(startingPosition='{"a": 44, "b": 9}')) == [[44, 46, 53, 9]]
    with pytest.raises(OptionError, match="of split 'a': there is no mark 5"):
        batches(world(startingPosition='{"a": 5}'))


def test_positions_of_another_form_break_the_contract() -> None:
    class Counting(Marked):
        def position_after(self, split: NamedSplit, position: Any, rows: int, stop: Any) -> Any:
            return position[0] + rows

    with pytest.raises(ContractError, match=r"ReadsAhead\.position_after: positions are"):
        batches(world(maxRowsPerTrigger="2"), Counting)


def test_a_run_that_ends_reads_no_further_than_to_where_the_splits_ended_when_it_began() -> None:
    class Growing(Marked):
        def read(self, split: NamedSplit, position: Any, stop: Any = None) -> Iterator[Page]:
            self.log(split).append(self.log(split)[-1] + 1)
            yield from super().read(split, position, stop)

    read = batches(world(maxRowsPerTrigger="2"), Growing)
    assert sorted(mark for each in read for mark in each) == [2, 3, 4, 9, 44, 46, 53]
