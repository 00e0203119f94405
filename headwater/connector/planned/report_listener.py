"""Reports of tasks to the driver: records that are lost, bytes that were read, event times of a column."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from headwater.connector.planned.event_time_options import WatchedColumn
from headwater.core.redaction import logger_of
from headwater.readers.runtime.loss_reports import LoggedRanges, LossReport, answer_to, decode
from headwater.readers.runtime.task_reports import (
    MOST_DATAGRAM_BYTES,
    RangeEnd,
    ReadReport,
    ReportAddress,
    ReportSockets,
    TimesAsked,
    decode_ends,
)

log = logger_of(__name__)

_LOOPBACK = "127.0.0.1"
_MOST_ATTEMPTS = 1_000
REPORTS_VARIABLE: Final = "HEADWATER_REPORTS"
"""In the driver's environment: the address of its host at which reports are taken, or ``off``."""
_OFF: Final = "off"
_NOWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses for documentation (RFC 5737, RFC 3849).

To connect a datagram socket sends nothing, and shows from which address this host would send.
"""


class ReportListener:
    """Takes the reports of a query's tasks, in Spark's source runner, on a daemon thread of its own.

    It listens from the beginning: on all addresses of its host, or as ``HEADWATER_REPORTS`` says. It logs
    each range once, and hands it on. A report is in memory until an offset counts it: it is gone with the
    process. So the count is "at least".

    Args:
        take: called with each new range, on the listener's thread.
        take_read: called with the report of each attempt at a task on its rows, on the listener's thread.
        take_ends: called with reports on splits that ended, or did not, on the listener's thread.

    Attributes:
        address: where it listens; None if the system or the user does not allow it, and tasks log their
            losses.
    """

    def __init__(
        self,
        take: Callable[[LossReport], None],
        take_read: Callable[[ReadReport], None] = lambda _: None,
        take_ends: Callable[[Sequence[RangeEnd]], None] = lambda _: None,
    ) -> None:
        self._take = take
        self._take_read = take_read
        self._take_ends = take_ends
        self._told = LoggedRanges()
        self._attempts: deque[str] = deque(maxlen=_MOST_ATTEMPTS)
        self._token = secrets.token_bytes(32)
        self._socket: socket.socket | None = None
        self.address: ReportAddress | None = None
        place = os.environ.get(REPORTS_VARIABLE, "").strip()
        if place.lower() == _OFF:
            return
        try:
            self._socket = _bound(place)
        except (OSError, ValueError) as error:
            log.warning("reports of tasks are not counted; losses are in their logs: %s", error)
            return
        hosts = (place,) if place else _own_addresses()
        self.address = ReportAddress(hosts, self._socket.getsockname()[1], self._token)
        threading.Thread(
            target=self._listen, args=(self._socket,), name="headwater-reports", daemon=True
        ).start()

    def close(self) -> None:
        """Stop listening. Idempotent. On the thread that made it."""
        own, self._socket = self._socket, None
        if own is not None:
            # Closing alone would not wake the thread: a datagram does, and then it sees that it is over.
            assert self.address is not None
            with ReportSockets(self.address) as wakers:
                wakers.send(b"")
            own.close()

    def _listen(self, own: socket.socket) -> None:
        while self._socket is not None:
            try:
                datagram, sender = own.recvfrom(MOST_DATAGRAM_BYTES)
            except ConnectionError:
                continue  # a task went away before its answer came
            except OSError:
                return  # closed
            read = ReadReport.decode(datagram, self._token)
            if read is not None:
                self._count(read)
                continue
            ends = decode_ends(datagram, self._token)
            if ends is not None:
                self._take_ends(ends)
                continue
            report = decode(datagram, self._token)
            if report is None:
                continue
            # Taken before it is answered: a task that has an answer does not log the range itself.
            for part in self._told.add(report):
                log.warning("%s", part)
                self._take(part)
            with suppress(OSError):
                own.sendto(answer_to(datagram, self._token), sender)

    def _count(self, read: ReadReport) -> None:
        # It comes once over each of this host's addresses.
        if read.attempt not in self._attempts:
            self._attempts.append(read.attempt)
            self._take_read(read)


def _bound(place: str) -> socket.socket:
    """Return a socket at an address of this host; at all of them if none is named.

    Raises:
        OSError: it is not one of this host.
        ValueError: it is no numeric address.
    """
    if place:
        family = socket.AF_INET6 if ipaddress.ip_address(place).version == 6 else socket.AF_INET
        own = socket.socket(family, socket.SOCK_DGRAM)
        try:
            own.bind((place, 0))
        except OSError:
            own.close()
            raise
        return own
    if not socket.has_dualstack_ipv6():
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        own.bind(("", 0))
        return own
    own = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    own.bind(("::", 0))
    return own


def _own_addresses() -> tuple[str, ...]:
    """Return the addresses at which executors may reach this host, numeric ones; the nearest first.

    No name is looked up: that may take longer than a micro-batch.
    """
    addresses = [_LOOPBACK]
    local = os.environ.get("SPARK_LOCAL_IP", "")
    with suppress(ValueError):
        addresses.append(str(ipaddress.ip_address(local)))
    for family, nowhere in _NOWHERE:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((nowhere, 9))
            addresses.append(probe.getsockname()[0])
    return tuple(dict.fromkeys(addresses))


class ColumnTimes:
    """Knows how far a query has come in the times of a column, and counts rows that came too late.

    Tasks report their latest time, and how many of their rows are older, by more than the delay, than the
    latest time of earlier batches. This is in memory: a restart begins anew, a report may not arrive, and a
    task may run twice. So a count is a hint, and no batch depends on it.

    Args:
        watched: the column.
        source: its name, for messages.
    """

    def __init__(self, watched: WatchedColumn, source: str) -> None:
        self._watched = watched
        self._source = source
        # Spark's thread asks, the listener's adds.
        self._lock = threading.Lock()
        self._last_ms: int | None = None
        self._late_rows = 0

    @property
    def late_rows(self) -> int:
        """About how many rows came too late in this run."""
        return self._late_rows

    def ask(self) -> TimesAsked:
        """Return the question to the tasks of the next batch."""
        with self._lock:
            late_ms = None if self._last_ms is None else self._last_ms - self._watched.delay_ms
            return TimesAsked(self._watched.name, late_ms)

    def add(self, report: ReadReport) -> None:
        """Take the report of a task."""
        with self._lock:
            if report.last_ms is not None:
                self._last_ms = max(report.last_ms, self._last_ms or report.last_ms)
            self._late_rows += report.late_rows
        if report.late_rows:
            log.warning(
                "source %s: %d rows of a task are older in %r than what the query had read by more than "
                "eventTimeDelay (%d ms): a watermark with that delay drops them. The times of this column "
                "and those of the records, by which batches are aligned, are too far apart",
                self._source,
                report.late_rows,
                self._watched.name,
                self._watched.delay_ms,
            )
