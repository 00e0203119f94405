"""The suite for task notes accepts a source whose tasks find the ends of files, and finds broken ones."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import pyarrow as pa
import pytest

import headwater as hw
from headwater import contracts
from headwater.errors import ContractError, FencedError, OptionError, StateLocationError
from headwater.testing import (
    BrokenContractError,
    CheckpointTests,
    EnumeratorTests,
    MicroBatchEngine,
    NoteTests,
    OffsetTests,
    OptionTests,
    ReaderTests,
    Step,
)

SCHEMA = pa.schema([("file", pa.string()), ("line", pa.string())])


@dataclass(frozen=True)
class Tail(contracts.Split):
    """The lines of a file from one number on, as far as the first reading finds any."""

    file: str
    first: int

    @property
    def path(self) -> contracts.SplitPath:
        return (self.file, str(self.first))


class TailEnumerator(contracts.PlannedSplitEnumerator[Tail, int]):
    """Knows from the notes how many lines of each file are read; its state is that."""

    def __init__(
        self,
        context: contracts.PlannedSplitEnumeratorContext[Tail, int],
        folder: Path,
        read: Mapping[str, int] | None = None,
    ) -> None:
        self._context = context
        self._folder = folder
        self._read = dict(read or {})
        self._checkpoint: contracts.Checkpoint[Tail, int] | None = None
        self._heads: dict[contracts.SplitPath, int] = {}

    def start(self) -> None:
        """Nothing to begin with."""

    def handle_task_notes(self, notes: Mapping[contracts.SplitPath, contracts.JsonValue]) -> None:
        for path, note in notes.items():
            if note is not None:
                self._read[path[0]] = self._read.get(path[0], 0) + cast("dict[str, int]", note)["lines"]

    def refresh(self, checkpoint: contracts.Checkpoint[Tail, int] | None) -> None:
        self._checkpoint = checkpoint
        self._heads = {}

    def handle_split_request(self, request: contracts.SplitRequest) -> None:
        tails = [
            Tail(file.name, self._read.get(file.name, 0))
            for file in sorted(self._folder.iterdir())
            if len(file.read_text().splitlines()) > self._read.get(file.name, 0)
        ]
        known = self._checkpoint.splits if self._checkpoint else {}
        # One whose batch is committed is known to be read by its note.
        tails = [tail for tail in tails if tail.path not in known][: request.max_rows]
        if tails:
            self._context.retire_splits(list(known), "it is read")
        self._context.assign_splits({tail.path: (tail, 0) for tail in tails})
        self._heads = {tail.path: 1 for tail in tails}

    def heads(self) -> Mapping[contracts.SplitPath, int]:
        return self._heads

    def snapshot_state(self) -> contracts.JsonValue:
        return dict(self._read)


class TailReader(contracts.SplitReader[list[str], Tail, int]):
    """Reads to the end that a file has now."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._added: list[contracts.SplitRange[Tail, int]] = []

    def handle_splits_changes(self, added: Sequence[contracts.SplitRange[Tail, int]]) -> None:
        self._added += added

    def fetch(self) -> contracts.RecordsWithSplitIds[list[str]]:
        each = self._added.pop()
        path = each.split.path
        if each.start >= each.stop:
            return contracts.RecordsWithSplitIds(finished=frozenset([path]), notes={path: {"lines": 0}})
        lines = (self._folder / each.split.file).read_text().splitlines()[each.split.first :]
        return contracts.RecordsWithSplitIds(
            {path: [lines]}, finished=frozenset([path]), notes=self.notes(path, lines)
        )

    def notes(
        self, path: contracts.SplitPath, lines: list[str]
    ) -> Mapping[contracts.SplitPath, contracts.JsonValue]:
        return {path: {"lines": len(lines)}}

    def wake_up(self) -> None:
        """No fetch waits."""

    def close(self) -> None:
        """Nothing is open between fetches."""


class TailEmitter(contracts.RecordEmitter[list[str], Tail, int]):
    """A batch for each line."""

    def emit(self, record: list[str], state: contracts.SplitState[Tail, int]) -> Any:
        for line in record:
            yield pa.RecordBatch.from_pylist([{"file": state.split.file, "line": line}], schema=SCHEMA)
        state.position = 1


@dataclass(frozen=True)
class Tails(contracts.PlannedSource[list[str], Tail, int]):
    """Files that grow: only a task finds out where one ends."""

    name = "tails"
    path_depth = 2
    bounded_splits = True
    OPTIONS = (
        hw.options.Option("folder", hw.options.text, None, "Where the files are.", required=True),
        hw.options.Option("stateLocation", hw.options.text, None, "For notes."),
    )

    folder: Path
    mode: contracts.Boundedness
    state_location: str | None

    @classmethod
    def from_options(cls, options: Mapping[str, Any], boundedness: contracts.Boundedness | None) -> Self:
        mode = boundedness or contracts.Boundedness.BOUNDED
        return cls(Path(options["folder"]), mode, options["stateLocation"])

    @property
    def boundedness(self) -> contracts.Boundedness:
        return self.mode

    @property
    def note_store(self) -> contracts.StateStore | None:
        return None if self.state_location is None else contracts.open_state_store(self.state_location)

    def leaves_note(self, split: Tail) -> bool:
        return True

    def schema(self) -> pa.Schema:
        return SCHEMA

    def create_enumerator(self, context: Any) -> TailEnumerator:
        return TailEnumerator(context, self.folder)

    def restore_enumerator(self, context: Any, checkpoint: contracts.Checkpoint[Tail, int]) -> TailEnumerator:
        return TailEnumerator(context, self.folder, cast("dict[str, int]", checkpoint.state))

    def create_reader(self) -> contracts.SplitReader[list[str], Tail, int]:
        return TailReader(self.folder)

    def create_emitter(self) -> TailEmitter:
        return TailEmitter()

    def rows_between(self, start: int, stop: int) -> int:
        return max(0, stop - start)

    def position_after(self, start: int, rows: int, stop: int) -> int:
        return min(stop, start + rows)

    def serialize_splits(self, splits: Iterable[Tail]) -> contracts.JsonValue:
        return None

    def deserialize_splits(
        self, paths: Iterable[contracts.SplitPath], definitions: contracts.JsonValue
    ) -> Mapping[contracts.SplitPath, Tail]:
        return {path: Tail(path[0], int(path[1])) for path in paths}


class TailTests(NoteTests, EnumeratorTests, ReaderTests, OffsetTests, OptionTests, CheckpointTests):
    source = Tails

    def options(self) -> Mapping[str, str]:
        folder = Path(tempfile.mkdtemp())
        for name, count in (("a", 5), ("b", 4), ("c", 6)):
            (folder / name).write_text("".join(f"{name}{number}\n" for number in range(count)))
        return {"folder": str(folder)}

    def grow(self, options: Mapping[str, str]) -> None:
        for file in Path(options["folder"]).iterdir():
            file.write_text(file.read_text() + "more\n")

    def told(self, state: Any) -> object:
        return state


class TestTails(TailTests):
    pass


class Forgets(Tails):
    """Its enumerator forgets at each restart what it was told."""

    def restore_enumerator(self, context: Any, checkpoint: Any) -> TailEnumerator:
        return self.create_enumerator(context)


class Silent(Tails):
    """Its readers leave no notes."""

    def create_reader(self) -> TailReader:
        class Reader(TailReader):
            def notes(self, path: Any, lines: list[str]) -> Mapping[Any, Any]:
                return {}

        return Reader(self.folder)


class Unnoted(Tails):
    """Says of no split that its first reading counts."""

    def leaves_note(self, split: Tail) -> bool:
        return False


@pytest.mark.parametrize(
    ("broken", "test", "error"),
    [
        (Forgets, "notes_arrive_once_each_wherever_a_query_crashes", BrokenContractError),
        (Silent, "a_split_that_is_read_again_has_the_rows_of_its_first_reading", ContractError),
        (Unnoted, "a_split_that_is_read_again_has_the_rows_of_its_first_reading", BrokenContractError),
    ],
)
def test_sources_that_break_the_contract_are_found(
    broken: type[Tails], test: str, error: type[Exception]
) -> None:
    suite = type("Suite", (TailTests,), {"source": broken})()
    with pytest.raises(error):
        getattr(suite, f"test_{test}")()


def _world(tmp_path: Path) -> dict[str, str]:
    return {**TailTests().options(), "stateLocation": str(tmp_path)}


def test_a_replay_after_a_kill_serves_the_rows_of_the_killed_reading(tmp_path: Path) -> None:
    options = _world(tmp_path)
    query = MicroBatchEngine.of(Tails, options)
    query.run(crash_after=Step.READ)
    TailTests().grow(options)
    query.run(crash_after=Step.COMMITTED, in_batch=0)
    assert len(query.rows) == 15
    query.run()
    assert [row["line"] for row in query.rows].count("more") == 3
    assert len(query.rows) == 18


def test_a_split_that_the_sink_never_read_is_sealed_and_told_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = _world(tmp_path)
    source = TailTests().configure(options, contracts.Boundedness.CONTINUOUS_UNBOUNDED)
    coordinator = source.create_coordinator()
    start = coordinator.plan_next(coordinator.initial_offset(), limited=False)
    tasks = coordinator.tasks(coordinator.initial_offset(), start)
    told: list[Any] = []
    monkeypatch.setattr(TailEnumerator, "handle_task_notes", lambda _, notes: told.append(notes))
    coordinator.plan_next(start, limited=False)
    coordinator.close()
    assert told == [{(name, "0"): None for name in "abc"}]
    with pytest.raises(FencedError, match="committed without it"):
        list(source.read_task(tasks[0]))


def test_rows_that_are_gone_are_an_error_and_not_read_anew(tmp_path: Path) -> None:
    query = MicroBatchEngine.of(Tails, _world(tmp_path))
    query.run(crash_after=Step.READ)
    next(path for path in tmp_path.rglob("*-000000")).unlink()
    with pytest.raises(StateLocationError, match="restore stateLocation"):
        query.run()


def test_a_checkpoint_with_notes_needs_its_state_location(tmp_path: Path) -> None:
    options = _world(tmp_path)
    query = MicroBatchEngine.of(Tails, options)
    query.run(crash_after=Step.LOGGED)
    del options["stateLocation"]
    with pytest.raises(OptionError, match="the one that the query began with"):
        query.run()


def test_a_source_that_leaves_notes_is_no_part_of_a_chain(tmp_path: Path) -> None:
    from headwater.connector.sources.hybrid.configure import configure_hybrid

    tails = f"{Tails.__module__}:Tails"
    options = {"sources": "old,new", "old.source": tails, "new.source": "kafka"}
    own = {f"old.{key}": value for key, value in _world(tmp_path).items()}
    with pytest.raises(OptionError, match="first reading counts"):
        configure_hybrid(
            {key.lower(): value for key, value in {**options, **own}.items()},
            contracts.Boundedness.CONTINUOUS_UNBOUNDED,
        )
