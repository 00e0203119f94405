"""Receives the messages of a slot into durable segments, on a thread of its own."""

from __future__ import annotations

import secrets
import threading
from dataclasses import replace
from typing import Final

import numpy as np

from headwater.core.clock import Clock
from headwater.core.errors import DeadlineError, FencedError, SourceError, TransientSourceError
from headwater.core.redaction import logger_of
from headwater.core.retry import Backoff, Retry
from headwater.core.state_location import check_state_store
from headwater.core.state_store import StateStore
from headwater.enumerators.postgres.replication import ReplicationStream
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings
from headwater.enumerators.postgres.slot_reading import APPLICATION, SlotReading
from headwater.enumerators.postgres.split import Commit, WalSplit
from headwater.enumerators.postgres.staged_log import LogEnd, StagedLog
from headwater.readers.postgres.wal_chunk import WalChunk, WalProgress
from headwater.readers.postgres.wal_segments import SegmentHead, WalSegment, WalSegments, begins, forms_in
from headwater.readers.runtime.partitions.segment_log import SegmentLog

log = logger_of(__name__)

SEGMENT_BYTES: Final = 4 << 20
"""A segment is cut there, inside of a transaction too: so no transaction is too large for memory."""
MARKER_BYTES: Final = 16 << 20
"""WAL without a change that is worth a segment without messages: the server can remove it then."""
_NEVER: Final = 1 << 62
_LATER_IDS: Final = (1 << 31) - 1
"""An id of 32 bits is the one of 64 bits that is nearest to an id of the same time."""
_JOIN_S: Final = 5.0


class WalReceiver(StagedLog):
    """Reads a slot from the end of a log on, and appends segments to it.

    That no change is lost or doubled holds in this order of steps:

    1. The log is taken over before the slot is read: from then on an older receiver's segments find their
       number taken, and it confirms nothing more.
    2. The slot is read from the end of the log on, whatever the slot says: if it was confirmed beyond, that
       is a loss. Inside of a transaction as many changes are left out as the log has.
    3. A segment is durable before its end is told to anybody, and before the slot is confirmed up to there.

    Args:
        store: the state location.
        settings: of the server.
        publication: whose changes are read.
        backoff: how long to ask again when the server is away, or the slot is in use.
        clock: time.
    """

    def __init__(
        self, store: StateStore, settings: PostgresSettings, publication: str, backoff: Backoff, clock: Clock
    ) -> None:
        self._store = store
        self._settings = settings
        self._publication = publication
        self._backoff = backoff
        self._clock = clock
        self._woken = threading.Event()
        self._closed = threading.Event()
        self._confirms = threading.Event()
        # Guards the fields below; notified when any of them changes.
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._end = LogEnd(0, -1, 0)
        self._sent = 0
        self._target = 0
        self._error: Exception | None = None
        self._writing: WalLogWriter | None = None
        self._stream: ReplicationStream | None = None
        self._released = -1

    def start(self, split: WalSplit, position: int) -> str:
        if self._writing is not None:
            return self._writing.split.log
        if not split.log:
            check_state_store(self._store)
            split = replace(split, log=f"postgres-wal/{split.slot}-{secrets.token_hex(8)}")
        segments = SegmentLog(self._store, split.log, secrets.token_hex(8))
        first = segments.take_over()
        earlier = WalSegments(self._store, split)
        last = earlier.last_before(first)
        self._writing = WalLogWriter(segments, split, position, last)
        self._end = self._writing.end
        self._thread = threading.Thread(target=self._run, name="headwater-wal-receiver", daemon=True)
        self._thread.start()
        return split.log

    def confirm(self) -> None:
        if not self._confirms.is_set():
            self._confirms.set()
            self._woken.set()

    def end(self) -> LogEnd:
        with self._changed:
            if self._error is not None:
                raise self._error
            stream = self._stream
            return replace(self._end, coming=self._end.coming or (stream.coming if stream else None))

    def reach(self, lsn: int) -> LogEnd:
        with self._changed:
            self._target = max(self._target, lsn)
            self._woken.set()
            self._changed.wait_for(
                lambda: (
                    self._error is not None
                    or self._closed.is_set()
                    or max(self._sent, self._end.until) >= lsn
                )
            )
        return self.end()

    def first(self, position: int) -> Commit | None:
        until = self.end().until
        segments = self._found()
        number = segments.number_at(position)
        if number is None:
            return None
        for each in segments.numbers():
            segment = segments.get(each) if each >= number else None
            if segment is None:
                continue
            begun = begins(segment.chunk)
            indices = np.flatnonzero((begun.lsns >= position) & (begun.lsns < until))
            if len(indices):
                return begun.commit(int(indices[0]))
        return None

    def release(self, position: int) -> None:
        if self._writing is None or position <= self._released:
            return
        self._released = position
        number = self._found().number_at(position)
        if number is not None:
            self._writing.segments.release_before(number)

    def close(self) -> None:
        self._closed.set()
        self._woken.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_JOIN_S)

    def _found(self) -> WalSegments:
        assert self._writing is not None, "it was started"
        return WalSegments(self._store, self._writing.split)

    # On the thread of the receiver.

    def _run(self) -> None:
        assert self._writing is not None, "it was started"
        try:
            self._receive(self._writing)
        except FencedError as error:
            self._fail(
                SourceError(
                    "another driver has taken the log of this query over: two run on one checkpointLocation, "
                    f"and only the later one goes on ({error})",
                    source=SOURCE,
                )
            )
        except Exception as error:  # noqa: BLE001  # told to the coordinator, which fails the query
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self._closed.is_set():
            log.warning("nothing is received any more: %s", error)
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def _receive(self, writing: WalLogWriter) -> None:
        retry = Retry(self._backoff, self._clock, f"receiving slot {writing.split.slot!r}")
        while not self._closed.is_set():
            try:
                stream = self._opened(writing)
            except DeadlineError:
                raise  # of the slot: it was asked for long enough
            except TransientSourceError:
                continue  # the waiting was ended, to close
            try:
                # A receiver that was fenced may not confirm: its connection is newer than the other's.
                writing.segments.check()
                self._stream = stream
                while not self._closed.is_set():
                    self._step(writing, stream)
                    retry.succeeded()
            except DeadlineError:
                raise
            except TransientSourceError as error:
                self._clock.wait(self._closed, retry.failed(error))
            finally:
                self._stream = None
                stream.close()

    def _opened(self, writing: WalLogWriter) -> ReplicationStream:
        reading = SlotReading(self._settings, self._publication, writing.split, self._backoff, self._clock)
        lsn = writing.progress.lsn
        stream, view = reading.open(
            lsn if self._confirms.is_set() else writing.confirmed,
            lsn + writing.progress.is_open,
            start=lsn,
            name=f"{APPLICATION} of {writing.segments.attempt}",
            cancelled=self._closed,
        )
        writing.connected(view.timeline, view.next_xid)
        return stream

    def _step(self, writing: WalLogWriter, stream: ReplicationStream) -> None:
        """Append the next messages, and confirm them."""
        self._woken.clear()
        messages = stream.read(SEGMENT_BYTES, self._stop(writing, stream), self._woken)
        if messages:
            writing.append(WalChunk.of(messages, 0))
        if not writing.progress.is_open and stream.sent_lsn - writing.end.until >= MARKER_BYTES:
            writing.mark(stream.sent_lsn)
        if self._confirms.is_set():
            stream.confirm(writing.end.until)
        with self._changed:
            self._end = replace(writing.end, coming=writing.newest if writing.progress.is_open else None)
            stream.coming = None
            self._sent = 0 if writing.progress.is_open else stream.sent_lsn
            self._changed.notify_all()

    def _stop(self, writing: WalLogWriter, stream: ReplicationStream) -> int:
        """Return the LSN up to which to wait for messages."""
        if writing.progress.is_open:
            return _NEVER
        if stream.sent_lsn < self._target:
            return self._target
        return writing.end.until + MARKER_BYTES


class WalLogWriter:
    """The end of a log, where segments are appended. Belongs to the receiver's thread.

    Args:
        segments: taken over.
        split: whose log it is.
        position: where an empty log begins.
        last: the last segment; None if there is none.
    """

    def __init__(self, segments: SegmentLog, split: WalSplit, position: int, last: WalSegment | None) -> None:
        self.segments = segments
        self.split = split
        self.progress = WalProgress(position, _NEVER)
        self.end = LogEnd(position, -1, split.timeline)
        self.confirmed = position
        self.newest: Commit | None = None
        """The last transaction that has begun to come."""
        self._forms: dict[int, bytes] = {}
        self._xid = 0
        self._known = 0
        if last is None:
            return
        # Only a log that an offset names has segments of another driver: they are confirmed, or may be.
        head = last.head
        self.confirmed = head.until
        self.progress.pass_over(head.until)
        if head.is_open:
            self.progress.go_on_in(head.until, head.changes)
        self._take_end(head)

    def connected(self, timeline: int, next_xid: int) -> None:
        """Note a new connection: it sends the open transaction from its begin."""
        self.split = replace(self.split, timeline=timeline)
        self._known = self.progress.changes
        self._xid = next_xid

    def append(self, chunk: WalChunk) -> None:
        """Append messages as a segment; durable when this returns."""
        if self._known:
            chunk, self._known = chunk.without(self._known)
        if not len(chunk.ends):
            return
        start = self.progress.lsn
        is_inside = self.progress.is_open
        self.progress.add(chunk)
        begun = begins(chunk)
        if begun.xid is not None:
            self._xid += _difference(begun.xid, self._xid)
            self.newest = begun.commit(-1)
        until = self.progress.lsn
        # Transactions that began in earlier segments count too: those that have ended are before the new end.
        lsns = np.append(begun.lsns, [self.end.last, start if is_inside else -1])
        self._put(start, until, int(lsns[lsns < until].max(initial=-1)), chunk, is_inside=is_inside)
        self._forms |= forms_in(chunk)

    def mark(self, lsn: int) -> None:
        """Append a segment that says that there is nothing up to an LSN."""
        start = self.progress.lsn
        self.progress.pass_over(lsn)
        self._put(start, lsn, self.end.last, WalChunk.of([], 0), is_inside=False)

    def _put(self, start: int, until: int, last: int, chunk: WalChunk, *, is_inside: bool) -> None:
        head = SegmentHead(
            start=start,
            is_inside=is_inside,
            until=until,
            last=last,
            is_open=self.progress.is_open,
            changes=self.progress.changes,
            newest_xid=self._xid + _LATER_IDS,
            timeline=self.split.timeline,
        )
        self.segments.append(WalSegment(head, list(self._forms.values()), chunk).encode())
        self._take_end(head)

    def _take_end(self, head: SegmentHead) -> None:
        self.end = LogEnd(head.until, head.last, head.timeline)
        self.split = replace(self.split, timeline=head.timeline)


def _difference(xid: int, full: int) -> int:
    """Return how far a 32-bit id is from the one of 64 bits that is the same or nearest."""
    return ((xid - full + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
