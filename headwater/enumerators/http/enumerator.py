"""The enumerators of a REST API: the lists that the user named, read once or in rounds."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.clock import Clock, SystemClock
from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.metrics import LEFT_OUT_PAGES, count
from headwater.core.redaction import logger_of
from headwater.enumerators.http.origins import OriginWaits, origin
from headwater.enumerators.http.split import HttpSplit, LogPosition, PagePosition

log = logger_of(__name__)


class HttpSplitEnumerator(BarrierSplitEnumerator[HttpSplit, JsonValue]):
    """Asks the API nothing: lists that the user did not name are found by reading.

    A server that asks one task to leave it alone for long is left alone by all: the reader reports it, and
    the readers of the other lists there are told in the next epoch. After a restart the server says it again.

    Args:
        context: the coordinator.
        urls: of the first pages.
        left_out: how many pages or lists were left out so far.
        clock: time.
    """

    def __init__(
        self,
        context: BarrierSplitEnumeratorContext[HttpSplit, JsonValue],
        urls: Sequence[str],
        *,
        left_out: int,
        clock: Clock | None = None,
    ) -> None:
        self._context = context
        self._left_out = left_out
        self._waits = OriginWaits(clock or SystemClock())
        self._splits = [HttpSplit(url) for url in urls]

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: Checkpoint[HttpSplit, JsonValue] | None) -> None:
        """Assign new lists that the options name; retire known ones that they no longer name."""
        logged = checkpoint.splits if checkpoint else {}
        self._context.assign_splits(
            {
                split.path: (split, self._first_position(split))
                for split in self._splits
                if split.path not in logged
            }
        )
        configured = {split.path for split in self._splits}
        obsolete = [path for path, split in logged.items() if split.is_root and path not in configured]
        self._context.retire_splits(obsolete, "not named any more")
        for path, split in logged.items():
            server = origin(split.url)
            left_ms = self._waits.left_ms(server)
            if left_ms > 0:
                self._context.send_event_to_source_reader(path, OriginWaits.event(server, left_ms))

    def handle_source_event(self, event: JsonValue) -> None:
        """Take a server that asks to be left alone; count a page or list that a reader left out."""
        if OriginWaits.is_event(event):
            if self._waits.take(event):
                log.warning("%s; its lists wait", OriginWaits.text(event))
            return
        self._left_out += 1
        count(LEFT_OUT_PAGES)
        log.warning("%d pages or lists were left out so far, now %s", self._left_out, event)

    def snapshot_state(self) -> JsonValue:
        return self._left_out or None

    def _first_position(self, split: HttpSplit) -> JsonValue:
        return PagePosition.first_of(split).to_json()


class IncrementalEnumerator(HttpSplitEnumerator):
    """Keeps in the checkpoint what tells changes: by that was stored what is known.

    Args:
        context: the coordinator.
        urls: of the lists.
        rules: what tells changes.
        left_out: how many pages were left out so far.
    """

    def __init__(
        self,
        context: BarrierSplitEnumeratorContext[HttpSplit, JsonValue],
        urls: Sequence[str],
        rules: JsonObject,
        *,
        left_out: int,
    ) -> None:
        super().__init__(context, urls, left_out=left_out)
        self._rules = rules

    def snapshot_state(self) -> JsonValue:
        return {"left_out": self._left_out, "incremental": self._rules}

    def _first_position(self, split: HttpSplit) -> JsonValue:
        return LogPosition().to_json()
