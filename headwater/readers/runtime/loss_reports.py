"""How a task tells that records are gone: to the driver, which counts them, or in its own log.

A report is one datagram to the driver (`task_reports`), and one back. It never holds a task up for more than
a second.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from headwater.core.jsons import JsonValue
from headwater.core.redaction import logger_of
from headwater.core.split import Split
from headwater.readers.runtime.task_reports import (
    ReportAddress,
    ReportSockets,
    digest_of,
    sealed,
    unsealed,
)

log = logger_of(__name__)

_MOST_REASON_CHARACTERS = 500
_PATIENCE_S = (0.1, 0.3, 0.6)
"""How long each attempt at a report waits for its answer."""
_NOT_COUNTED = "The driver cannot be reached from here (UDP), and does not count it"


@dataclass(frozen=True, slots=True)
class LossReport:
    """Records that are gone, where that is no error.

    Attributes:
        split: the split's id, for people.
        incarnation: tells splits of one id apart, such as a topic from one of the same name that followed it.
        first: the position of the first record that is gone.
        until: the position after the last one.
        reason: goes on after "positions 1 to 3".
    """

    split: str
    incarnation: str
    first: JsonValue
    until: JsonValue
    reason: str

    @staticmethod
    def of(split: Split, first: JsonValue, until: JsonValue, reason: str) -> LossReport:
        """Return the report on a range of a split."""
        incarnation = hashlib.sha256(repr(split).encode()).hexdigest()[:16]
        return LossReport(split.split_id, incarnation, first, until, reason[:_MOST_REASON_CHARACTERS])

    def __str__(self) -> str:
        last = f"to {self.until - 1}" if type(self.until) is int else f"to before {self.until}"
        return f"{self.split}: positions {self.first} {last} {self.reason}"


class LoggedRanges:
    """Remembers the last ranges that were logged, so that each is logged once. Any thread may call.

    The same range is found by each attempt of a task, each scan of a batch and each replay, and a longer one
    by those that come later.
    """

    def __init__(self, most: int = 1_000) -> None:
        # Guards the search and the entry as one step: two tasks of a process must not both find a range new.
        self._lock = threading.Lock()
        self._logged: deque[LossReport] = deque(maxlen=most)

    def add(self, report: LossReport) -> list[LossReport]:
        """Return the parts of a range that were not logged before, and remember them."""
        with self._lock:
            parts = [report]
            for entry in self._logged:
                if (entry.split, entry.incarnation) == (report.split, report.incarnation):
                    parts = [rest for part in parts for rest in _without(part, entry)]
            self._logged.extend(parts)
            return parts


def _without(part: LossReport, logged: LossReport) -> list[LossReport]:
    if (part.first, part.until) == (logged.first, logged.until):
        return []
    borders = (part.first, part.until, logged.first, logged.until)
    if not all(type(border) is int for border in borders):
        return [part]  # such positions have no order here
    first, until, logged_first, logged_until = (int(str(border)) for border in borders)
    rests = [(first, min(until, logged_first)), (max(first, logged_until), until)]
    return [replace(part, first=start, until=stop) for start, stop in rests if start < stop]


_logged = LoggedRanges()
"""The ranges that this process has logged. A Python worker is used again, also for the next attempt."""


def log_once(report: LossReport) -> None:
    """Warn of a range, unless this process has done so; of those parts of it that are new."""
    for part in _logged.add(report):
        log.warning("%s", part)


class LossReports:
    """Takes the losses of the readers of one task. One per task, on its thread.

    The driver logs reports that reach it. Others are logged here: each range once in a process.

    Args:
        address: where to report; None if losses are not counted, as in a batch read.
    """

    def __init__(self, address: ReportAddress | None) -> None:
        self._address = address
        self._is_out_of_reach = False

    def __call__(self, split: Split, first: JsonValue, until: JsonValue, reason: str) -> None:
        """Take a range that is gone: from the position ``first`` to before ``until``. Never raises.

        Blocks for up to a second, but in a task that has found the driver out of reach only once.
        """
        report = LossReport.of(split, first, until, reason)
        if self._address is None:
            log_once(report)
            return
        if not self._is_out_of_reach and _send(self._address, report):
            return
        self._is_out_of_reach = True
        log_once(replace(report, reason=f"{report.reason}. {_NOT_COUNTED}"))


def encode(report: LossReport, token: bytes) -> bytes:
    """Return the datagram of a report."""
    return sealed(b"report", json.dumps(asdict(report)).encode(), token)


def decode(datagram: bytes, token: bytes) -> LossReport | None:
    """Return the report in a datagram; None if it is not authentic, or none of ours."""
    content = unsealed(b"report", datagram, token)
    if content is None:
        return None
    with suppress(ValueError, TypeError):
        return LossReport(**json.loads(content))
    return None


def answer_to(datagram: bytes, token: bytes) -> bytes:
    """Return the datagram that says that a report has arrived. Only who knows the token can make it."""
    return digest_of(b"answer", datagram, token)


def _send(address: ReportAddress, report: LossReport) -> bool:
    """Report, and return whether the driver has answered. Never raises; bounded in time."""
    datagram = encode(report, address.token)
    expected = answer_to(datagram, address.token)
    with suppress(OSError), ReportSockets(address) as sockets:
        for patience_s in _PATIENCE_S:
            sockets.send(datagram)
            if sockets.receive(expected, patience_s):
                return True
    return False
