"""Ways in: how a class becomes a source, and what is said about one that cannot."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from headwater.connector.sources.configured import ConfiguredBarrierSource, ConfiguredPlannedSource
from headwater.connector.sources.registry import source_factory
from headwater.connector.sources.simple import BarrierSimpleSource, PlannedSimpleSource
from headwater.connector.sources.user_sources import UserSource, options_of_class
from headwater.core.abilities import (
    Acknowledges,
    EndsAtRecords,
    FindsTimestamps,
    Heads,
    InfersSchema,
    OrdersSplits,
    PushesFilters,
    Retires,
)
from headwater.core.errors import ContractError, OptionError
from headwater.core.jsons import JsonValue
from headwater.core.options import Option, integer, text
from headwater.core.simple_source import NamedSplit, Page, SimpleSource
from headwater.core.source import Boundedness
from headwater.testing import MemorySystem, MicroBatchEngine, SourceTests, Step, read_batch
from headwater.testing.scripted import Act, End, Find, Rows, ScriptedSource, scripted
from tests.doubles import Numbers, NumberSource
from tests.simple_sources import END, EndingLogSource, FamilySource, HidingSource, LogSource, TailSource

STREAM = Boundedness.CONTINUOUS_UNBOUNDED


def logs(**rows: Iterable[Any]) -> dict[str, str]:
    system = MemorySystem()
    for log, numbers in rows.items():
        system.append(log, numbers)
    return {"system": system.name}


def test_having_head_is_planned_mode_and_not_having_it_is_barrier_mode(tmp_path: Path) -> None:
    planned = UserSource(LogSource)({"system": "x", "maxrowspertrigger": "5"}, STREAM)
    assert isinstance(planned, ConfiguredPlannedSource)
    assert isinstance(planned.source, PlannedSimpleSource)
    assert planned.limits.max_rows == 5
    barrier = UserSource(TailSource)(
        {"system": "x", "statelocation": str(tmp_path), "connections": "3"}, STREAM
    )
    assert isinstance(barrier, ConfiguredBarrierSource)
    assert isinstance(barrier.source, BarrierSimpleSource)
    assert barrier.source.fetcher_threads == 3

    class Duck(TailSource):
        def head(self, split: NamedSplit) -> int:
            return 0

    assert isinstance(UserSource(Duck)({"system": "x"}, STREAM).source, PlannedSimpleSource)


def test_a_class_is_found_by_module_and_name() -> None:
    made = source_factory("tests.simple_sources:LogSource")({"system": "x"}, None)
    assert made.source.name == "logs"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tests.simple_sources:LogsSource", "cannot be imported: .*LogsSource"),
        ("no_such_module:LogSource", "No module named 'no_such_module'.* every executor"),
        (
            "tests.simple_sources:FIELDS",
            (
                "must be a subclass of hw.SimpleSource, hw.contracts.PlannedSource or "
                "hw.contracts.BarrierSource, not a value of the type list"
            ),
        ),
        ("tests.simple_sources:NamedSplit", "not the class NamedSplit"),
        ("tests.doubles:NumberSource", "needs OPTIONS and a classmethod from_options"),
        ("kafak", "did you mean 'kafka'"),
    ],
)
def test_what_cannot_be_a_source_is_named(name: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        source_factory(name)({"system": "x"}, None)


def test_an_installed_package_offers_sources_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[headwater.sources]\nmy-logs = tests.simple_sources:LogSource\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    assert source_factory("My-Logs")({"system": "x"}, None).source.name == "logs"
    with pytest.raises(OptionError, match="did you mean 'my-logs'"):
        source_factory("my-lags")


def test_options_are_one_table_with_nearest_names() -> None:
    table = options_of_class(LogSource)
    assert [row.name for row in table.rows][:2] == ["system", "startingTimestamp"]
    assert "| `system` | required | both | The name of a MemorySystem. |" in table.markdown()
    with pytest.raises(OptionError, match=r"option 'sistem'.*did you mean 'system'"):
        UserSource(LogSource)({"sistem": "x"}, None)
    with pytest.raises(OptionError, match="option 'system': is required: The name of a MemorySystem"):
        UserSource(LogSource)({}, None)
    with pytest.raises(OptionError, match="option 'pageRows': must be a whole number of at least 1"):
        UserSource(TailSource)({"system": "x", "pagerows": "0"}, None)


def test_options_of_a_source_must_be_options_with_names_of_their_own() -> None:
    for options, said in (
        ([Option("parallelism", integer(1), 1, "Mine.")], "'parallelism' is an option of every source"),
        (
            [Option("a", text, None, ""), Option("A", text, None, "")],
            "'A' is an option of every source, or comes twice",
        ),
        (["database"], "must be hw.options.Option, not 'database'"),
    ):
        with pytest.raises(ContractError, match=said):
            options_of_class(type("Mine", (LogSource,), {"OPTIONS": options}))


def test_a_class_without_name_or_methods_is_told_so() -> None:
    with pytest.raises(OptionError, match="needs a name"):
        options_of_class(type("Mine", (SimpleSource,), {}))
    with pytest.raises(OptionError, match="discover, read is missing"):
        options_of_class(type("Mine", (SimpleSource,), {"name": "mine"}))


class FullSource(NumberSource):
    """The full form, made from options."""

    OPTIONS: ClassVar[Any] = (Option("numbers", integer(1), 3, "How many."),)

    @classmethod
    def from_options(cls, options: Mapping[str, Any], boundedness: Boundedness | None) -> FullSource:
        return cls(Numbers({"a": options["numbers"]}), boundedness or Boundedness.BOUNDED)

    def __reduce__(self) -> tuple[Any, ...]:
        return FullSource.from_options, ({"numbers": self.outside.heads["a"]}, self.mode)


def test_the_full_form_has_options_limits_and_retries_too() -> None:
    made = UserSource(FullSource)({"numbers": "7", "maxrowspertrigger": "2", "retrydeadline": "1s"}, STREAM)
    assert isinstance(made, ConfiguredPlannedSource)
    assert (made.limits.max_rows, made.backoff.deadline_ms) == (2, 1_000)
    assert [row["number"] for row in read_batch(UserSource(FullSource)({"numbers": "7"}, None))] == list(
        range(7)
    )


class TestFullForm(SourceTests):
    source = FullSource

    def options(self) -> Mapping[str, str]:
        return {"numbers": "30"}


def test_a_new_query_begins_at_a_timestamp_and_later_splits_at_their_start() -> None:
    options = logs(a=[10, 20, 30], b=[5])
    engine = MicroBatchEngine(
        lambda: UserSource(LogSource)({**options, "startingtimestamp": "1970-01-01T00:00:00.020Z"}, STREAM)
    )
    engine.run()
    assert [row["number"] for row in engine.rows] == [20, 30]
    MemorySystem.open(options["system"]).append("c", [1, 2])
    engine.run()
    assert [row["number"] for row in engine.rows] == [20, 30, 1, 2]
    assert not isinstance(TailSource({}), FindsTimestamps)


@pytest.mark.parametrize("source", [LogSource, EndingLogSource])
def test_a_split_that_is_discovered_with_other_info_begins_anew(source: type[LogSource]) -> None:
    is_ending = source is EndingLogSource
    options = logs(a=[1, 2], b=[3, END, 4] if is_ending else [3])
    made: list[str] = ["first"]

    class Generations(source):  # type: ignore[misc, valid-type]
        def discover(self) -> list[NamedSplit]:
            return [NamedSplit(log, made[0]) for log in self.system.logs()]

    engine = MicroBatchEngine(lambda: UserSource(Generations)(options, STREAM))
    engine.run()
    made[0] = "second"
    engine.run()
    engine.run()
    assert [row["number"] for row in engine.rows] == [1, 2, 3, 1, 2, 3]


class TestASplitThatIsNotDiscoveredAnyMore:
    @pytest.fixture
    def system(self) -> MemorySystem:
        return MemorySystem.open(logs(a=[1, 2], b=[3])["system"])

    @pytest.fixture
    def engine(self, system: MemorySystem) -> MicroBatchEngine:
        made = MicroBatchEngine(lambda: UserSource(HidingSource)({"system": system.name}, STREAM))
        made.run()
        return made

    def test_goes_on_at_its_position_when_it_is_back(
        self, system: MemorySystem, engine: MicroBatchEngine, caplog: pytest.LogCaptureFixture
    ) -> None:
        system.append("hidden b", [])
        for more in ([10], [11]):
            system.append("a", more)
            system.append("b", more)
            engine.run()
        assert json.loads(engine.offsets[-1])["kept"]["b"]["position"] == 1
        assert [row["number"] for row in engine.rows] == [1, 2, 3, 10, 11]
        assert caplog.text.count("split 'b' is not discovered any more; its position is kept") == 1
        system.remove("hidden b")
        engine.run(crash_after=Step.PLANNED, in_batch=len(engine.offsets))
        engine.run()
        assert [row["number"] for row in engine.rows] == [1, 2, 3, 10, 11, 10, 11]
        assert "kept" not in engine.offsets[-1]

    def test_is_forgotten_if_the_source_says_that_it_is_gone_for_good(
        self, system: MemorySystem, engine: MicroBatchEngine
    ) -> None:
        system.append("hidden b", [])
        system.append("a", [10])
        engine.run()
        system.append("closed b", [])
        engine.run()
        assert "kept" not in engine.offsets[-1]
        assert not engine.sink[len(engine.offsets) - 1]
        logged = len(engine.offsets)
        engine.run()
        assert len(engine.offsets) == logged

    def test_leaves_though_the_batch_before_ended_it_at_a_record(self, system: MemorySystem) -> None:
        class Ending(HidingSource, EndsAtRecords):
            is_end = EndingLogSource.is_end

            def read(self, split: NamedSplit, position: int) -> Iterator[Page]:
                if split.name == "b" and position == 0:
                    system.append("closed b", [])
                    system.append("hidden b", [])
                return super().read(split, position)

        system.append("b", [END, 4])
        engine = MicroBatchEngine(lambda: UserSource(Ending)({"system": system.name}, STREAM))
        engine.run()
        system.append("a", [10])
        engine.run()
        assert [row["number"] for row in engine.rows] == [1, 2, 3, 10]
        assert json.loads(engine.offsets[-1])["positions"] == {"a": 3}

    def test_stays_as_it_is_if_no_split_is_there_at_all(
        self, system: MemorySystem, engine: MicroBatchEngine, caplog: pytest.LogCaptureFixture
    ) -> None:
        for log in "ab":
            system.append(f"hidden {log}", [])
        logged = list(engine.offsets)
        engine.run()
        assert engine.offsets == logged
        assert "none of the 2 splits that this query reads is discovered" in caplog.text
        for log in "ab":
            system.remove(f"hidden {log}")
            system.append(log, [10])
        engine.run()
        assert sorted(row["number"] for row in engine.rows) == [1, 2, 3, 10, 10]


def test_a_split_that_has_finished_is_not_read_again_by_a_later_run(tmp_path: Path) -> None:
    options = {**logs(a=[1, None], b=[5]), "statelocation": str(tmp_path)}
    engine = MicroBatchEngine(lambda: UserSource(TailSource)(options, STREAM))
    for _ in range(3):
        engine.run()
    assert sorted(row["number"] for row in engine.rows) == [1, 5]
    MemorySystem.open(options["system"]).append("c", [7])
    engine.run()
    assert sorted(row["number"] for row in engine.rows) == [1, 5, 7]


def test_splits_that_follow_others_begin_when_these_have_ended_and_those_not_to_be_read_never(
    tmp_path: Path,
) -> None:
    rows: dict[str, list[Any]] = {"a": [1, 2, None], "old": [5, None], "a>b": [3], "a>b>c": [4], "old>d": [6]}
    options = {**logs(**rows), "statelocation": str(tmp_path)}
    engine = MicroBatchEngine(lambda: UserSource(FamilySource)(options, STREAM))
    engine.run()
    batches = [{row["log"] for row in rows} for _, rows in sorted(engine.sink.items()) if rows]
    assert batches == [{"a", "old>d"}, {"a>b"}]
    system = MemorySystem.open(options["system"])
    system.append("a>b", [7, None])
    system.append("old", [8])
    engine.run()
    assert sorted(row["number"] for row in engine.rows) == [1, 2, 3, 4, 6, 7]
    batch = read_batch(UserSource(FamilySource)(options, Boundedness.BOUNDED))
    assert sorted(row["number"] for row in batch) == [*range(1, 9)]


def test_splits_of_a_planned_source_that_follow_others_are_refused() -> None:
    class Both(LogSource, OrdersSplits):
        parents = FamilySource.parents
        first_start = FamilySource.first_start

    with pytest.raises(ContractError, match=r"Both has head and parents; splits wait for others in"):
        UserSource(Both)(logs(a=[1]), STREAM)


@pytest.mark.parametrize("is_gone", [True, False])
def test_in_barrier_mode_the_source_says_whether_an_unread_split_is_gone(
    tmp_path: Path, is_gone: bool
) -> None:
    asked = []

    class Hiding(TailSource, Retires):
        def discover(self) -> list[NamedSplit]:
            return [split for split in super().discover() if split.name != "b" or not engine.offsets]

        def retire(self, split: NamedSplit) -> bool:
            asked.append(split.name)
            return is_gone

    options = {**logs(a=[1], b=[2], c=[3, None]), "statelocation": str(tmp_path)}
    engine = MicroBatchEngine(lambda: UserSource(Hiding)(options, STREAM))
    engine.run()
    MemorySystem.open(options["system"]).append("b", [4])
    engine.run()
    assert set(asked) == {"b"}
    assert [row["number"] for row in engine.rows if row["log"] == "b"] == [2, 4][: 1 if is_gone else 2]


def test_what_is_written_is_acknowledged_and_again_after_a_failure_that_passes() -> None:
    told: list[Mapping[str, JsonValue]] = []
    away = [ConnectionError("away")]

    class Told(LogSource, Acknowledges):
        def acknowledge(self, positions: Mapping[str, JsonValue]) -> None:
            if away:
                raise away.pop()
            told.append(positions)

    options = {**logs(a=range(6)), "maxrowspertrigger": "4"}
    engine = MicroBatchEngine(lambda: UserSource(Told)(options, STREAM))
    engine.run()
    assert told == [{"a": 4}, {"a": 6}]


def test_a_schema_is_inferred_once_and_told_to_the_tasks() -> None:
    asked: list[int] = []

    class Inferring(LogSource, InfersSchema):
        def infer_schema(self) -> pa.Schema:
            asked.append(1)
            return LogSource.schema

    source = UserSource(Inferring)(logs(a=[1]), None).source
    assert source.schema() == LogSource.schema
    told = source.with_schema(LogSource.schema, given=False)
    assert told.schema() == LogSource.schema
    assert len(asked) == 1


@pytest.mark.parametrize("schema", [None, "id long", dict])
def test_a_schema_that_is_none_is_named(schema: object) -> None:
    class Wrong(LogSource):
        pass

    Wrong.schema = schema  # type: ignore[assignment]
    with pytest.raises(
        ContractError, match=r"source 'logs': Wrong\.schema must be a pyarrow\.Schema, such as .*, not "
    ):
        UserSource(Wrong)(logs(a=[1]), None).source.schema()


def test_filters_of_a_batch_come_to_a_source_that_takes_them() -> None:
    class Filtered(LogSource, PushesFilters):
        filters: tuple[Any, ...] = ()

        def push_filters(self, filters: tuple[Any, ...]) -> None:
            self.filters = filters

    made = UserSource(Filtered)({**logs(a=[1]), "pushfilters": "true"}, Boundedness.BOUNDED)
    assert made.push_filters
    assert isinstance(made.source, PlannedSimpleSource)
    told = made.source.with_filters(["a filter"])
    assert isinstance(told.user, Filtered)
    assert told.user.filters == ("a filter",)
    assert made.source.user.filters == ()  # type: ignore[attr-defined]
    assert not UserSource(LogSource)(logs(a=[1]), Boundedness.BOUNDED).push_filters


def test_heads_is_what_decides() -> None:
    assert isinstance(LogSource({}), Heads)
    assert not isinstance(TailSource({}), Heads)


@pytest.mark.parametrize("barrier_rows", [1, 2, 1_000])
@pytest.mark.parametrize("crashes", [False, True])
def test_a_ring_of_splits_that_pages_name_is_read_once_however_epochs_are_cut(
    barrier_rows: int, crashes: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    acts: dict[str, list[Act]] = {
        "a": [Rows(1), Find("child_b"), Rows(1), End()],
        "child_b": [Rows(2), Find("child_b"), Find("child_c"), Rows(1), End()],
        "child_c": [Find("child_d"), Rows(1), Find("a"), Find("child_b"), End()],
        "child_d": [Rows(1), Find("child_c"), End()],
    }
    options = {"stateLocation": str(tmp_path), "barrierRows": str(barrier_rows), "pollInterval": "0s"}
    query = MicroBatchEngine.of(ScriptedSource, {**scripted(**acts), **options})
    batch = 0
    while crashes and query.run(crash_after=Step.WRITTEN, in_batch=batch):
        batch += 1
    query.run()
    counts = {"a": 2, "child_b": 3, "child_c": 1, "child_d": 1}
    assert sorted((row["split"], row["number"]) for row in query.rows) == [
        (split, number) for split, count in counts.items() for number in range(count)
    ]
    assert "split child_c names 1 splits in which it was found, or itself: a ring" in caplog.text
