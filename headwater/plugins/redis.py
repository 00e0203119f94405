"""Redis Streams: keys as splits, ids as positions.

Ids (``ms-seq``) grow, and do not count. So a position is how many entries the stream had had before it, by
the server's counter ``entries-added``, and the id behind which it is. Where a limit cuts a batch, the driver
reads ahead, as many entries as the batch may have.

The end of a stream is its last generated id, which stays when entries are trimmed or deleted. A page is read
in one transaction with the state of its stream, which shows whether entries were trimmed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

import headwater as hw
from headwater.plugins.redis_server import RedisSettings, as_ours, clients

_PAGE_BYTES: Final = 4 << 20
_FIRST_ROWS, _MOST_ROWS = 100, 10_000
_KEYS: Final = 1_000
_MOST_SEQUENCE: Final = (1 << 64) - 1
_START: Final = "0-0"
_FIELDS: Final = pa.list_(pa.struct((("name", pa.string()), ("value", pa.binary()))))


class Redis(hw.SimpleSource, hw.Heads, hw.Forgets, hw.ReadsAhead, hw.FindsTimestamps, hw.EstimatesSizes):
    """Entries of streams, in the order of each stream."""

    name = "redis"
    decodes = "value"
    time_column = "timestamp"
    schema = pa.schema(
        (
            ("key", pa.string()),
            ("id", pa.string()),
            ("timestamp", pa.timestamp("us", "UTC")),
            ("value", pa.binary()),
            ("fields", _FIELDS),
        )
    )
    OPTIONS = (
        *RedisSettings.options(),
        hw.options.Option(
            "keys",
            hw.options.names,
            None,
            "Streams, or patterns of Redis such as `orders:*`, with commas between them.",
            required=True,
        ),
        hw.options.Option(
            "valueField", hw.options.text, "value", "The field of an entry that the column `value` shows."
        ),
    )

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._settings = RedisSettings.of(options)
        # The result of the last look, on the driver.
        self._states: dict[str, dict[str, Any]] = {}

    @property
    def reads(self) -> str:
        """The keys and patterns, for messages."""
        return ", ".join(self.options["keys"])

    def discover(self) -> list[hw.NamedSplit]:
        """Return the streams, and keep how far each goes."""
        names = [name for name in self.options["keys"] if not any(sign in name for sign in "*?[")]
        patterns = [name for name in self.options["keys"] if name not in names]
        states: dict[str, dict[str, Any]] = {}
        for client in clients(self._settings, None):
            with as_ours(client):
                matches = {
                    key
                    for pattern in patterns
                    for key in client.scan_iter(pattern, count=_KEYS, _type="stream")
                }
                keys = sorted({*matches, *map(str.encode, [] if self._settings.cluster else names)})
                states.update(self._states_of(client, keys))
        if self._settings.cluster:
            for name in names:
                (client,) = clients(self._settings, name)
                with as_ours(client):
                    states.update(self._states_of(client, [name.encode()]))
        for name in names:
            if name not in states:
                raise hw.errors.UnknownSplitError(
                    f"there is no stream {name!r}: add an entry to it, or write a pattern", source=self.name
                )
        self._states = states
        return [hw.NamedSplit(name) for name in states]

    def _states_of(self, client: Any, keys: list[bytes]) -> dict[str, dict[str, Any]]:
        """Return the state of streams; keys that are gone meanwhile have none."""
        states = {}
        for begin in range(0, len(keys), _KEYS):
            some = keys[begin : begin + _KEYS]
            pipeline = client.pipeline(transaction=False)
            for key in some:
                pipeline.xinfo_stream(key)
            for key, state in zip(some, pipeline.execute(raise_on_error=False), strict=True):
                if isinstance(state, Exception):
                    if "no such key" not in str(state):
                        raise state
                elif "entries-added" not in state:
                    raise hw.errors.SourceError(
                        "the server does not count the entries of streams (entries-added): Redis 7 or Valkey "
                        "is needed",
                        source=self.name,
                    )
                else:
                    states[key.decode()] = state
        return states

    def head(self, split: hw.NamedSplit) -> list[Any]:
        """Return how many entries the stream has had, and its last id."""
        return _head(self._states[split.name])

    def first(self, split: hw.NamedSplit) -> list[Any]:
        """Return how many entries are gone, and the id before the oldest one."""
        return _first(self._states[split.name])

    def row_bytes(self, split: hw.NamedSplit) -> int:
        """Return the mean of the first and the last entry."""
        state = self._states[split.name]
        ends = [each for each in (state["first-entry"], state["last-entry"]) if each]
        return sum(len(text) for _, fields in ends for text in _texts(fields)) // max(1, len(ends))

    def position_at(self, split: hw.NamedSplit, timestamp_ms: int) -> list[Any]:
        """Return the position of the first id of a time."""
        return self.position_of(split, f"{timestamp_ms}-0")

    def position_of(self, split: hw.NamedSplit, mark: Any) -> list[Any]:
        """Return the position of an id. It counts the entries behind it."""
        if not isinstance(mark, str) or not re.fullmatch(r"\d+-\d+", mark):
            raise ValueError(f"must be an id such as 1700000000000-0, not {mark!r}")
        head, first = self.head(split), self.first(split)
        previous = max(_before(mark), first[1], key=_numbers)
        if _numbers(previous) >= _numbers(head[1]):
            return head
        behind, _ = self._walk(split, previous, head[0], head[1])
        return [max(first[0], head[0] - behind), previous]

    def position_after(self, split: hw.NamedSplit, position: Any, rows: int, stop: Any) -> list[Any]:
        """Read ahead, and drop the entries."""
        count, last = self._walk(split, position[1], rows, stop[1])
        end: list[Any] = stop if count < rows or last == stop[1] else [position[0] + count, last]
        return end

    def is_before(self, position: Any, other: Any) -> bool:
        """Compare ids: they grow, and entries that were deleted count before a position or behind it."""
        return _numbers(position[1]) < _numbers(other[1])

    def _walk(self, split: hw.NamedSplit, last: str, rows: int, until: str) -> tuple[int, str]:
        """Return the number of entries behind an id, at most `rows`, and the last one's id."""
        count = 0
        (client,) = clients(self._settings, split.name)
        with as_ours(client):
            while count < rows:
                most = min(rows - count, _MOST_ROWS)
                entries = client.xrange(split.name, f"({last}", until, most)
                count += len(entries)
                last = entries[-1][0].decode() if entries else last
                if len(entries) < most:
                    break
        return count, last

    def read(self, split: hw.NamedSplit, position: Any, stop: Any = None) -> Iterator[hw.Page]:
        """Yield the entries of a range, a request a page."""
        (client,) = clients(self._settings, split.name)
        with as_ours(client):
            most = _FIRST_ROWS
            while position != stop:
                pipeline = client.pipeline(transaction=True)
                pipeline.xrange(split.name, f"({position[1]}", stop[1], most)
                pipeline.xinfo_stream(split.name)
                entries, state = pipeline.execute(raise_on_error=False)
                if isinstance(state, Exception):
                    if "no such key" not in str(state):
                        raise state
                    yield hw.Page((), stop, lost=True)
                    return
                first = _first(state)
                if first[0] > position[0] and _numbers(first[1]) > _numbers(position[1]):
                    position = first if first[0] < stop[0] else stop
                    yield hw.Page((), position, lost=True)
                    if position == stop:
                        return
                last = entries[-1][0].decode() if entries else stop[1]
                is_end = len(entries) < most or last == stop[1]
                position = stop if is_end else [min(position[0] + len(entries), stop[0]), last]
                yield hw.Page(self._rows(split.name, entries), position)
                size = sum(map(len, chain.from_iterable(fields for _, fields in entries[-_FIRST_ROWS:])))
                most = max(1, min(_MOST_ROWS, _PAGE_BYTES * _FIRST_ROWS // max(1, size)))

    def _rows(self, key: str, entries: list[Any]) -> pa.RecordBatch:
        """Return entries as rows: Arrow takes ids and fields apart."""
        count = len(entries)
        ids, fields = zip(*entries, strict=True) if entries else ((), ())
        texts = pa.array(ids, pa.binary()).cast(pa.string())
        ms = pc.list_element(pc.split_pattern(texts, "-"), 0).cast(pa.int64())
        flat = list(chain.from_iterable(fields))
        names = pa.array(flat[::2], pa.binary()).cast(pa.string())
        values = pa.array(flat[1::2], pa.binary())
        ends = [0]
        for each in fields:
            ends.append(ends[-1] + len(each) // 2)
        pairs = pa.ListArray.from_arrays(
            pa.array(ends, pa.int32()),
            pa.StructArray.from_arrays([names, values], fields=list(_FIELDS.value_type)),
        )
        # The first field of that name, where an entry has it.
        mine = pc.equal(names, pa.scalar(self.options["valueField"]))
        owners = pc.list_parent_indices(pairs).filter(mine)
        at = pc.index_in(pa.array(range(count), pa.int64()), value_set=owners.cast(pa.int64()))
        columns: list[Any] = [
            pa.array([key], pa.string()).take(pa.array([0] * count, pa.int64())),
            texts,
            pc.multiply(ms, 1000).cast(pa.timestamp("us", "UTC")),
            values.filter(mine).take(at),
            pairs.cast(_FIELDS),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _texts(fields: Any) -> Iterator[bytes]:
    return chain.from_iterable(fields.items()) if isinstance(fields, Mapping) else iter(fields)


def _head(state: Mapping[str, Any]) -> list[Any]:
    return [state["entries-added"], state["last-generated-id"].decode()]


def _first(state: Mapping[str, Any]) -> list[Any]:
    entry = state["first-entry"]
    gone = state["entries-added"] - state["length"]
    return [gone, _before(entry[0].decode())] if entry else _head(state)


def _numbers(mark: str) -> tuple[int, int]:
    ms, _, sequence = mark.partition("-")
    return int(ms), int(sequence)


def _before(mark: str) -> str:
    """Return the id right before another one."""
    ms, sequence = _numbers(mark)
    if sequence:
        return f"{ms}-{sequence - 1}"
    return f"{ms - 1}-{_MOST_SEQUENCE}" if ms else _START
