"""Amazon Kinesis Data Streams: shards as splits, sequence numbers as positions.

The end of a shard is known by reading only: barrier mode, and nothing is staged, because a replay asks for
the same sequence numbers. When a shard is split or merged it ends, and its children begin where it ended.
They wait for it (`headwater.OrdersSplits`), so the records of a key come in their order.

A position is the type of an iterator, its place in the shard, and the time up to which the shard is read.
That time and the retention of the stream tell whether records may have been dropped unread.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

import headwater as hw
from headwater.plugins.kinesis_records import user_records
from headwater.plugins.kinesis_server import BusyError, KinesisServer, KinesisSettings

_MOST_ROWS: Final = 10_000
"""Of GetRecords."""
_PAUSE_MS: Final = 200
"""A shard may be read five times a second, by all that read it."""
_MOST_EMPTY: Final = 2
"""Answers without records, and nothing behind them, after which there is nothing more now."""
_MOST_REFUSED: Final = 25
"""How often a reading asks again by itself, for 5 s in all. Then other shards get their turn."""
_DAY_MS: Final = 24 * 3_600_000
"""No stream keeps records for a shorter time."""
_GONE: Final = "records that were read before are gone"
_NOTE_MS: Final = 3_600_000
"""How often the time of a shard without records is noted."""


def _starting(raw: str) -> str | int | dict[str, str | None]:
    text = raw.strip()
    if text.lower() in ("earliest", "latest"):
        return text.lower()
    if text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        # A time without a zone is UTC: driver and executors may stand in different ones.
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except ValueError:
        pass
    try:
        positions = json.loads(text)
    except ValueError:
        positions = None
    if not isinstance(positions, dict) or not all(
        each is None or (isinstance(each, str) and each.isdigit()) for each in positions.values()
    ):
        raise ValueError(
            "must be earliest, latest, a time, or sequence numbers as texts by shard, such as "
            f'{{"orders/shardId-000000000000": "4960"}}, not {raw!r}'
        )
    return positions


class Kinesis(hw.SimpleSource, hw.OrdersSplits, hw.Retires):
    """Records of streams, in the order of each key."""

    name = "kinesis"
    decodes = "value"
    time_column = "timestamp"
    schema = pa.schema(
        (
            ("stream", pa.string()),
            ("shardId", pa.string()),
            ("partitionKey", pa.string()),
            ("sequenceNumber", pa.string()),
            ("subSequenceNumber", pa.int64()),
            ("timestamp", pa.timestamp("us", "UTC")),
            ("value", pa.binary()),
        )
    )
    OPTIONS = (
        hw.options.Option(
            "streams", hw.options.names, None, "Streams, with commas between them.", required=True
        ),
        *KinesisSettings.options(),
        hw.options.Option(
            "startingPosition",
            _starting,
            None,
            "Where a new query begins: `earliest`, `latest` (streams only), a time such as "
            "`2024-05-01T12:00:00Z` or ms since 1970, or JSON with a sequence number for each shard, as a "
            "text; with null a shard is not read, and what is not named begins with its first record.",
            shown_default="`latest` in a stream, `earliest` in a batch",
            kind="text",
        ),
        hw.options.Option(
            "failOnDataLoss",
            hw.options.boolean,
            True,
            "Whether records that may have been dropped before they were read are an error; `false`: the "
            "metric `lostRanges` counts.",
        ),
    )

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._settings = KinesisSettings.of(options)
        # The result of the last look, on the driver.
        self._shards: dict[str, dict[str, Any]] = {}
        self._now_ms = 0
        # In a task: iterators for the positions that pages ended at, so that each page needs one request.
        self._iterators: dict[str, tuple[list[Any], str, float]] = {}
        self._server: KinesisServer | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the client and its iterators: both belong to one process."""
        return {**vars(self), "_server": None, "_iterators": {}}

    @property
    def reads(self) -> str:
        """The names of the streams, for messages."""
        return ", ".join(self.options["streams"])

    def discover(self) -> list[hw.NamedSplit]:
        """Return the shards, with ended ones as long as the streams have records of them."""
        server = self._connected()
        self._shards = {
            f"{stream}/{shard['ShardId']}": shard
            for stream in self.options["streams"]
            for shard in server.shards(stream)
        }
        self._now_ms = server.now_ms
        return [hw.NamedSplit(name, _keys(shard)) for name, shard in self._shards.items()]

    def parents(self, split: hw.NamedSplit) -> list[str]:
        """Return the shard that was split, or the two that were merged."""
        shard = self._shards[split.name]
        stream, _, _ = split.name.rpartition("/")
        named = (shard.get("ParentShardId"), shard.get("AdjacentParentShardId"))
        return [f"{stream}/{parent}" for parent in named if parent]

    def first_start(self, split: hw.NamedSplit, *, is_batch: bool) -> list[Any] | hw.Finished:
        """Return where the user wants to begin. At the latest records, shards that have ended have none."""
        starting = self.options["startingPosition"]
        if starting == "latest" and is_batch:
            raise hw.errors.OptionError(
                "latest is the end, where a batch read has nothing: use earliest, a time, or positions",
                option="startingPosition",
            )
        if starting == "latest" or (starting is None and not is_batch):
            if "EndingSequenceNumber" in self._shards[split.name]["SequenceNumberRange"]:
                return hw.Finished()
            return ["AT_TIMESTAMP", self._now_ms, self._now_ms]
        if isinstance(starting, dict) and starting.get(split.name, "") is None:
            return hw.Finished()
        return self.start(split)

    def start(self, split: hw.NamedSplit) -> list[Any]:
        """Return where a shard begins that was found later: all of it is newer than a given time."""
        starting = self.options["startingPosition"]
        if isinstance(starting, int):
            return ["AT_TIMESTAMP", starting, 0]
        if isinstance(starting, dict) and starting.get(split.name):
            return ["AT_SEQUENCE_NUMBER", starting[split.name], 0]
        return ["TRIM_HORIZON", None, 0]

    def retire(self, split: hw.NamedSplit) -> bool:
        """Note that a shard is gone that was not read to its end: its last records were, too old."""
        self._lose(split, None, "the shard is gone, which was not read to its end")
        return True

    def is_before(self, position: Any, other: Any) -> bool:
        """Compare sequence numbers; at the same one, times."""
        return _order(position) < _order(other)

    def read(
        self, split: hw.NamedSplit, position: Any, stop: Any = None
    ) -> Generator[hw.Page, None, hw.AskAgain | hw.Finished | None]:
        """Yield the records of a shard, a request a page."""
        stream, _, shard = split.name.rpartition("/")
        server = self._connected()
        iterator, not_before = self._iterator(server, split, position)
        empty = 0
        refused = 0
        while position != stop and empty < _MOST_EMPTY:
            left_ms = int((not_before - time.monotonic()) * 1000)
            if left_ms > 0 and empty and refused < _MOST_REFUSED:
                # Waited for here: two answers without records are one reading, and each reading would be
                # refused the second one, if one began as soon as it may.
                time.sleep(left_ms / 1000)
            elif left_ms > 0:
                self._iterators[split.name] = position, iterator, not_before
                return hw.AskAgain(left_ms)
            request_s = time.monotonic()
            try:
                answer = server.records(iterator, _MOST_ROWS)
            except BusyError:
                # Iterators are limited, too: this one is kept.
                refused += 1
                not_before = request_s + _PAUSE_MS / 1000
                continue
            if answer is None:
                iterator = server.iterator(stream, shard, position)
                continue
            iterator = answer.get("NextShardIterator")
            self._check_retention(server, split, position)
            records, position = self._records(split, position, answer, stop)
            if records or position == stop:
                yield hw.Page(self._rows(stream, shard, split.info, records), position)
            if not iterator and position != stop:
                return hw.Finished()
            is_behind = answer["MillisBehindLatest"] > 0 or len(answer["Records"]) == _MOST_ROWS
            # The rate counts while there is a backlog. The end of a shard shows in an answer without records.
            not_before = request_s + _PAUSE_MS / 1000 if is_behind else 0.0
            empty = 0 if records or is_behind else empty + 1
        if position != stop and stop is not None:
            self._fail(split, position, _GONE)
        if position != stop and server.now_ms - position[2] > _NOTE_MS:
            yield hw.Page((), [position[0], position[1], server.now_ms])
        return None

    def _iterator(self, server: KinesisServer, split: hw.NamedSplit, position: Any) -> tuple[str, float]:
        """Return an iterator, if possible the one behind an earlier page, and when it may be used."""
        stream, _, shard = split.name.rpartition("/")
        made = self._iterators.pop(split.name, None)
        if made is not None and made[0] == position:
            return made[1], made[2]
        return server.iterator(stream, shard, position), 0.0

    def _records(
        self, split: hw.NamedSplit, position: Any, answer: Mapping[str, Any], stop: Any
    ) -> tuple[list[dict[str, Any]], Any]:
        """Return the records of an answer, and where they end: in a replay where the first reading did."""
        records: list[dict[str, Any]] = answer["Records"]
        if stop is None:
            return records, _after(records[-1]) if records else position
        last, _ = _order(stop)
        same = [each for each in records if int(each["SequenceNumber"]) <= last]
        position = _after(same[-1]) if same else position
        if _order(position)[0] >= last:
            return same, stop
        if len(same) < len(records) or not answer.get("NextShardIterator"):
            self._fail(split, position, _GONE)
        return same, position

    def _check_retention(self, server: KinesisServer, split: hw.NamedSplit, position: Any) -> None:
        """Find out whether retention may have taken records behind a position.

        Positions where the user began have no time: nothing before their first record was promised.
        """
        stream, _, shard = split.name.rpartition("/")
        kind, value, read_ms = position
        if not read_ms or server.now_ms - read_ms <= max(_DAY_MS, server.retention_ms(stream)):
            return
        if kind == "AFTER_SEQUENCE_NUMBER" and server.has(stream, shard, value):
            return
        self._lose(split, position, "the stream has dropped records that may not have been read")

    def _lose(self, split: hw.NamedSplit, position: Any, reason: str) -> None:
        if self.options["failOnDataLoss"]:
            self._fail(split, position, f"{reason}. Set failOnDataLoss=false to go on with what is there")
        hw.count("lostRanges", 1)

    def _fail(self, split: hw.NamedSplit, position: Any, reason: str) -> None:
        raise hw.errors.DataLossError(reason, source=self.name, split=split.name, position=position)

    def _rows(self, stream: str, shard: str, keys: Any, records: list[dict[str, Any]]) -> pa.RecordBatch:
        rows = [row for each in records for row in user_records(each, keys)]
        keys_of, numbers, subs, times, values = zip(*rows, strict=True) if rows else ((),) * 5
        count = len(rows)
        columns: list[Any] = [[stream] * count, [shard] * count, keys_of, numbers, subs, times, values]
        arrays = [pa.array(each, field.type) for each, field in zip(columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _connected(self) -> KinesisServer:
        if self._server is None:
            self._server = KinesisServer(self._settings)
        return self._server


def _keys(shard: Mapping[str, Any]) -> list[Any]:
    """Return the range of hash keys, which a shard has for its whole life."""
    return [shard["HashKeyRange"]["StartingHashKey"], shard["HashKeyRange"]["EndingHashKey"]]


def _ms(record: Mapping[str, Any]) -> int:
    return int(record["ApproximateArrivalTimestamp"].timestamp() * 1000)


def _after(record: Mapping[str, Any]) -> list[Any]:
    return ["AFTER_SEQUENCE_NUMBER", record["SequenceNumber"], _ms(record)]


def _order(position: Any) -> tuple[int, int]:
    """Return a key to compare positions: those where the user began lie before all sequence numbers."""
    kind, value, read_ms = position
    return (int(value) if kind == "AFTER_SEQUENCE_NUMBER" else -1), read_ms
