"""The HTTP source of lists that change: rounds, staged in segment logs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from headwater.connector.sources.http.source import HttpSource
from headwater.core.barrier_reader import BarrierSplitReader
from headwater.core.clock import SystemClock
from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.errors import OffsetError
from headwater.core.imports import importing
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.split import SplitPath
from headwater.core.state_store import StateStore
from headwater.enumerators.http.enumerator import IncrementalEnumerator
from headwater.enumerators.http.log_position import LogPosition
from headwater.enumerators.http.split import HttpSplit
from headwater.readers.http.client import RequestRate
from headwater.readers.http.incremental.values import IncrementalSettings


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
        """What counts is in the logs; the state says what told changes.

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

        # What no reading from a position, or behind it, needs.
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
