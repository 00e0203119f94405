"""Topics, records and options of reads at random."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import lz4.frame
from confluent_kafka import Producer

from local_kafka import LocalKafka
from local_kafka_admin import UNTIL_S, until
from tests.parity.sources import ANY_TIME, NOON_MS
from tests.readers.kafka import record_sets
from tests.readers.kafka.record_sets import Record

__all__ = ["Log", "batch_options", "stream_options", "write_logs", "write_some"]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TO_BE_REPLACED = b"not-utf-8"
NOT_UTF_8 = b"\xff\xc3(\xe2\x82-\xed\xa0\x80"
YEAR_9999_MS = 253_402_300_799_999
EARLIEST, LATEST = (-2, -1)
CALENDAR_MS = -12_219_292_800_000
"""15 October 1582: what is before it is in the list of differences."""

COMPRESS: Mapping[int, Callable[[bytes], bytes]] = {
    **record_sets.COMPRESS,
    record_sets.LZ4: partial(lz4.frame.compress, block_linked=False),
}
"""The broker takes no blocks that depend on others."""
AT_ONCE = {"min.cleanable.dirty.ratio": "0.001", "segment.ms": "1", "delete.retention.ms": "0"}
"""A log is compacted whenever something was appended, up to that."""


@dataclass(frozen=True, eq=False)
class Log:
    """A topic as it was written.

    Attributes:
        topic: its name.
        starts: the first offset of each partition.
        ends: the next offset of each partition.
    """

    topic: str
    starts: Mapping[int, int]
    ends: Mapping[int, int]


def write_logs(
    kafka: LocalKafka, rng: random.Random, prefix: str, appends: int, *, always_alike: bool = False
) -> list[Log]:
    """Create topics of all kinds, and write them.

    Args:
        kafka: where.
        rng: decides.
        prefix: begins the names of the topics.
        appends: how often something is appended to each topic.
        always_alike: no topics whose records are others in each run: by the broker's clock, or its cleaner.
    """

    def written(kind: str, partitions: int, configs: Mapping[str, str]) -> str:
        topic = kafka.create_topic(f"{prefix}-{kind}", partitions, {**ANY_TIME, **configs})
        filled = range(max(1, partitions - 1))  # the last one stays empty
        write_some(kafka, rng, topic, filled, appends, keyed=kind == "compacted")
        return topic

    def cut(topic: str) -> str:
        ends = sorted(kafka.end_offsets(topic).items())
        kafka.delete_records(topic, {each: rng.randint(0, end) for each, end in ends if end})
        return topic

    topics = [written("as-it-is", 3, {}), cut(written("cut", 4, {}))]
    if not always_alike:
        topics.append(written("stamped", 2, {"message.timestamp.type": "LogAppendTime"}))
        topics.append(_compacted(kafka, written("compacted", 1, {"cleanup.policy": "compact", **AT_ONCE})))
    # In order: what is drawn of them must not hang on the hashes of names, which no two runs have alike.
    return [
        Log(topic, *(dict(sorted(each(topic).items())) for each in (kafka.start_offsets, kafka.end_offsets)))
        for topic in topics
    ]


def write_some(
    kafka: LocalKafka,
    rng: random.Random,
    topic: str,
    partitions: Sequence[int],
    appends: int,
    *,
    keyed: bool = False,
) -> None:
    """Append records of all kinds to some partitions, by several clients; other writes lie between those of a
    transaction. In the end no transaction is open.
    """
    open_transactions: list[_Transaction] = []
    for _ in range(appends):
        partition = rng.choice(partitions)
        made = [_record(rng, i, keyed=keyed) for i in range(rng.choice((1, 1, 3, 10, 40)))]
        match rng.randrange(4):
            case 0:
                kafka.append(topic, partition, _batch(rng, made, keyed=keyed))
            case 1:
                _by_kafka_python(kafka, rng, topic, partition, made)
            case 2:
                _by_librdkafka(kafka, rng, topic, partition, made)
            case _:
                transaction = _Transaction(kafka, rng, topic, partition)
                transaction.produce(made)
                open_transactions.append(transaction)
        if open_transactions and rng.random() < 0.4:
            open_transactions.pop(rng.randrange(len(open_transactions))).end(commit=rng.random() < 0.5)
    for transaction in open_transactions:
        transaction.end(commit=rng.random() < 0.5)


def _record(rng: random.Random, delta: int, *, keyed: bool) -> Record:
    keys = (b"", b"k%d" % rng.randrange(5)) if keyed else (None, b"", b"k%d" % rng.randrange(5))
    return Record(delta, _time_ms(rng), rng.choice(keys), _value(rng), _headers(rng))


def _time_ms(rng: random.Random) -> int:
    near = NOON_MS + rng.randrange(10_000)
    return near if rng.random() < 0.9 else rng.choice((1, 1_000, NOON_MS * 2, YEAR_9999_MS, YEAR_9999_MS + 1))


def _value(rng: random.Random) -> bytes | None:
    match rng.randrange(20):
        case 0:
            return None
        case 1:
            return b""
        case 2:
            return rng.randbytes(10_000)
        case 3:
            return rng.randbytes(10) * 2_000
        case _:
            return rng.randbytes(rng.randrange(1, 30))


def _headers(rng: random.Random) -> list[tuple[str, bytes | None]]:
    names = ("a", "", "\u00fc", "\U0001f600", "a")
    values = (b"", b"x", b"\x00\xff", None)
    count = rng.choice((0, 0, 0, 1, 2, 5))
    return [(rng.choice(names), rng.choice(values)) for _ in range(count)]


def _batch(rng: random.Random, made: Sequence[Record], *, keyed: bool) -> bytes:
    """Return a batch with what no client writes: other times, and headers whose names are not UTF-8.

    Kafka's cleaner, which compacts, stops at a negative time.
    """
    codec = rng.randrange(len(CODECS))
    times = (-1, 0) if keyed else (-1, 0, -1_000, CALENDAR_MS)
    odd = [
        record._replace(
            timestamp_ms=rng.choice(times) if rng.random() < 0.1 else record.timestamp_ms,
            headers=[(TO_BE_REPLACED.decode(), b"x"), *record.headers]
            if rng.random() < 0.3
            else record.headers,
        )
        for record in made
    ]
    compress = COMPRESS[codec]
    return record_sets.batch(
        odd, attributes=codec, compress=lambda plain: compress(plain.replace(TO_BE_REPLACED, NOT_UTF_8))
    )


def _by_kafka_python(
    kafka: LocalKafka, rng: random.Random, topic: str, partition: int, made: Sequence[Record]
) -> None:
    codec = rng.choice(CODECS)
    kafka.produce(
        topic,
        [record.value for record in made],
        keys=[b"" if record.key is None and record.value is None else record.key for record in made],
        headers=[[(name, value or b"") for name, value in record.headers] for record in made],
        timestamps_ms=[record.timestamp_ms for record in made],
        partition=partition,
        compression=None if codec == "none" else codec,
    )


def _producer(kafka: LocalKafka, rng: random.Random, **more: Any) -> Producer:
    return Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "compression.type": rng.choice(CODECS),
            "linger.ms": 5,
            "batch.num.messages": rng.choice((2, 7, 1000)),
            **more,
        }
    )


def _send(producer: Producer, topic: str, partition: int, made: Sequence[Record]) -> None:
    for record in made:
        producer.produce(
            topic,
            record.value,
            record.key,
            partition,
            timestamp=record.timestamp_ms,
            headers=list(record.headers),
        )
    assert producer.flush(UNTIL_S) == 0


def _by_librdkafka(
    kafka: LocalKafka, rng: random.Random, topic: str, partition: int, made: Sequence[Record]
) -> None:
    _send(
        _producer(kafka, rng, **{"enable.idempotence": rng.random() < 0.5}),
        topic,
        partition,
        made,
    )


class _Transaction:
    """A transaction of librdkafka on one partition."""

    def __init__(self, kafka: LocalKafka, rng: random.Random, topic: str, partition: int) -> None:
        self._kafka = kafka
        self._topic = topic
        self._partition = partition
        self._producer = _producer(kafka, rng, **{"transactional.id": f"{topic}-{rng.random()}"})
        self._producer.init_transactions(UNTIL_S)
        self._producer.begin_transaction()

    def produce(self, made: Sequence[Record]) -> None:
        """Append records; on return they are in the log."""
        _send(self._producer, self._topic, self._partition, made)

    def end(self, *, commit: bool) -> None:
        """Commit or abort; on return the marker is in the log."""
        before = self._kafka.end_offsets(self._topic)[self._partition]
        (self._producer.commit_transaction if commit else self._producer.abort_transaction)(UNTIL_S)
        until(
            lambda: self._kafka.end_offsets(self._topic)[self._partition] > before,
            f"the end of a transaction on {self._topic}",
        )


def _compacted(kafka: LocalKafka, topic: str) -> str:
    """Append one more record, and wait until everything before it is compacted."""
    end = kafka.end_offsets(topic)[0]
    kafka.produce(topic, [b"last"], keys=[b"last"], timestamps_ms=[YEAR_9999_MS + 9], partition=0)
    checkpoint = kafka.folder / "broker-1" / "data" / "cleaner-offset-checkpoint"

    def cleaned() -> bool:
        found = re.search(rf"^{re.escape(topic)} 0 (\d+)$", checkpoint.read_text(), re.MULTILINE)
        return found is not None and int(found[1]) >= end

    until(cleaned, f"the compaction of {topic}")
    return topic


def batch_options(rng: random.Random, logs: Sequence[Log], *, beyond_the_end: bool) -> dict[str, Any]:
    """Return the options of a batch read of some of the topics.

    Args:
        rng: decides.
        logs: the topics that there are.
        beyond_the_end: whether ends may lie beyond the log: Spark's source and ours wait there for a while.
    """
    named, read = _subscription(rng, logs)
    starts, ends = {}, {}
    swapped = False
    for log, partition in read:
        low, high = log.starts[partition], log.ends[partition]
        edges = [low, high, rng.randint(0, low), rng.randint(low, high), rng.randint(low, high)]
        start, end = sorted((rng.choice(edges), rng.choice(edges)))
        if rng.random() < 0.02:
            swapped = True
            start, end = end, start
        # An end before the log from the earliest on is in the list of differences.
        starts[log, partition] = rng.choice((start, start, EARLIEST if end >= low else start))
        ends[log, partition] = rng.choice((end, end, LATEST))
        if rng.random() < 0.02:
            swapped = True
            starts[log, partition] = rng.choice((LATEST, high + 5))
        if beyond_the_end and rng.random() < 0.05:
            ends[log, partition] = high + rng.randint(1, 9)
    begins_at = _bound(rng, "starting", starts)
    ends_at = _bound(rng, "ending", ends)
    # Where ranges are divided, a partition that ends before it begins is in the list of differences.
    cut_off = not begins_at and any(ends[at] != LATEST and ends[at] < at[0].starts[at[1]] for at in ends)
    in_order = not swapped and not cut_off and not any("Timestamp" in name for name in begins_at | ends_at)
    divided: dict[str, Any] = {}
    if in_order:
        divided = _maybe(rng, maxRecordsPerPartition=rng.randint(20, 90), minPartitions=rng.randint(1, 12))
    return named | begins_at | ends_at | _settings(rng) | divided


def stream_options(rng: random.Random, logs: Sequence[Log]) -> dict[str, Any]:
    """Return the options of a stream over some of the topics."""
    named, read = _subscription(rng, logs)
    starts = {
        (log, partition): rng.choice(
            (EARLIEST, LATEST, rng.randint(log.starts[partition], log.ends[partition]))
        )
        for log, partition in read
    }
    return (
        named
        | (_bound(rng, "starting", starts) or {"startingOffsets": "earliest"})
        | _settings(rng)
        | _maybe(rng, minPartitions=rng.randint(1, 12), maxOffsetsPerTrigger=rng.randint(20, 400))
    )


def _subscription(rng: random.Random, logs: Sequence[Log]) -> tuple[dict[str, Any], list[tuple[Log, int]]]:
    """Return options that select topics, and the partitions that they select."""
    chosen = rng.sample(logs, rng.choice((1, 1, 1, 2, len(logs))))
    read = [(log, partition) for log in chosen for partition in log.ends]
    names = [log.topic for log in chosen]
    match rng.randrange(4):
        case 0:
            return {"subscribePattern": f"^({'|'.join(map(re.escape, names))})$"}, read
        case 1:
            read = rng.sample(read, rng.randint(1, len(read)))
            return {"assign": _json({place: place[1] for place in read}, list)}, read
        case _:
            return {"subscribe": ",".join(names)}, read


def _bound(rng: random.Random, which: str, offsets: Mapping[tuple[Log, int], int]) -> dict[str, Any]:
    """Return options that say where to begin, or to end."""
    match rng.randrange(6):
        case 0:
            return {}
        case 1:
            return {f"{which}Timestamp": _asked_ms(rng)} | _strategy(rng, which)
        case 2:
            times = _json({place: _asked_ms(rng) for place in offsets}, dict)
            return {f"{which}OffsetsByTimestamp": times} | _strategy(rng, which)
        case _:
            named = dict(offsets)
            if rng.random() < 0.02:
                named.popitem()
            return {f"{which}Offsets": _json(named, dict)}


def _strategy(rng: random.Random, which: str) -> dict[str, Any]:
    chosen = rng.choice((None, "error", "latest", "latest", "latest"))
    return {"startingOffsetsByTimestampStrategy": chosen} if which == "starting" and chosen else {}


def _asked_ms(rng: random.Random) -> int:
    return rng.choice((0, 1_000, NOON_MS + rng.randrange(10_001), NOON_MS * 2, YEAR_9999_MS, 1 << 62))


def _settings(rng: random.Random) -> dict[str, Any]:
    return _maybe(
        rng,
        includeHeaders=rng.choice(("true", "false")),
        failOnDataLoss=rng.choice(("true", "false", "false")),
        kafka_isolation_level=rng.choice(("read_committed", "read_committed", "read_uncommitted")),
    )


def _maybe(rng: random.Random, **options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if rng.random() < 0.5}


def _json(by_place: Mapping[tuple[Log, int], int], form: type[list[Any] | dict[str, Any]]) -> str:
    """Return ``{"topic": {"0": value}}``, or ``{"topic": [value]}``."""
    found: dict[str, Any] = {}
    for (log, partition), value in by_place.items():
        if form is list:
            found.setdefault(log.topic, []).append(value)
        else:
            found.setdefault(log.topic, {})[str(partition)] = value
    return json.dumps(found)
