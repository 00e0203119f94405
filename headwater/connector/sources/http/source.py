"""The HTTP source: lists of a REST API, those included that are found while reading."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecordEmitter
from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import SystemClock
from headwater.core.decoding import Decoding
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.errors import OffsetError
from headwater.core.imports import importing
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath
from headwater.core.state_store import StateStore
from headwater.enumerators.http.enumerator import HttpSplitEnumerator, IncrementalEnumerator
from headwater.enumerators.http.origins import hidden
from headwater.enumerators.http.split import HttpSplit, LogPosition, PagePosition, current_path
from headwater.readers.http.client import RequestRate
from headwater.readers.http.incremental.values import IncrementalSettings
from headwater.readers.http.settings import HttpSettings

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class HttpSource(BarrierSource[HttpSplit, JsonValue]):
    """Lists as splits, pages as records, items as rows.

    Attributes:
        urls: of the lists that the user named.
        settings: how to read lists.
        connections: how many of them a task reads at once.
        requests_per_s: the most requests of all tasks together; None for no limit.
        mode: a batch or a stream.
        decoding: of the items; None: they are text.
        rate: of one attempt at a task, whose fetching threads share it; None on the driver.
    """

    name: ClassVar[str] = "http"
    path_depth: ClassVar[int] = 2

    urls: tuple[str, ...]
    settings: HttpSettings
    connections: int
    requests_per_s: float | None
    mode: Boundedness
    decoding: Decoding | None
    rate: RequestRate | None = None

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    @property
    def fetcher_threads(self) -> int:
        return self.connections

    def schema(self) -> pa.Schema:
        return self._rows if self.decoding is None else self.decoding.schema(self._rows)

    @property
    def reads(self) -> str:
        # Without their queries, in which keys may stand.
        return ", ".join(url.partition("?")[0] for url in self.urls)

    @property
    def logged_schema(self) -> JsonValue:
        return None if self.decoding is None else self.decoding.logged_schema

    @property
    def takes_other_schemas(self) -> bool:
        return self.decoding is not None and self.decoding.takes_other_schemas

    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[HttpSplit, JsonValue]
    ) -> BarrierSplitEnumerator[HttpSplit, JsonValue]:
        return HttpSplitEnumerator(context, self.urls, left_out=0)

    def restore_enumerator(
        self,
        context: BarrierSplitEnumeratorContext[HttpSplit, JsonValue],
        checkpoint: Checkpoint[HttpSplit, JsonValue],
    ) -> BarrierSplitEnumerator[HttpSplit, JsonValue]:
        """The positions are in the checkpoint; its state is the number of skipped pages.

        Raises:
            OffsetError: the checkpoint is one of lists that are read in rounds.
        """
        for position in list(checkpoint.positions.values())[:1]:
            PagePosition.from_json(position)
        return HttpSplitEnumerator(context, self.urls, left_out=int(cast("int", checkpoint.state or 0)))

    def create_reader(self) -> BarrierSplitReader[HttpSplit, JsonValue]:
        with importing("the http source", extra="http"):
            from headwater.readers.http.split_reader import HttpSplitReader
        rate = self.rate or RequestRate(self.requests_per_s)
        return HttpSplitReader(self.settings, SystemClock(), rate)

    def create_emitter(self) -> RecordEmitter[EpochRecord, HttpSplit, JsonValue]:
        if self.decoding is None:
            return EpochRecordEmitter()
        return self.decoding.create_emitter(self._rows, source=self.name)

    def serialize_splits(self, splits: Iterable[HttpSplit]) -> JsonValue:
        """Nothing: a split's path says all."""
        return None

    def path_of(self, logged: SplitPath) -> SplitPath:
        """Secrets that once stood in URLs are no part of a split's name."""
        found_in, url = current_path(logged)
        names = self.settings.credentials.parameters
        return (hidden(found_in, names), hidden(url, names))

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, HttpSplit]:
        return {path: HttpSplit(url=path[1], found_in=path[0]) for path in paths}

    def is_before(self, position: JsonValue, other: JsonValue) -> bool:
        this = PagePosition.from_json(position)
        that = PagePosition.from_json(other)
        return (this.page, this.row) < (that.page, that.row)

    def for_task(self, number: int, tasks: int) -> HttpSource:
        has_epochs = self.mode is Boundedness.CONTINUOUS_UNBOUNDED
        rate = RequestRate(self.requests_per_s, number=number, tasks=tasks, has_epochs=has_epochs)
        return replace(self, rate=rate)

    @property
    def _rows(self) -> pa.Schema:
        """The schema of the rows that readers make."""
        with importing("the http source", extra="http"):
            from headwater.readers.http.pages import HTTP_SCHEMA, with_bad_page
        return with_bad_page(HTTP_SCHEMA) if self.settings.bad_pages == "column" else HTTP_SCHEMA


@dataclass(frozen=True, kw_only=True)
class IncrementalHttpSource(HttpSource):
    """Lists as splits, segments of their logs as records, versions of items as rows.

    Attributes:
        incremental: how rounds are read.
        store: the state location; None in a batch read, which reads one round and stages nothing.
        folder: of the query, in the state location.
    """

    incremental: IncrementalSettings
    store: StateStore | None
    folder: str = ""

    @property
    def is_staged(self) -> bool:
        return True

    @property
    def delivery_columns(self) -> frozenset[str]:
        return frozenset({"page", "row"})

    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[HttpSplit, JsonValue]
    ) -> BarrierSplitEnumerator[HttpSplit, JsonValue]:
        return IncrementalEnumerator(context, self.urls, self._rules, left_out=0)

    def restore_enumerator(
        self,
        context: BarrierSplitEnumeratorContext[HttpSplit, JsonValue],
        checkpoint: Checkpoint[HttpSplit, JsonValue],
    ) -> BarrierSplitEnumerator[HttpSplit, JsonValue]:
        """The positions are in the logs; the state names the field that shows changes.

        Raises:
            OffsetError: that was something else.
        """
        for position in list(checkpoint.positions.values())[:1]:
            LogPosition.from_json(position)
        state = cast("dict[str, Any]", checkpoint.state)
        if state["incremental"] != self._rules:
            raise OffsetError(
                f"this checkpoint was begun with {dumps(state['incremental'])}, and the options say "
                f"{dumps(self._rules)} now: go back, or use a new checkpointLocation"
            )
        return IncrementalEnumerator(context, self.urls, self._rules, left_out=state["left_out"])

    def create_reader(self) -> BarrierSplitReader[HttpSplit, JsonValue]:
        with importing("the http source", extra="http"):
            from headwater.readers.http.incremental.incremental_reader import IncrementalReader
        return IncrementalReader(
            self.settings,
            self.incremental,
            clock=SystemClock(),
            rate=self.rate or RequestRate(self.requests_per_s),
            store=self.store,
            query=self.folder,
        )

    def is_before(self, position: JsonValue, other: JsonValue) -> bool:
        return LogPosition.from_json(position).segment < LogPosition.from_json(other).segment

    def for_query(self, folder: str) -> IncrementalHttpSource:
        return replace(self, folder=folder)

    def release_before(self, folder: str, positions: Mapping[SplitPath, JsonValue]) -> None:
        if self.store is None:
            return
        from headwater.readers.http.incremental.rounds import segment_log
        from headwater.readers.runtime.partitions.segment_log import release_logs

        # No reading from this position, or behind it, needs them.
        release_logs(
            (segment_log(self.store, folder, path), LogPosition.from_json(position).first_needed)
            for path, position in positions.items()
        )

    def forget_splits(self, folder: str, paths: Collection[SplitPath]) -> None:
        if self.store is None:
            return
        from headwater.readers.http.incremental.rounds import segment_log

        for path in paths:
            segment_log(self.store, folder, path).delete()

    @property
    def _rules(self) -> JsonObject:
        return {
            "field": self.incremental.value_field,
            "keys": list(self.incremental.key_fields),
            "order": type(self.incremental.order).__name__,
        }
