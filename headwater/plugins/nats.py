"""NATS JetStream: streams as splits, sequences as positions.

A stream numbers its messages, and never gives a number again. Numbers have holes: messages are deleted,
replaced or expire, and a filter of subjects leaves some out. So a range of them is read to a number, never to
a count.

The driver asks for the states of all streams, 256 an answer. A task reads its range by an ephemeral pull
consumer that begins at its first number, wants no acknowledgements, and ends by itself if the task is killed.
Each page is one request: the next one is under way while Spark takes the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

import headwater as hw
from headwater.plugins.nats_client import ACK_DOTS, NatsMessage
from headwater.plugins.nats_server import NO_MESSAGE, NO_STREAM, NatsServer, NatsSettings, as_ours

_PAGE_ROWS: Final = 10_000
_HEADERS: Final = pa.list_(pa.struct((("key", pa.string()), ("value", pa.binary()))))
_SCHEMA: Final = pa.schema(
    (
        ("subject", pa.string()),
        ("value", pa.binary()),
        ("stream", pa.string()),
        ("sequence", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
    )
)


class Nats(hw.SimpleSource, hw.Heads, hw.Forgets, hw.FindsTimestamps, hw.EstimatesSizes):
    """Messages of JetStream's streams, in the order of each stream."""

    name = "nats"
    decodes = "value"
    time_column = "timestamp"
    OPTIONS = (
        *NatsSettings.options(),
        hw.options.Option(
            "streams",
            hw.options.names,
            None,
            "Streams, or patterns of their names such as `orders-*`, with commas between them. Without it: "
            "all that have `subjects`.",
        ),
        hw.options.Option(
            "subjects",
            hw.options.names,
            (),
            "Filters of subjects, such as `orders.*.eu` or `orders.>`: only these messages are read. "
            "Several need servers of 2.10.",
            shown_default="all",
        ),
        hw.options.Option(
            "includeHeaders", hw.options.boolean, False, "Whether there is a column with the headers."
        ),
        *hw.options.TlsSettings.options(),
    )

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._settings = NatsSettings.of(options)
        self._tls = hw.options.TlsSettings.of(options)
        self._tls.check_counts(
            encrypted=any(each.startswith("tls://") for each in self._settings.servers),
            hint="tls:// in servers",
        )
        if not options["streams"] and not options["subjects"]:
            raise hw.errors.OptionError("is required, or else subjects: which are read", option="streams")
        self._subjects: tuple[str, ...] = options["subjects"]
        self.schema = _SCHEMA.append(pa.field("headers", _HEADERS)) if options["includeHeaders"] else _SCHEMA
        # The result of the last look, on the driver.
        self._states: dict[str, dict[str, Any]] = {}

    @property
    def reads(self) -> str:
        """The streams and subjects, for messages."""
        return ", ".join((*(self.options["streams"] or ()), *self._subjects))

    def discover(self) -> list[hw.NamedSplit]:
        """Return the streams, and keep how far each goes."""
        patterns = self.options["streams"]
        names = [name for name in patterns or () if not _is_pattern(name)]
        with self._connected() as server:
            if patterns is not None and len(names) == len(patterns):
                listed = [server.ask(f"STREAM.INFO.{name}", allow=NO_STREAM) for name in names]
            else:
                listed = list(server.streams(self._subjects))
        chosen = {
            each["config"]["name"]: each
            for each in listed
            if each and any(fnmatchcase(each["config"]["name"], pattern) for pattern in patterns or ("*",))
        }
        for name in names:
            if name not in chosen:
                raise hw.errors.UnknownSplitError(
                    f"there is no stream {name!r}: create it, or write a pattern", source=self.name
                )
        for name, each in chosen.items():
            if each["config"]["retention"] != "limits":
                raise hw.errors.SourceError(
                    f"retention={each['config']['retention']}: the stream deletes what its consumers have "
                    "taken. Let a stream with retention=limits have it as its source, and read that one",
                    source=self.name,
                    split=name,
                )
        self._states = {name: each["state"] for name, each in chosen.items()}
        return [hw.NamedSplit(name, {"created": each["created"]}) for name, each in chosen.items()]

    def head(self, split: hw.NamedSplit) -> int:
        """Return the number after the last one that was given."""
        return int(self._states[split.name]["last_seq"]) + 1

    def first(self, split: hw.NamedSplit) -> int:
        """Return the number of the oldest message; in an empty stream the next one."""
        # Of a stream that never had one it is 0, which is no number.
        return max(1, int(self._states[split.name]["first_seq"]))

    def row_bytes(self, split: hw.NamedSplit) -> int:
        """Return the mean of all messages, their headers and subjects included."""
        state = self._states[split.name]
        return int(state["bytes"]) // max(1, int(state["messages"]))

    def position_at(self, split: hw.NamedSplit, timestamp_ms: int) -> int:
        """Return where a consumer begins that is made for this time."""
        moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=timestamp_ms)
        start = {"deliver_policy": "by_start_time", "opt_start_time": moment.isoformat()}
        with self._connected() as server, server.consumer(split.name, start) as made:
            if made is None:
                raise hw.TransientSourceError("the stream has just gone", source=self.name, split=split.name)
            return _number(made["delivered"]["stream_seq"]) + 1

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        """Yield the messages of a range, a request a page."""
        assert stop is not None, "in planned mode it is known"
        start: dict[str, Any] = {"deliver_policy": "by_start_sequence", "opt_start_seq": max(1, position)}
        if len(self._subjects) == 1:
            start["filter_subject"] = self._subjects[0]
        elif self._subjects:
            start["filter_subjects"] = list(self._subjects)
        with self._connected() as server, server.consumer(split.name, start) as made:
            # Only now: a consumer ends with its stream, so this one is of the stream that was planned.
            if made is None or server.state(split.name, split.info) is None:
                yield hw.Page((), stop, lost=True)
                return
            if len(self._subjects) > 1 and not made["config"].get("filter_subjects"):
                raise hw.errors.SourceError(
                    "the server is older than 2.10, which ignores several subjects: give one in subjects, "
                    "with wildcards if it is to be wider, or have a newer server",
                    source=self.name,
                    split=split.name,
                )
            yield from self._consumed(server, made, split, position, stop)

    def _consumed(
        self, server: NatsServer, made: Mapping[str, Any], split: hw.NamedSplit, position: int, stop: int
    ) -> Iterator[hw.Page]:
        server.request(made, rows=min(_PAGE_ROWS, stop - position))
        count = 0
        while position < stop:
            messages, has_more = server.page()
            rows = self._rows(split.name, messages, count)
            count += len(messages)
            last = _number(rows["sequence"][-1]) if len(rows) else position - 1
            is_end = last >= stop - 1
            if not is_end and not has_more and self._is_over(server, split.name, last + 1, stop):
                is_end = True
            if not is_end:
                # Now: it is under way while Spark takes this page.
                server.request(made, rows=min(_PAGE_ROWS, stop - 1 - last))
            elif last >= stop:
                rows = rows.slice(
                    0, _number(pc.sum(pc.less(rows["sequence"], pa.scalar(stop)).cast(pa.int64())))
                )
            end = stop if is_end else last + 1
            yield from self._pages(server, split, rows, position, end)
            position = end

    def _is_over(self, server: NatsServer, stream: str, position: int, stop: int) -> bool:
        """Whether the leader has no message of the range from a number on.

        A consumer may be at a replica that lags behind, where a range seems to end early.

        Raises:
            TransientSourceError: it has one, which the consumer does not know.
        """
        for subject in self._subjects or (">",):
            request = {"seq": position, "next_by_subj": subject}
            answer = server.ask(f"STREAM.MSG.GET.{stream}", request, allow=NO_MESSAGE)
            if answer is not None and answer["message"]["seq"] < stop:
                raise hw.TransientSourceError(
                    "a replica of the stream lags behind", source=self.name, split=stream, position=position
                )
        return True

    def _pages(
        self, server: NatsServer, split: hw.NamedSplit, rows: pa.RecordBatch, position: int, end: int
    ) -> Iterator[hw.Page]:
        """Yield a page: in pieces, with the losses between them, if the stream was cut while it was read."""
        first = position
        if len(rows) < end - position:
            # Only holes below the oldest message can be losses: others are deleted or filtered out.
            state = server.state(split.name, split.info)
            first = end if state is None else int(state["first_seq"])
        done, reported = 0, position
        numbers = map(_number, (*rows["sequence"], end)) if first > position else ()
        for number, sequence in enumerate(numbers):
            until = min(sequence, first)
            if position < until:
                if number > done:
                    yield hw.Page(rows.slice(done, number - done), position)
                    done = number
                yield hw.Page((), until, lost=True)
                reported = until
            if sequence >= first:
                break
            position = sequence + 1
        if reported < end:
            yield hw.Page(rows.slice(done), end)

    def _rows(self, stream: str, messages: list[NatsMessage], delivered: int) -> pa.RecordBatch:
        """Return messages as rows. Their reply subjects say which they are, and when they were stored.

        Raises:
            ConnectionError: a message did not come.
        """
        subjects, replies, values, headers = zip(*messages, strict=True) if messages else ((), (), (), ())
        tokens = pc.split_pattern(pa.array(replies, pa.binary()).cast(pa.string()), ".")
        # $JS.ACK.stream.consumer.deliveries.sequence.delivered.time.pending; newer servers may say the domain
        # and the account behind ACK.
        more = 2 if replies and replies[0].count(b".") > ACK_DOTS else 0
        sequence, number, time_ns = (
            pc.list_element(tokens, more + each).cast(pa.int64()) for each in (5, 6, 7)
        )
        if messages and number[-1].as_py() != delivered + len(messages):
            raise ConnectionError(f"messages of stream {stream} did not arrive")
        columns: list[Any] = [
            pa.array(subjects, pa.binary()).cast(pa.string()),
            pa.array(values, pa.binary()),
            pa.repeat(pa.scalar(stream, pa.string()), len(messages)),
            sequence,
            pc.divide(time_ns, 1000).cast(pa.timestamp("us", "UTC")),
        ]
        if self.options["includeHeaders"]:
            columns.append(pa.array(map(_header_pairs, headers), _HEADERS))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @contextmanager
    def _connected(self) -> Iterator[NatsServer]:
        """Connect for a while, on the thread that calls. Errors of nats-py become those of headwater."""
        server = NatsServer(self._settings, self._tls)
        with server.loop, as_ours(server):
            server.connect()
            try:
                yield server
            finally:
                server.close()


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _number(value: Any) -> int:
    return int(value.as_py() if isinstance(value, pa.Scalar) else value)


def _header_pairs(raw: bytes | None) -> list[dict[str, Any]] | None:
    """Return the headers of a message, ``NATS/1.0`` and a line for each; None if it has none."""
    if not raw:
        return None
    lines = (line.partition(b":") for line in raw.split(b"\r\n")[1:] if line)
    return [{"key": key.decode(errors="replace"), "value": value.strip()} for key, _, value in lines]
