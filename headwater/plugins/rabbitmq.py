"""RabbitMQ streams and super streams: streams as splits, offsets as positions.

A super stream is a list of streams, its partitions, which may grow. Messages come in chunks: a read begins
with the chunk of its first offset, and skips the messages before that. Notes of the brokers take offsets,
too: so a range is read to an offset, never to a count.

The end of a stream is the end of its last chunk. Since 3.11 brokers tell where that chunk begins; older ones
have to send it. Streams are asked for and read at their leaders.

It has more modules than other plugins: Python clients make an object of each message, which costs more than
everything else. So the protocol is here.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

import pyarrow as pa

import headwater as hw
from headwater.plugins.rabbitmq_chunks import Chunks, bound_of
from headwater.plugins.rabbitmq_ends import StreamEnds
from headwater.plugins.rabbitmq_frames import at_offset, at_time
from headwater.plugins.rabbitmq_server import RabbitConnection, connected
from headwater.plugins.rabbitmq_settings import RabbitSettings, Server

_NAMES: Final = 1_000
"""Streams in one request."""
_PAGE_ROWS: Final = 10_000
_PAGE_BYTES: Final = 4 << 20
_CREDIT: Final = 16
"""Chunks on their way while Spark takes one."""
_PAIRS: Final = pa.list_(pa.struct((("key", pa.string()), ("value", pa.binary()))))
_SCHEMA: Final = pa.schema(
    (
        ("stream", pa.string()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("value", pa.binary()),
    )
)


class RabbitMQ(hw.SimpleSource, hw.Heads, hw.Forgets, hw.FindsTimestamps, hw.EstimatesSizes):
    """Messages of streams, in the order of each stream."""

    name = "rabbitmq"
    decodes = "value"
    time_column = "timestamp"
    OPTIONS = (
        *RabbitSettings.options(),
        hw.options.Option(
            "streams",
            hw.options.names,
            None,
            "Streams and super streams, with commas between them. Of a super stream all partitions are read.",
            required=True,
        ),
        hw.options.Option(
            "messageFormat",
            hw.options.one_of("amqp", "raw"),
            "amqp",
            "What messages are: `amqp` as most clients publish them, where `value` is the payload, or `raw`, "
            "where it is the whole message.",
        ),
        hw.options.Option(
            "includeHeaders",
            hw.options.boolean,
            False,
            "Whether there are columns with what AMQP has beside the payload: `properties`, `annotations`, "
            "and `headers`, which are its application properties.",
        ),
        *hw.options.TlsSettings.options(),
    )

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._settings = RabbitSettings.of(options)
        self._tls = hw.options.TlsSettings.of(options)
        self._tls.check_counts(
            encrypted=self._settings.servers[0].is_encrypted, hint="rabbitmq-stream+tls:// in servers"
        )
        self._has_headers = options["includeHeaders"]
        if self._has_headers and options["messageFormat"] == "raw":
            raise hw.errors.OptionError("requires messageFormat=amqp", option="includeHeaders")
        # A missing library is an error here, before a query starts.
        importlib.import_module("headwater.plugins.rabbitmq_payloads")
        self.schema = _SCHEMA
        for name in ("properties", "annotations", "headers") if self._has_headers else ():
            self.schema = self.schema.append(pa.field(name, _PAIRS))
        # The results of the last looks, on the driver.
        self._leaders: dict[str, Server] = {}
        self._ends = StreamEnds()

    @property
    def reads(self) -> str:
        """The names of the streams, for messages."""
        return ", ".join(self.options["streams"])

    def discover(self) -> list[hw.NamedSplit]:
        """Return the streams, and keep how far each goes."""
        with self._connected() as server:
            self._leaders = self._streams(server)
            groups: dict[Server, list[str]] = {}
            for stream, leader in self._leaders.items():
                groups.setdefault(leader, []).append(stream)
            for leader, streams in groups.items():
                with self._at(leader, server) as there:
                    self._ends.look(there, streams)
        return [hw.NamedSplit(stream) for stream in self._leaders]

    def _streams(self, server: RabbitConnection) -> dict[str, Server]:
        """Return all streams with their leaders; a super stream stands for its partitions."""
        leaders = _leaders(server, self.options["streams"])
        streams: list[str] = []
        for name in self.options["streams"]:
            partitions = server.partitions(name)
            if leaders[name] is not None and partitions:
                raise hw.errors.OptionError(
                    f"{name!r} is a stream and a super stream: name the partitions of the one, or rename "
                    "the other",
                    option="streams",
                )
            if leaders[name] is None and partitions is None:
                raise hw.errors.UnknownSplitError(
                    f"there is no stream or super stream {name!r} in virtual host "
                    f"{self._settings.virtual_host!r}: create it",
                    source=self.name,
                )
            if leaders[name] is None and not partitions:
                # This happens for a moment after a broker has started.
                raise hw.TransientSourceError(
                    f"super stream {name!r} has no partitions now", source=self.name
                )
            streams += partitions or [name]
        more = [each for each in dict.fromkeys(streams) if each not in leaders]
        leaders |= _leaders(server, more)
        # A partition that is being deleted is listed a little longer than it exists.
        return {each: leader for each in dict.fromkeys(streams) if (leader := leaders[each]) is not None}

    def head(self, split: hw.NamedSplit) -> int:
        """Return the offset behind the last chunk; 0 if there is none."""
        return self._ends.of(split.name)[1]

    def first(self, split: hw.NamedSplit) -> int:
        """Return the offset of the oldest chunk."""
        return self._ends.of(split.name)[0]

    def row_bytes(self, split: hw.NamedSplit) -> int:
        """Return the mean of the last chunk's messages."""
        return self._ends.row_bytes(split.name)

    def position_at(self, split: hw.NamedSplit, timestamp_ms: int) -> int:
        """Return where the first chunk begins that was written at this time or later."""
        with self._connected(self._leaders[split.name]) as server:
            (chunk,) = server.chunks_at([(split.name, at_time(timestamp_ms))])
        head = self.head(split)
        return head if chunk is None else min(bound_of(chunk).first, head)

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        """Yield the messages of a range, a chunk a page."""
        assert stop is not None, "in planned mode it is known"
        with self._at_leader(split.name) as server:
            if server is None:
                yield hw.Page((), stop, lost=True)
                return
            _, end = self._ends.now(server, split.name)
            if end < stop:
                # The leader is new and does not know all messages yet, or the stream was created anew.
                raise hw.TransientSourceError(
                    f"the stream ends at offset {end}, before {stop}, which was its end: it was deleted "
                    "and created anew, or has lost messages that its brokers had confirmed",
                    source=self.name,
                    split=split.name,
                    position=position,
                )
            if position < stop:
                yield from self._pages(server, split.name, position, stop)

    def _pages(self, server: RabbitConnection, stream: str, position: int, stop: int) -> Iterator[hw.Page]:
        chunks = Chunks()
        for chunk in server.chunks(stream, at_offset(position), _CREDIT):
            bound = bound_of(chunk)
            if bound.first > position and self._is_cut(stream, bound.first):
                if len(chunks):
                    yield hw.Page(self._rows(stream, chunks), position)
                    chunks = Chunks()
                position = min(bound.first, stop)
                yield hw.Page((), position, lost=True)
            end = min(bound.end, stop)
            if end > position:
                self._add(chunks, chunk, stream, max(position, bound.first), end)
                position = end
            is_end = bound.end >= stop
            if len(chunks) >= _PAGE_ROWS or chunks.byte_count >= _PAGE_BYTES or (is_end and len(chunks)):
                yield hw.Page(self._rows(stream, chunks), position)
                chunks = Chunks()
            if is_end:
                return

    def _is_cut(self, stream: str, first: int) -> bool:
        """Whether retention took the messages before a chunk; otherwise the gap is notes of the broker."""
        with self._at_leader(stream) as server:
            return server is None or self._ends.now(server, stream)[0] >= first

    def _add(self, chunks: Chunks, chunk: memoryview, stream: str, first: int, end: int) -> None:
        try:
            chunks.add(chunk, first, end)
        except ValueError as error:
            raise hw.errors.SourceError(f"{error}", source=self.name, split=stream, position=first) from error

    def _rows(self, stream: str, chunks: Chunks) -> pa.RecordBatch:
        from headwater.plugins.rabbitmq_payloads import beside, messages_of, payloads, whole

        messages = messages_of(chunks)
        try:
            is_raw = self.options["messageFormat"] == "raw"
            values = whole(messages) if is_raw else payloads(messages)
            more = beside(messages, _PAIRS) if self._has_headers else []
        except ValueError as error:
            raise hw.errors.SourceError(
                f"from here on {error}; set messageFormat=raw if messages are none of AMQP 1.0",
                source=self.name,
                split=stream,
                position=int(messages.offsets[0]),
            ) from error
        times = pa.array(messages.times_ms * 1000, pa.int64()).cast(pa.timestamp("us", "UTC"))
        name = pa.repeat(pa.scalar(stream, pa.string()), len(times))
        columns: list[Any] = [name, pa.array(messages.offsets, pa.int64()), times, values, *more]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @contextmanager
    def _at_leader(self, stream: str) -> Iterator[RabbitConnection | None]:
        """Connect to where a stream is read. None: there is no such stream."""
        with self._connected() as server:
            leader = _leaders(server, [stream])[stream]
            if leader is None:
                yield None
            else:
                with self._at(leader, server) as there:
                    yield there

    def _at(self, leader: Server, server: RabbitConnection) -> AbstractContextManager[RabbitConnection]:
        """Return a connection to a leader: the one that is open, if it is that."""
        return nullcontext(server) if server.is_at(leader) else self._connected(leader)

    def _connected(self, broker: Server | None = None) -> AbstractContextManager[RabbitConnection]:
        return connected(self._settings, self._tls, broker)


def _leaders(server: RabbitConnection, streams: Sequence[str]) -> dict[str, Server | None]:
    leaders: dict[str, Server | None] = {}
    for begin in range(0, len(streams), _NAMES):
        leaders |= server.leaders(streams[begin : begin + _NAMES])
    return leaders
