"""A source whose end is known only by reading it.

Linked pages in memory, for tests whose subject is barrier mode.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import pyarrow as pa

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecords
from headwater.core.barrier_source import BarrierSource
from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.epoch import FoundSplit
from headwater.core.jsons import JsonValue
from headwater.core.source import Boundedness
from headwater.core.split import Split, SplitPath, SplitRange
from tests.doubles import NUMBER_SCHEMA, NumberSplit


@dataclass(frozen=True)
class Page:
    """Rows that come together, the labels they name, and the events they bring."""

    numbers: tuple[int, ...]
    found: tuple[str, ...] = ()
    events: tuple[JsonValue, ...] = ()


def pages(count: int, rows: int = 1) -> list[Page]:
    return [Page(tuple(range(first, first + rows))) for first in range(0, count * rows, rows)]


@dataclass
class Library:
    """The outside: the pages of each label, and whether a label goes on behind its last page."""

    pages: dict[str, list[Page]] = field(default_factory=dict)
    goes_on: dict[str, int | None] = field(default_factory=dict)
    cursors: bool = False
    events: list[JsonValue] = field(default_factory=list)
    fetched: list[SplitPath] = field(default_factory=list)
    before_fetch: Callable[[PageReader], None] = lambda _: None
    readers: list[PageReader] = field(default_factory=list)

    def position(self, page: int) -> JsonValue:
        return f"page {page}" if self.cursors else page

    def page(self, position: JsonValue) -> int:
        return int(position.removeprefix("page ")) if isinstance(position, str) else cast("int", position)


class PageReader(BarrierSplitReader[NumberSplit, JsonValue]):
    """One page a fetch, from the split that waited longest."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.open: dict[SplitPath, SplitRange[NumberSplit, JsonValue]] = {}
        self.paused: set[SplitPath] = set()
        self.woken = threading.Event()
        self.thread: threading.Thread | None = None
        self.closed = 0
        self.events: list[JsonValue] = []

    def _on_thread(self) -> None:
        self.thread = self.thread or threading.current_thread()
        assert self.thread is threading.current_thread(), "a SplitReader is used by one thread"

    def handle_splits_changes(self, added: Sequence[SplitRange[NumberSplit, JsonValue]]) -> None:
        self._on_thread()
        self.open.update((piece.split.path, piece) for piece in added)

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        self._on_thread()
        for path in removed:
            del self.open[path]
            self.paused.discard(path)

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        self._on_thread()
        self.paused = (self.paused | set(paused)) - set(resumed)

    def handle_source_event(self, event: JsonValue) -> None:
        self._on_thread()
        self.events.append(event)

    def fetch(self) -> EpochRecords:
        self._on_thread()
        self._library.before_fetch(self)
        if self.woken.is_set():
            self.woken.clear()
            return EpochRecords()
        path = next(path for path in self.open if path not in self.paused)
        piece = self.open.pop(path)
        self._library.fetched.append(path)
        at = self._library.page(piece.start)
        all_pages = self._library.pages[path[0]]
        records = {}
        if at < len(all_pages):
            page = all_pages[at]
            at += 1
            rows = pa.RecordBatch.from_pylist(
                [{"label": path[0], "number": number} for number in page.numbers], schema=NUMBER_SCHEMA
            )
            found = tuple(FoundSplit(NumberSplit(label), self._library.position(0)) for label in page.found)
            records = {path: [EpochRecord(rows, self._library.position(at), found, page.events)]}
        events = tuple(self._library.events)
        self._library.events = []
        if at < len(all_pages):
            self.open[path] = SplitRange(piece.split, self._library.position(at), piece.stop)
            return EpochRecords(records, events=events)
        if path[0] in self._library.goes_on:
            return EpochRecords(records, caught_up={path: self._library.goes_on[path[0]]}, events=events)
        return EpochRecords(records, frozenset([path]), events=events)

    def wake_up(self) -> None:
        self.woken.set()

    def close(self) -> None:
        self._on_thread()
        self.closed += 1


@dataclass
class PageSource(BarrierSource[NumberSplit, JsonValue]):
    """Pages as a source."""

    name: ClassVar[str] = "pages"
    library: Library = field(default_factory=Library)
    threads: int = 1

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def fetcher_threads(self) -> int:
        return self.threads

    def schema(self) -> pa.Schema:
        return NUMBER_SCHEMA

    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[NumberSplit, JsonValue]
    ) -> BarrierSplitEnumerator[NumberSplit, JsonValue]:
        raise NotImplementedError

    def restore_enumerator(
        self,
        context: BarrierSplitEnumeratorContext[NumberSplit, JsonValue],
        checkpoint: Checkpoint[NumberSplit, JsonValue],
    ) -> BarrierSplitEnumerator[NumberSplit, JsonValue]:
        raise NotImplementedError

    def create_reader(self) -> BarrierSplitReader[NumberSplit, JsonValue]:
        reader = PageReader(self.library)
        self.library.readers.append(reader)
        return reader

    def serialize_splits(self, splits: Iterable[NumberSplit]) -> JsonValue:
        return {split.label: split.generation for split in splits}

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, NumberSplit]:
        generations = cast("dict[str, int]", definitions)
        return {path: NumberSplit(path[0], generations[path[0]]) for path in paths}


def start_of(label: str, position: JsonValue = 0) -> SplitRange[Any, Any]:
    return SplitRange(NumberSplit(label), position, None)


def as_starts(progress: Iterable[tuple[Split, JsonValue]]) -> list[SplitRange[Any, Any]]:
    return [SplitRange(split, position, None) for split, position in progress]


def rows_of(batches: Iterable[pa.RecordBatch]) -> list[tuple[str, int]]:
    return [(row["label"], row["number"]) for batch in batches for row in batch.to_pylist()]
