"""A source without an outside: numbered records in memory, for tests whose subject is the coordinator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.jsons import JsonValue
from headwater.core.planned_source import PlannedSource
from headwater.core.reader import RecordsWithSplitIds, SplitReader
from headwater.core.source import Boundedness
from headwater.core.split import Split, SplitPath, SplitRange


@dataclass(frozen=True, slots=True)
class NumberSplit(Split):
    """A named run of numbers."""

    label: str
    generation: int = 0

    @property
    def path(self) -> SplitPath:
        return (self.label,)


@dataclass
class Numbers:
    """The outside: how many numbers each label has, and how often it was asked.

    A hidden label exists and is not seen. ``gone`` says before which number none are left.
    """

    heads: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    gone: dict[str, int] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)
    looks: int = 0
    completed: list[Mapping[SplitPath, int]] = field(default_factory=list)
    ends_of_input: int = 0
    returned: list[NumberSplit] = field(default_factory=list)
    before_look: Callable[[], None] = lambda: None
    gauges: Mapping[str, int] = field(default_factory=dict)


class NumberEnumerator(PlannedSplitEnumerator[NumberSplit, int]):
    """Compares `Numbers` with the checkpoint."""

    def __init__(self, context: PlannedSplitEnumeratorContext[NumberSplit, int], outside: Numbers) -> None:
        self._context = context
        self._outside = outside
        self._heads: dict[SplitPath, int] = {}

    def start(self) -> None:
        pass

    def refresh(self, checkpoint: Checkpoint[NumberSplit, int] | None) -> None:
        self._context.call_async(self._ask, lambda heads: self._handle(heads, checkpoint), what="numbers")

    def _ask(self) -> dict[str, int]:
        self._outside.looks += 1
        self._outside.before_look()
        if self._outside.failures:
            raise self._outside.failures.pop(0)
        return dict(self._outside.heads)

    def _handle(self, heads: dict[str, int], checkpoint: Checkpoint[NumberSplit, int] | None) -> None:
        splits = checkpoint.splits if checkpoint else {}
        kept = checkpoint.kept if checkpoint else {}
        positions = {**(checkpoint.positions if checkpoint else {})}
        positions |= {path: each.position for path, each in kept.items()}
        known = {**splits, **{path: each.split for path, each in kept.items()}}
        seen = {label: head for label, head in heads.items() if label not in self._outside.hidden}
        self._heads = {(label,): head for label, head in seen.items()}
        for label in seen:
            self._settle(
                NumberSplit(label, self._outside.generations.get(label, 0)), known, positions, splits
            )
        self._context.keep_splits([path for path in splits if path[0] in self._outside.hidden], "hidden")
        self._context.retire_splits([path for path in known if path[0] not in heads], "gone")

    def _settle(
        self,
        split: NumberSplit,
        known: Mapping[SplitPath, NumberSplit],
        positions: Mapping[SplitPath, int],
        live: Mapping[SplitPath, NumberSplit],
    ) -> None:
        """Assign a split that is new, or back, or whose next numbers are gone."""
        path = split.path
        first = self._outside.first.get(split.label, 0)
        if known.get(path) != split:
            self._context.assign_splits({path: (split, first)})
        elif positions[path] < (left := self._outside.gone.get(split.label, 0)):
            self._context.report_losses({path: (positions[path], left)})
            self._context.assign_splits({path: (split, left)})
        elif path not in live:
            self._context.assign_splits({path: (split, positions[path])})

    def heads(self) -> Mapping[SplitPath, int]:
        return self._heads

    def gauges(self) -> Mapping[str, int]:
        return self._outside.gauges

    def snapshot_state(self) -> JsonValue:
        return {"looks": 0}

    def add_splits_back(self, splits: Sequence[NumberSplit]) -> None:
        self._outside.returned += splits

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[NumberSplit, int]) -> None:
        self._outside.completed.append(dict(checkpoint.positions))

    def notify_end_of_input(self) -> None:
        self._outside.ends_of_input += 1


class NumberReader(SplitReader[range, NumberSplit, int]):
    """Hands out each range in pieces of ten."""

    def __init__(self) -> None:
        self._open: list[list[object]] = []
        self.closed = 0

    def handle_splits_changes(self, added: Sequence[SplitRange[NumberSplit, int]]) -> None:
        self._open += [[piece.split.path, piece.start, piece.stop] for piece in added]

    def fetch(self) -> RecordsWithSplitIds[range]:
        path, start, stop = cast("tuple[SplitPath, int, int]", self._open[0])
        until = min(start + 10, stop)
        self._open[0][1] = until
        finished: frozenset[SplitPath] = frozenset()
        if until >= stop:
            finished = frozenset([path])
            self._open.pop(0)
        return RecordsWithSplitIds({path: [range(start, until)]}, finished)

    def close(self) -> None:
        self.closed += 1


class NumberEmitter(RecordEmitter[range, NumberSplit, int]):
    """One row a number."""

    def emit(self, record: range, state: SplitState[NumberSplit, int]) -> Iterator[pa.RecordBatch]:
        state.position = record.stop
        yield pa.RecordBatch.from_pylist(
            [{"label": state.split.label, "number": number} for number in record], schema=NUMBER_SCHEMA
        )


_FIELDS: list[pa.Field[Any]] = [pa.field("label", pa.string()), pa.field("number", pa.int64())]
NUMBER_SCHEMA = pa.schema(_FIELDS)


@dataclass
class NumberSource(PlannedSource[range, NumberSplit, int]):
    """Numbers as a source."""

    name: ClassVar[str] = "numbers"
    outside: Numbers = field(default_factory=Numbers)
    mode: Boundedness = Boundedness.CONTINUOUS_UNBOUNDED
    readers: list[NumberReader] = field(default_factory=list)

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    def schema(self) -> pa.Schema:
        return NUMBER_SCHEMA

    def create_enumerator(
        self, context: PlannedSplitEnumeratorContext[NumberSplit, int]
    ) -> PlannedSplitEnumerator[NumberSplit, int]:
        return NumberEnumerator(context, self.outside)

    def restore_enumerator(
        self,
        context: PlannedSplitEnumeratorContext[NumberSplit, int],
        checkpoint: Checkpoint[NumberSplit, int],
    ) -> PlannedSplitEnumerator[NumberSplit, int]:
        return self.create_enumerator(context)

    def create_reader(self) -> SplitReader[range, NumberSplit, int]:
        self.readers.append(NumberReader())
        return self.readers[-1]

    def create_emitter(self) -> RecordEmitter[range, NumberSplit, int]:
        return NumberEmitter()

    def serialize_splits(self, splits: Iterable[NumberSplit]) -> JsonValue:
        return {split.label: split.generation for split in splits}

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, NumberSplit]:
        generations = cast("dict[str, int]", definitions)
        return {path: NumberSplit(path[0], generations[path[0]]) for path in paths}

    def rows_between(self, start: int, stop: int) -> int:
        return max(0, stop - start)

    def position_after(self, start: int, rows: int, stop: int) -> int:
        return min(start + rows, stop)
