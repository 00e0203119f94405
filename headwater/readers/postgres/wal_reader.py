"""Reads a range of the log: one conversation with the server for each range, and again where it was lost."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import DeadlineError, LostSlotError, TransientSourceError
from headwater.core.reader import LossReporter, RecordsWithSplitIds, SplitReader
from headwater.core.retry import Backoff, Retry
from headwater.core.split import SplitRange
from headwater.enumerators.postgres.replication import ReplicationStream
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.slot_reading import SlotReading
from headwater.enumerators.postgres.split import WalSplit
from headwater.readers.postgres.wal_chunk import WalChunk, WalProgress

_CHUNK_BYTES: Final = 4 << 20


class WalReader(SplitReader[WalChunk, WalSplit, int]):
    """Fetches the messages of transactions in ranges of the log.

    A range is over with the first transaction that begins behind it, or when the server says that it has sent
    everything before its end. If the connection is lost, the next one begins with the transaction that was
    broken off, and skips its changes that were fetched already: the server sends the same again.

    A range that the slot has lost is an error. Where the query reads the table again then, the range has no
    rows, as soon as it is sure that the next plan finds the loss too: a batch that is logged could never be
    read otherwise.

    Args:
        settings: of the server.
        publication: whose changes are read.
        backoff: how long to ask again when the server is away, or the slot is in use.
        clock: time.
        resyncs: whether the query reads the table again where its slot is lost.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        publication: str,
        backoff: Backoff,
        clock: Clock | None = None,
        *,
        resyncs: bool = False,
    ) -> None:
        self._settings = settings
        self._publication = publication
        self._backoff = backoff
        self._clock = clock or SystemClock()
        self._woken = threading.Event()
        self._ranges: list[SplitRange[WalSplit, int]] = []
        self._range: _RangeReading | None = None
        self._resyncs = resyncs
        self._report_loss: LossReporter | None = None

    def report_losses_to(self, report: LossReporter) -> None:
        self._report_loss = report

    def handle_splits_changes(self, added: Sequence[SplitRange[WalSplit, int]]) -> None:
        self._ranges += added

    def fetch(self) -> RecordsWithSplitIds[WalChunk]:
        if self._range is None:
            if not self._ranges:
                return RecordsWithSplitIds()
            assigned = self._ranges.pop(0)
            if assigned.start >= assigned.stop:
                return RecordsWithSplitIds(finished=frozenset([assigned.split.path]))
            self._range = _RangeReading(
                assigned, self._settings, self._publication, self._backoff, self._clock
            )
        path = self._range.path
        try:
            chunk = self._range.fetch(self._woken)
        except LostSlotError as error:
            if not self._resyncs or not self._range.is_lost_whole():
                raise
            self._tell(self._range.assigned, error)
            chunk = None
        self._woken.clear()
        records = {path: [chunk]} if chunk is not None else {}
        if not self._range.is_over:
            return RecordsWithSplitIds(records)
        self._range.close()
        self._range = None
        return RecordsWithSplitIds(records, frozenset([path]))

    def _tell(self, lost: SplitRange[WalSplit, int], error: LostSlotError) -> None:
        reason = f"no row of it is read, and the next plan reads the table again: {error}"
        if self._report_loss is not None:
            self._report_loss(lost.split, lost.start, lost.stop, reason)

    def wake_up(self) -> None:
        self._woken.set()

    def close(self) -> None:
        if self._range is not None:
            self._range.close()


class _RangeReading:
    """One range. One thread."""

    def __init__(
        self,
        assigned: SplitRange[WalSplit, int],
        settings: PostgresSettings,
        publication: str,
        backoff: Backoff,
        clock: Clock,
    ) -> None:
        self.assigned = assigned
        self.path = assigned.split.path
        self.is_over = False
        self._has_rows = False
        self._start = assigned.start
        self._confirmed = assigned.split.confirmed(assigned.start)
        self._stop = assigned.stop
        self._slot = SlotReading(settings, publication, assigned.split, backoff, clock)
        self._retry = Retry(backoff, clock, f"reading slot {assigned.split.slot!r}")
        self._clock = clock
        self._progress = WalProgress(assigned.start, assigned.stop)
        self._stream: ReplicationStream | None = None
        self._newest_xid = 0
        self._known = 0

    def fetch(self, woken: threading.Event) -> WalChunk | None:
        """Return the next messages; None for none now, or at the end."""
        try:
            stream = self._opened(woken)
            messages = stream.read(_CHUNK_BYTES, self._stop, woken)
        except DeadlineError:
            raise  # of the slot: it was asked for long enough
        except TransientSourceError as error:
            self.close()
            self._clock.wait(woken, self._retry.failed(error))
            return None
        chunk = WalChunk.of(messages, self._newest_xid)
        if self._known and messages:
            chunk, self._known = chunk.without(self._known)
        count = self._progress.add(chunk)
        self.is_over = count < len(chunk.ends) or stream.sent_lsn >= self._stop
        if not count:
            return None
        self._retry.succeeded()
        self._has_rows = True
        return chunk.up_to(count)

    def is_lost_whole(self) -> bool:
        """Whether the range can be left out: nothing of it was fetched, and the next plan finds the loss too.

        Then it is over.
        """
        self.is_over = not self._has_rows and self._slot.is_lost_behind(self._stop)
        return self.is_over

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _opened(self, woken: threading.Event) -> ReplicationStream:
        if self._stream is None:
            start = max(self._start, self._progress.lsn)
            self._stream, view = self._slot.open(self._confirmed, self._stop, start=start, cancelled=woken)
            self._known = self._progress.changes
            # Kept from the first connection on: ids that were widened once stay the same.
            self._newest_xid = self._newest_xid or view.next_xid
        return self._stream
