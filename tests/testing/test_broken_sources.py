"""A source that breaks a contract is told which one, and the query stops before a wrong offset is logged.

The suites find it too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import psycopg
import pyarrow as pa
import pytest
from psycopg.sql import SQL, Identifier

from examples.postgres_source import PostgresTable
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.planning import PlanningHints
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.user_sources import UserSource
from headwater.core.errors import ContractError, DataLossError, DeadlineError, SourceError
from headwater.core.retry import Backoff
from headwater.core.simple_source import AskAgain, NamedSplit, Page
from headwater.core.source import Boundedness
from headwater.testing import (
    BrokenContractError,
    CheckpointTests,
    EnumeratorTests,
    MemorySystem,
    MicroBatchEngine,
    SourceTests,
    Step,
    read_batch,
)
from local_postgres import LocalPostgres
from tests.doubles import NumberEnumerator, Numbers, NumberSource
from tests.order_tables import late_order, order_table
from tests.patience import PATIENCE_S
from tests.simple_sources import FamilySource, HidingSource, LogSource, TailSource

_page: Any = Page
"""With values that its types refuse."""


def world(*rows: int) -> dict[str, str]:
    system = MemorySystem()
    system.append("a", rows or range(6))
    return {"system": system.name}


def engine(source: type[Any], options: Mapping[str, str]) -> MicroBatchEngine:
    given = {key.lower(): value for key, value in options.items()}
    return MicroBatchEngine(lambda: UserSource(source)(given, Boundedness.CONTINUOUS_UNBOUNDED))


def reading(read: Callable[..., Iterator[Any]]) -> type[LogSource]:
    return type("Broken", (LogSource,), {"read": read})


PAGES: list[tuple[str, list[Any], str]] = [
    (
        "back",
        [Page([("a", 0), ("a", 1)], 2), Page([("a", 2)], 1)],
        "split 'a' .* must move on: the page after 2 has the position 1",
    ),
    ("stands", [Page([("a", 0)], 0)], "must move on"),
    ("column", [Page([{"log": "a", "nummer": 0}], 1)], "the column 'nummer', which is not in the schema"),
    (
        "type",
        [Page([("a", "zero")], 1)],
        "must yield rows .*row 0 .* has 'zero' .str. in column 'number'",
    ),
    (
        "type by name",
        [Page([{"log": 5, "number": 0}], 1)],
        "must yield rows .* has 5 .int. in column 'log'",
    ),
    (
        "width",
        [Page([("a", 0), ("a", 0, 0)], 1)],
        "must yield rows .*: row 1 of the page is a tuple with 3 values",
    ),
    ("row", [_page([5], 1)], "must yield rows .*: row 0 of the page is a int, and no mapping"),
    ("rows", [_page(iter(()), 1)], "must yield rows as a list or a record batch, not as tuple_iterator"),
    (
        "batch",
        [Page(pa.RecordBatch.from_pylist([{"log": "a", "number": 0.5}]), 1)],
        "must yield the schema of the source, .* not .*number double",
    ),
    ("json", [_page([("a", 0)], {1, 2})], "position after 0 of split 'a' .* must be JSON"),
    ("large", [Page([("a", 0)], "x" * 20_000)], "has 20002 characters as JSON, and may have 16384"),
    ("page", [("a", 0)], "must yield Pages, not tuple"),
    ("end", [AskAgain(5)], "must yield Pages, not AskAgain: write return instead of yield"),
    ("beyond", [Page([("a", 0)], 100)], "beyond the stop 6, with 1 rows"),
    ("children", [Page([("a", 0)], 1, [NamedSplit("b")])], "needs barrier mode"),
]


@pytest.mark.parametrize(("pages", "said"), [case[1:] for case in PAGES], ids=[case[0] for case in PAGES])
def test_a_wrong_page_fails_the_task_and_names_contract_and_split(pages: list[Any], said: str) -> None:
    query = engine(reading(lambda *_: iter(pages)), world())
    with pytest.raises(ContractError, match=f"SimpleSource.read.*{said}"):
        query.run()
    assert not query.sink


def test_a_method_that_yields_nothing_and_returns_nothing_is_told_to_yield() -> None:
    query = engine(reading(lambda *_: None), world())  # type: ignore[arg-type]
    with pytest.raises(ContractError, match=r"SimpleSource.read.*must yield Pages, not return None"):
        query.run()


def test_a_wait_that_is_no_number_is_refused() -> None:
    def ask(self: Any, split: NamedSplit, position: int) -> Any:
        return AskAgain("soon")  # type: ignore[arg-type]
        yield

    query = engine(reading(ask), world())
    with pytest.raises(ContractError, match="must return AskAgain with milliseconds, not 'soon'"):
        query.run()


def test_a_generator_that_never_yields_is_given_up_after_read_timeout() -> None:
    leave = threading.Event()

    def hang(self: Any, split: NamedSplit, position: int) -> Iterator[Page]:
        leave.wait(PATIENCE_S)
        yield from ()

    query = engine(reading(hang), {**world(), "readTimeout": "50ms"})
    try:
        with pytest.raises(
            ContractError,
            match=r"split 'a' .* neither yielded nor returned within 50 ms \(option readTimeout\) after "
            "position 0",
        ):
            query.run()
    finally:
        leave.set()


def broken(**members: Any) -> type[LogSource]:
    return type("Broken", (LogSource,), members)


ENUMERATORS: list[tuple[type[Any], str]] = [
    (
        broken(discover=lambda _: [NamedSplit("a"), NamedSplit("a")]),
        "SimpleSource.discover: .* returned split 'a' twice",
    ),
    (broken(discover=lambda _: None), "SimpleSource.discover: .* must return NamedSplits, not None"),
    (broken(discover=lambda _: ["a"]), "must return NamedSplits with a name, not 'a'"),
    (
        broken(discover=lambda _: [NamedSplit("a", {1})]),  # type: ignore[arg-type]
        "the info of split 'a' .* must be JSON",
    ),
    (
        broken(discover=lambda _: [NamedSplit("a", "x" * 20_000)]),
        "the info of split 'a' .* has 20002 characters",
    ),
    (broken(start=lambda *_: 1.5), "positions are integers"),
    (broken(head=lambda *_: None), "Heads.head: positions are integers"),
    (broken(head=lambda *_: -1), "Heads.head went backwards: split 'a'"),
]


def ending(is_end: Callable[..., Any]) -> type[LogSource]:
    return type("Broken", (LogSource,), {"is_end": is_end})


@pytest.mark.parametrize(
    "answer",
    [True, [True], None, ["no"] * 4, pa.array([1, 2, 3, 4])],
    ids=["bool", "one", "none", "text", "numbers"],
)
def test_an_end_that_is_not_yes_or_no_for_each_row_is_refused(answer: Any) -> None:
    with pytest.raises(
        ContractError, match=r"is_end of split 'a' .* must return yes or no for each of 4 rows"
    ):
        engine(ending(lambda *_: answer), world()).run()


def test_the_suites_find_an_end_that_depends_on_other_rows() -> None:
    class Tests(SourceTests):
        source = ending(lambda _, rows: [number == len(rows) - 1 for number in range(len(rows))])

        def options(self) -> Mapping[str, str]:
            return world()

    with pytest.raises(BrokenContractError, match="whatever rows are beside it"):
        Tests().test_a_split_ends_at_the_record_that_says_so()


@pytest.mark.parametrize(("source", "said"), ENUMERATORS)
def test_a_wrong_answer_on_the_driver_is_never_logged(source: type[Any], said: str) -> None:
    query = engine(source, world())
    with pytest.raises(ContractError, match=said):
        query.run()
    assert not query.offsets


def test_a_head_that_goes_back_below_what_was_read_stops_the_query_before_the_next_offset() -> None:
    options = world()
    query = engine(LogSource, options)
    query.run()
    logged = list(query.offsets)
    system = MemorySystem.open(options["system"])
    system.remove("a")
    system.append("a", range(2))
    with pytest.raises(ContractError, match=r"ends at 2, and 6 was the next record"):
        query.run()
    assert query.offsets == logged


def test_a_tail_that_goes_back_stops_the_query(tmp_path: Any) -> None:
    class Back(TailSource):
        def read(self, split: NamedSplit, position: str, stop: str | None = None) -> Any:
            yield Page([("a", 1)], "at 5")
            yield Page([("a", 2)], "at 3")

    query = engine(Back, {**world(), "stateLocation": str(tmp_path)})
    with pytest.raises(ContractError, match=r"the page after 'at 5' has the position 'at 3'"):
        query.run()
    assert not query.sink


def test_a_reading_that_brings_less_the_second_time_is_an_error(tmp_path: Any) -> None:
    options = world()
    query = engine(TailSource, {**options, "stateLocation": str(tmp_path)})
    assert query.run(crash_after=Step.READ)
    system = MemorySystem.open(options["system"])
    system.remove("a")
    system.append("a", range(1))
    with pytest.raises((ContractError, DataLossError), match=r"split '?a"):
        query.run()


def test_what_the_users_code_raises_is_told_with_split_and_position() -> None:
    def fail(self: Any, split: NamedSplit, position: int) -> Iterator[Page]:
        yield Page([("a", 0)], 1)
        raise KeyError("colour")

    with pytest.raises(
        SourceError,
        match=r"Broken.read failed: KeyError: 'colour', at \S+ in fail \[source logs, split a, position 1\]",
    ):
        engine(reading(fail), world()).run()


def test_a_passing_failure_is_repeated_from_the_last_position_until_the_deadline() -> None:
    begun: list[int] = []

    def shaky(self: Any, split: NamedSplit, position: int) -> Iterator[Page]:
        begun.append(position)
        if position < 6:
            yield Page([("a", position), ("a", position + 1)], position + 2)
            raise ConnectionResetError("reset")

    rows = read_batch(UserSource(reading(shaky))(world(), Boundedness.BOUNDED))
    assert [row["number"] for row in rows] == list(range(6))
    assert begun == [0, 2, 4]

    def away(self: Any, split: NamedSplit, position: int) -> Iterator[Page]:
        raise ConnectionRefusedError("refused")

    with pytest.raises(DeadlineError, match=r"no answer after .* ConnectionRefusedError: refused"):
        read_batch(UserSource(reading(away))({**world(), "retrydeadline": "100"}, Boundedness.BOUNDED))


class Forgetful(LogSource):
    """Reads something else each time."""

    calls = iter(range(1_000_000))

    def read(self, split: NamedSplit, position: int) -> Iterator[Page]:
        yield Page([(split.name, next(self.calls)) for _ in range(position, 6)], 6)


def test_the_suites_name_the_contract_and_where_it_is_written() -> None:
    class Suite(SourceTests):
        source = Forgetful

        def options(self) -> Mapping[str, str]:
            return world()

    with pytest.raises(
        BrokenContractError,
        match=r"Source.create_reader: a second reader .* "
        r"The contract is written in headwater/core/source.py:\d+",
    ):
        Suite().test_reading_a_range_again_brings_the_same_rows()
    with pytest.raises(BrokenContractError, match=r"each row of the batch once"):
        Suite().test_a_stream_brings_the_rows_of_a_batch()


class LargestKey(PostgresTable):
    """Tells the largest key plus one, which another transaction may still come below."""

    def start(self, split: NamedSplit) -> int:
        return 0

    def head(self, split: NamedSplit) -> int:
        return self._transaction("SELECT coalesce(max(id) + 1, 0) FROM {}", split)

    def read(self, split: NamedSplit, position: int, stop: int | None = None) -> Iterator[Page]:
        query = SQL("SELECT id, item FROM {} WHERE id >= %s AND id < %s ORDER BY id")
        with psycopg.connect(self.options["conninfo"]) as database:
            rows = database.execute(query.format(Identifier(split.name)), (position, stop)).fetchall()
        if rows:
            yield Page(rows, rows[-1][0] + 1)


def test_a_head_that_rows_come_below_later_is_found_by_a_late_arrival(postgres: LocalPostgres) -> None:
    class Suite(SourceTests):
        source = LargestKey
        arrive_late = staticmethod(late_order)

        def options(self) -> Mapping[str, str]:
            return order_table(postgres.conninfo)

    suite = Suite()
    suite.test_a_crash_after_any_step_of_a_checkpoint_changes_nothing()
    with pytest.raises(
        BrokenContractError,
        match=r"Heads.head: each row .* after rows arrived late: 1 of 10 are lost, .*slow.* "
        r"The contract is written in headwater/core/abilities.py:\d+",
    ):
        suite.test_what_arrives_late_is_read_once()


class Hasty(HidingSource):
    """Gives up what it only does not see."""

    def retire(self, split: NamedSplit) -> bool:
        return True


class HastyTests(CheckpointTests):
    source = Hasty

    def options(self) -> Mapping[str, str]:
        system = MemorySystem()
        system.append("a", range(5))
        system.append("b", range(3))
        return {"system": system.name}

    @contextmanager
    def out_of_sight(self, options: Mapping[str, str]) -> Iterator[None]:
        system = MemorySystem.open(options["system"])
        system.append("hidden b", [])
        yield
        system.remove("hidden b")


def test_the_suites_find_a_source_that_retires_what_it_only_does_not_see() -> None:
    said = "after a split was out of sight: 0 of 8 are lost, 3 came too often"
    with pytest.raises(BrokenContractError, match=said):
        HastyTests().test_a_split_that_is_out_of_sight_for_a_while_is_not_read_twice()


class FamilyTests(EnumeratorTests):
    def options(self) -> Mapping[str, str]:
        system = MemorySystem()
        for log in ("a", "a>b", "a>b>c"):
            system.append(log, [1, None])
        return {"system": system.name}


def test_the_suites_find_a_source_whose_splits_wait_for_each_other() -> None:
    class Circle(FamilySource):
        def parents(self, split: NamedSplit) -> list[str]:
            return super().parents(split) or ["a>b>c"]

    class Tests(FamilyTests):
        source = Circle

    with pytest.raises(BrokenContractError, match=r"OrdersSplits.parents: makes no circle; .* wait for ever"):
        Tests().test_splits_that_follow_others_begin_when_these_have_ended()


def test_the_suites_find_a_source_whose_splits_forget_what_they_follow() -> None:
    class Forgetful(FamilySource):
        """Says it once."""

        asked: ClassVar[set[str]] = set()

        def parents(self, split: NamedSplit) -> list[str]:
            known = split.name in self.asked
            self.asked.add(split.name)
            return [] if known else super().parents(split)

    class Tests(FamilyTests):
        source = Forgetful

    with pytest.raises(AssertionError, match="a split whose parent is there"):
        Tests().test_splits_that_follow_others_begin_when_these_have_ended()


def test_names_of_splits_that_grow_without_end_are_refused(tmp_path: Path) -> None:
    class Many(TailSource):
        def discover(self) -> list[NamedSplit]:
            return [NamedSplit(f"{number}".ljust(15_000, "x")) for number in range(300)]

    query = engine(Many, {**world(), "stateLocation": str(tmp_path)})
    with pytest.raises(
        ContractError,
        match=r"the names of all splits of source 'tails' has 4[0-9]{6} characters as JSON, "
        "and may have 4194304",
    ):
        query.run()
    assert not query.offsets


class Full(NumberSource):
    """The full form, to be broken."""

    def run(self) -> MicroBatchEngine:
        configured = ConfiguredPlannedSource(
            source=self,
            limits=ReadLimits(),
            hints=PlanningHints(parallelism=1),
            backoff=Backoff(deadline_ms=100),
        )
        query = MicroBatchEngine(lambda: configured)
        query.run()
        return query


def test_state_of_the_full_form_that_is_not_json_is_never_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NumberEnumerator, "snapshot_state", lambda _: {"seen": {1, 2}})
    with pytest.raises(
        ContractError, match=r"SplitEnumerator.snapshot_state: the state of source 'numbers' must be JSON"
    ):
        Full(Numbers({"a": 3})).run()


def test_a_definition_of_the_full_form_that_is_not_json_is_never_logged() -> None:
    class Tuples(Full):
        def serialize_splits(self, splits: Any) -> Any:
            return {split.label: (1, 2) for split in splits}

    with pytest.raises(ContractError, match=r"source 'numbers': splits of its offset must be JSON"):
        Tuples(Numbers({"a": 3})).run()


def test_a_batch_of_the_full_form_with_a_wrong_schema_is_not_handed_over() -> None:
    class Other(Full):
        def schema(self) -> pa.Schema:
            return pa.schema((("label", pa.string()), ("number", pa.float64())))

    with pytest.raises(
        ContractError, match=r"RecordEmitter.emit: a batch of split a of source 'numbers' has not the schema"
    ):
        Other(Numbers({"a": 3})).run()
