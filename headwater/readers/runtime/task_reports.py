"""The channel by which a task tells the driver something: datagrams to the source runner.

That is the process on the driver that plans the query. Each datagram is authenticated with a token that only
partitions carry. There is no connection and no state, and nothing that could fail a task.
"""

from __future__ import annotations

import hmac
import json
import select
import socket
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field
from operator import itemgetter
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.clock import wall_ms
from headwater.core.jsons import JsonValue
from headwater.core.metrics import BYTES_IN, COUNTERS, EMIT_LAG, FETCH_LAG
from headwater.core.split import SplitPath
from headwater.readers.runtime.batches import times_ms

MOST_DATAGRAM_BYTES = 8_192
_DIGEST_BYTES = 32
_MOST_TIMES_BYTES = 5_000
_MOST_ENDS = 20
"""How many ends of splits a datagram holds; each path may have 300 bytes. A larger one is not sent."""


@dataclass(frozen=True, slots=True)
class TimesAsked:
    """The question to the tasks of a batch about the column with the event time.

    Attributes:
        column: of the rows.
        late_before_ms: rows before this time are late, in ms since 1970; None if none is.
    """

    column: str
    late_before_ms: int | None


@dataclass(frozen=True, slots=True)
class ReportAddress:
    """Where reports go. Travels in Spark's partition, as a source's credentials do.

    Attributes:
        hosts: the driver's numeric addresses. Which of them an executor can reach is not known: it asks all.
        port: the same on each.
        token: the secret that authenticates both sides.
        times: the question about event times; None for none.
    """

    hosts: tuple[str, ...]
    port: int
    token: bytes = field(repr=False)
    times: TimesAsked | None = None


def sealed(kind: bytes, content: bytes, token: bytes) -> bytes:
    """Return a datagram: the digest, then the content."""
    return digest_of(kind, content, token) + content


def unsealed(kind: bytes, datagram: bytes, token: bytes) -> bytes | None:
    """Return the content of a datagram; None if it is not authentic, or of another kind."""
    digest, content = datagram[:_DIGEST_BYTES], datagram[_DIGEST_BYTES:]
    return content if hmac.compare_digest(digest, digest_of(kind, content, token)) else None


def digest_of(kind: bytes, content: bytes, token: bytes) -> bytes:
    """Return a digest that needs the token."""
    return hmac.digest(token, kind + content, "sha256")


@dataclass(frozen=True, slots=True)
class ReadReport:
    """The counts of one attempt at a task.

    Attributes:
        attempt: names it: a report arrives once at each address of the driver that can be reached.
        metrics: by the names of `headwater.core.metrics`.
        last_ms: the latest event time that it handed over; None if there is none, or none was asked for.
        late_rows: how many rows were before `TimesAsked.late_before_ms`.
        took_ms: how long fetching took, of the slowest splits.
    """

    attempt: str
    metrics: Mapping[str, int]
    last_ms: int | None = None
    late_rows: int = 0
    took_ms: Sequence[tuple[SplitPath, int]] = ()

    def encode(self, token: bytes) -> bytes:
        """Return the datagram."""
        return sealed(b"read", json.dumps(asdict(self)).encode(), token)

    @staticmethod
    def decode(datagram: bytes, token: bytes) -> ReadReport | None:
        """Return the report that `encode` wrote; None for anything else."""
        content = unsealed(b"read", datagram, token)
        if content is None:
            return None
        with suppress(ValueError, TypeError):
            return ReadReport(**json.loads(content))
        return None


class EventTimeLags:
    """How old records are when they are fetched and when they are emitted: the last one of each batch.

    On the task's thread.

    Args:
        column: with the event time; None where there is none.
        now_ms: the wall-clock time in ms since 1970.

    """

    def __init__(self, column: str | None, now_ms: Callable[[], int] = wall_ms) -> None:
        self._column = column
        self._now_ms = now_ms
        # The time of the last record, when it was fetched, and when it was emitted.
        self._last: tuple[pa.Scalar[Any], int, int] | None = None

    def emitted(self, batch: pa.RecordBatch, fetched_ms: int) -> None:
        """Take a batch that is handed over, and when its last record was fetched. Looks at one value."""
        if self._column is None or not batch.num_rows:
            return
        at = batch.column(self._column)[batch.num_rows - 1]
        if at.is_valid:
            self._last = at, fetched_ms, self._now_ms()

    @property
    def metrics(self) -> Mapping[str, int]:
        """Those of the last batch whose last row has an event time."""
        if self._last is None:
            return {}
        at, fetched_ms, emitted_ms = self._last
        time_ms = times_ms(pa.array([at], at.type))[0].as_py()
        return {FETCH_LAG: fetched_ms - time_ms, EMIT_LAG: emitted_ms - time_ms}


@dataclass(frozen=True, slots=True)
class RangeEnd:
    """Whether a record in a range of a batch ended its split (`PlannedSource.end_condition`).

    A fact about the range, whoever has read it.

    Attributes:
        path: of the split.
        start: of the range.
        stop: of the range.
        end: the position right behind the record that ended the split, in a list; None: none did.
    """

    path: SplitPath
    start: JsonValue
    stop: JsonValue
    end: list[JsonValue] | None


def report_ends(ends: Sequence[RangeEnd], address: ReportAddress) -> None:
    """Tell the driver which splits ended. Never raises, never waits: it can find out by itself."""
    with suppress(OSError), ReportSockets(address) as sockets:
        for first in range(0, len(ends), _MOST_ENDS):
            content = json.dumps([astuple(end) for end in ends[first : first + _MOST_ENDS]]).encode()
            sockets.send(sealed(b"ends", content, address.token))


def decode_ends(datagram: bytes, token: bytes) -> list[RangeEnd] | None:
    """Return the ends that `report_ends` told; None for anything else."""
    content = unsealed(b"ends", datagram, token)
    if content is None:
        return None
    with suppress(ValueError, TypeError):
        return [RangeEnd(tuple(path), *rest) for path, *rest in json.loads(content)]
    return None


class ReadCounter:
    """Counts the rows that one attempt at a task hands to Spark, and tells the driver at its end.

    On the task's thread. There is no answer, and nothing is sent again: a metric is not worth a wait.

    Args:
        address: of the driver; None if nothing is counted, as in a batch read.
        time_column: see `headwater.core.source.Source.time_column`.
    """

    def __init__(self, address: ReportAddress | None, time_column: str | None = None) -> None:
        self._address = address
        self._times = None if address is None else address.times
        self._bytes = 0
        self._last_ms: int | None = None
        self._late_rows = 0
        self._took_s: dict[SplitPath, float] = {}
        self._waited_s = 0.0
        self._is_first = True
        self._lags = EventTimeLags(self._times.column if self._times is not None else time_column)
        self._fetched_ms = wall_ms()
        COUNTERS.take()  # those of an attempt that has failed, or of a batch read

    def fetched(self, paths: Collection[SplitPath], took_s: float) -> None:
        """Note how long a fetch took, and of which splits it brought something.

        One that brought nothing counts for the splits of the next one. The first one sets up connections,
        which says nothing of a split.
        """
        self._fetched_ms = wall_ms()
        if self._is_first:
            self._is_first = not paths
            return
        self._waited_s += took_s
        for path in paths:
            self._took_s[path] = self._took_s.get(path, 0.0) + self._waited_s / len(paths)
        if paths:
            self._waited_s = 0.0

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a batch."""
        self._bytes += batch.nbytes
        self._lags.emitted(batch, self._fetched_ms)
        if self._times is not None and batch.num_rows:
            self._look_at(batch.column(self._times.column), self._times.late_before_ms)

    def close(self) -> None:
        """Tell the driver. Never raises, never waits."""
        if self._address is None:
            return
        metrics = {BYTES_IN: self._bytes, **COUNTERS.take(), **self._lags.metrics}
        report = ReadReport(uuid.uuid4().hex, metrics, self._last_ms, self._late_rows, self._slowest())
        with suppress(OSError), ReportSockets(self._address) as sockets:
            sockets.send(report.encode(self._address.token))

    def _slowest(self) -> list[tuple[SplitPath, int]]:
        """Return the times of the slowest splits: as many as a datagram holds."""
        room = _MOST_TIMES_BYTES
        slowest = []
        for path, took_s in sorted(self._took_s.items(), key=itemgetter(1), reverse=True):
            room -= len(json.dumps(path)) + 16
            if room < 0:
                break
            slowest.append((path, round(took_s * 1000)))
        return slowest

    def _look_at(self, times: pa.Array[Any], late_before_ms: int | None) -> None:
        in_ms = times_ms(times)
        last_ms = pc.max(in_ms).as_py()
        if last_ms is None:
            return
        self._last_ms = last_ms if self._last_ms is None else max(self._last_ms, last_ms)
        if late_before_ms is not None:
            self._late_rows += pc.less(in_ms, pa.scalar(late_before_ms, pa.int64())).true_count


class ReportSockets:
    """One socket for each of the driver's addresses."""

    def __init__(self, address: ReportAddress) -> None:
        self._sockets: list[socket.socket] = []
        for host in address.hosts:
            with suppress(OSError):  # an address of a family that this host does not have
                family = socket.AF_INET6 if ":" in host else socket.AF_INET
                self._sockets.append(socket.socket(family, socket.SOCK_DGRAM))
                self._sockets[-1].connect((host, address.port))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            each.close()

    def send(self, datagram: bytes) -> None:
        """Send a datagram to each address. Never raises."""
        for each in self._sockets:
            with suppress(OSError):
                each.send(datagram)

    def receive(self, expected: bytes, timeout_s: float) -> bool:
        """Return whether the expected datagram comes in time, from any of the addresses."""
        until_s = time.monotonic() + timeout_s
        while (left_s := until_s - time.monotonic()) > 0:
            ready, _, _ = select.select(self._sockets, [], [], left_s)
            for each in ready:
                # Refused ports show as errors here; other datagrams are ignored.
                with suppress(OSError):
                    if each.recv(MOST_DATAGRAM_BYTES) == expected:
                        return True
        return False
