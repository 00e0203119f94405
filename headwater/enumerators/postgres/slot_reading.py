"""Opens conversations with the sender of a slot: checks the slot first, and waits while it is in use."""

from __future__ import annotations

import threading
from typing import Final

from headwater.core.clock import Clock
from headwater.core.errors import LostSlotError, SourceError, TransientSourceError
from headwater.core.redaction import logger_of
from headwater.core.retry import Backoff, Retry
from headwater.enumerators.postgres.connection import PostgresConnection, connect, mapped_errors
from headwater.enumerators.postgres.replication import ReplicationStream
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings
from headwater.enumerators.postgres.slot import ServerView, check_kept, check_usable, look, lost
from headwater.enumerators.postgres.split import WalSplit
from headwater.enumerators.postgres.timeline import followed, timeline_end

log = logger_of(__name__)

APPLICATION: Final = "headwater wal"
"""How the names of these connections begin, as the server's views show them."""

_SLOT_IN_USE: Final = "55006"
_LOST: Final = frozenset({"55000", "42704"})
"""The slot was invalidated, or there is none."""
_SENDER_TIMEOUT: Final = "300s"
"""For how long a task may wait for Spark to take its rows without a word to the server."""
_POLITE_MS: Final = 500
_DEAD_AFTER_S: Final = 30.0
"""A connection that has confirmed nothing for this time is taken for dead."""


class SlotReading:
    """Opens conversations about the range of a split: checks first, and waits for a slot that is in use.

    One thread. A slot has one reader at a time. A process that was killed may leave its connection behind,
    which the server notices late or never. So a connection of ours for another range, which cannot be of use
    any more, is ended; one for the same range, which may be another scan of the same batch, only if it has
    not confirmed anything for long.

    Args:
        settings: of the server.
        publication: whose changes are read.
        split: the slot.
        backoff: how long to wait for the slot.
        clock: time.
    """

    def __init__(
        self, settings: PostgresSettings, publication: str, split: WalSplit, backoff: Backoff, clock: Clock
    ) -> None:
        self._settings = settings
        self._publication = publication
        self._split = split
        self._backoff = backoff
        self._clock = clock

    def open(
        self,
        position: int,
        stop: int,
        *,
        start: int | None = None,
        read_until: int | None = None,
        name: str | None = None,
        cancelled: threading.Event,
    ) -> tuple[ReplicationStream, ServerView]:
        """Return a conversation, and the server's answer about itself before.

        Args:
            position: where the range begins, which is confirmed.
            stop: where it ends: with ``position`` the name of the connection.
            start: where to begin; None for ``position``.
            read_until: as far as anything may have been read, so that a server that took over must have it;
                None for ``stop``.
            name: of the connection; None for one that names the range.
            cancelled: ends the waiting.

        Raises:
            LostSlotError: transactions of the range are gone.
            DeadlineError: somebody else holds the slot.
            SourceError: the server refuses.
        """
        name = name or f"{APPLICATION} {position:X}-{stop:X}"
        read_until = stop if read_until is None else read_until
        retry = Retry(self._backoff, self._clock, f"slot {self._split.slot!r}")
        retry.begin()
        began_ms = self._clock.monotonic_ms()
        while True:
            try:
                return self._try(name, position, read_until, position if start is None else start)
            except _InUseError as error:
                waited_ms = self._clock.monotonic_ms() - began_ms
                if self._end_dead(name, error.view, waited_ms):
                    began_ms = self._clock.monotonic_ms()
                wait_ms = retry.failed(error)
            except TransientSourceError as error:
                wait_ms = retry.failed(error)
            if self._clock.wait(cancelled, wait_ms):
                raise TransientSourceError(f"waiting for slot {self._split.slot!r} was ended", source=SOURCE)

    def _try(
        self, name: str, position: int, read_until: int, start: int
    ) -> tuple[ReplicationStream, ServerView]:
        split = self._split
        connection = connect(self._settings, application=name, replication=True)
        try:
            view = look(connection, split.slot)
            check_usable(view, split.slot)
            self._check(connection, view, position, read_until)
            _check_free(split.slot, view)
            with mapped_errors("settings of the sender"):
                connection.execute(f"SET wal_sender_timeout = '{_SENDER_TIMEOUT}'".encode())
            try:
                stream = ReplicationStream(
                    connection,
                    split.slot,
                    self._publication,
                    start=start,
                    confirmed=position,
                    silence_ms=self._settings.read_timeout_ms,
                )
            except SourceError as error:
                raise self._understood(error, view, position) from error
        except BaseException:
            connection.close()
            raise
        return stream, view

    def _check(self, connection: PostgresConnection, view: ServerView, position: int, until: int) -> None:
        split = self._split
        if view.timeline > split.timeline and view.system_id == split.system_id:
            end = timeline_end(connection, view.timeline, split.timeline)
            split = followed(view, split, position, until, end)
        check_kept(view, split, position)

    def is_lost_behind(self, lsn: int) -> bool:
        """Whether a look from an LSN on finds a loss too, now and later: so the next plan does. Blocks.

        Raises:
            SourceError: the server refuses, or is away.
        """
        with connect(self._settings, replication=True) as connection:
            view = look(connection, self._split.slot)
            try:
                self._check(connection, view, lsn, lsn)
            except LostSlotError:
                # A log that ends before may be longer when the plan comes.
                is_long = view.timeline != self._split.timeline or view.flush_lsn >= lsn
                return view.system_id == self._split.system_id and is_long
        return False

    def _understood(self, error: SourceError, view: ServerView, position: int) -> SourceError:
        """Return the meaning of a refusal: a slot in use, or one that is gone since it was looked at."""
        if f"SQLSTATE {_SLOT_IN_USE}" in error.message:
            return _InUseError(self._split.slot, view)
        if any(f"SQLSTATE {code}" in error.message for code in _LOST):
            return lost(error.message, self._split, position)
        return error

    def _end_dead(self, name: str, view: ServerView, waited_ms: int) -> bool:
        """End the connection that holds the slot if it is one of ours and of no use; return whether it was.

        The first moment belongs to the server, which notices the end of most connections by itself.
        """
        if waited_ms < _POLITE_MS:
            return False
        with connect(self._settings) as connection, mapped_errors("ending a connection that holds the slot"):
            ended = connection.execute(
                _END_DEAD.encode(),
                {"slot": self._split.slot, "ours": f"{APPLICATION} %", "name": name, "dead": _DEAD_AFTER_S},
            ).fetchone()
        if ended is None:
            return False
        log.warning(
            "slot %r was held by connection %d of %r, which a process that is gone has left behind: it "
            "was ended",
            self._split.slot,
            ended[0],
            ended[1],
        )
        return True


_END_DEAD: Final = """
SELECT a.pid, a.application_name, pg_terminate_backend(a.pid)
FROM pg_replication_slots s
JOIN pg_stat_activity a ON a.pid = s.active_pid
LEFT JOIN pg_stat_replication r ON r.pid = a.pid
WHERE s.slot_name = %(slot)s AND a.usename = current_user AND a.application_name LIKE %(ours)s
  AND (a.application_name <> %(name)s
       OR coalesce(r.reply_time, a.backend_start) < now() - make_interval(secs => %(dead)s))
"""


def _check_free(slot: str, view: ServerView) -> None:
    if view.slot is not None and view.slot.active_pid is not None:
        raise _InUseError(slot, view)


class _InUseError(TransientSourceError):
    """Another connection reads the slot."""

    def __init__(self, slot: str, view: ServerView) -> None:
        pid = view.slot.active_pid if view.slot is not None else None
        super().__init__(
            f"slot {slot!r} is read by another connection ({'process ' + str(pid) if pid else 'unknown'} "
            f"of the "
            "server): each query needs a slot of its own. If no query is running: SELECT "
            f"pg_terminate_backend({pid or '<pid>'})",
            source=SOURCE,
        )
        self.view = view
