"""The normal form of what a source gave: rows, positions and errors, without what only one run has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

__all__ = [
    "Failure",
    "Positions",
    "Row",
    "Step",
    "failure_of",
    "logged_positions",
    "normal_positions",
    "row_of",
    "rows",
    "rows_of",
    "rows_read",
    "values",
]

Row = tuple[Any, ...]
"""Key, value, topic, partition, offset, timestamp (microseconds), timestampType; headers where asked for."""
Positions = dict[str, dict[str, int]]
"""The next offset by topic and partition."""

_PLACE = slice(2, 5)
_SELECT = ("key", "value", "topic", "partition", "offset", "unix_micros(timestamp)", "timestampType")


@dataclass(frozen=True)
class Failure:
    """How a read or a query failed.

    Attributes:
        kind: one of the kinds in `KINDS`, or ``unknown`` with the message.
    """

    kind: str


@dataclass(frozen=True)
class Step:
    """What a query gave until there was nothing more to read.

    Attributes:
        rows: all new rows.
        positions: where it will go on.
    """

    rows: list[Row]
    positions: Positions


def rows_of(df: DataFrame, prefix: str) -> list[Row]:
    """Run the query, and return all columns of all rows, in the order of topics, partitions and offsets.

    Args:
        df: as the source gives it.
        prefix: is taken off the names of topics.
    """
    columns = [*_SELECT, *(["headers"] if "headers" in df.columns else [])]
    found = (row_of(tuple(row), prefix) for row in df.selectExpr(*columns).collect())
    return sorted(found, key=lambda row: row[_PLACE])


def row_of(row: Row, prefix: str) -> Row:
    """Return a row of a source in its normal form."""
    key, value, topic, *rest = row
    if len(row) > len(_SELECT) and rest[-1] is not None:
        rest[-1] = [(name, _bytes(content)) for name, content in rest[-1]]
    return (_bytes(key), _bytes(value), topic.removeprefix(prefix), *rest)


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def rows(step: Step | Failure) -> list[Row]:
    """Return the rows of a step that must not have failed."""
    assert isinstance(step, Step), step
    return step.rows


def rows_read(found: list[Row] | Failure) -> list[Row]:
    """Return the rows of a batch read that must not have failed."""
    assert not isinstance(found, Failure), found
    return found


def values(rows: Iterable[Row]) -> list[bytes | None]:
    """The values of rows, in their order."""
    return [row[1] for row in rows]


def logged_positions(checkpoint: Path, prefix: str) -> Positions:
    """Return where a query will go on, from its checkpoint: from the offset log, else its initial offsets."""
    log = sorted(int(file.name) for file in checkpoint.glob("offsets/*") if file.name.isdigit())
    file = checkpoint / "offsets" / str(log[-1]) if log else checkpoint / "sources" / "0" / "0"
    if not file.exists():
        return {}
    logged: dict[str, Any] = json.loads(file.read_text().splitlines()[-1])
    return normal_positions(logged, prefix)


def normal_positions(logged: Mapping[str, Any], prefix: str) -> Positions:
    """Return the positions of an offset of either source."""
    by_topic: dict[str, dict[str, int]] = logged.get("positions", logged)
    return {
        topic.removeprefix(prefix): dict(sorted(offsets.items(), key=lambda entry: int(entry[0])))
        for topic, offsets in sorted(by_topic.items())
        if offsets
    }


KINDS: dict[str, tuple[str, ...]] = {
    "the sink": ("error of the sink",),
    "one of subscribe, subscribePattern and assign": (
        r"exactly one of subscribe, subscribePattern and assign must be given",
        r"of the following options (must|can) be specified for Kafka source",
    ),
    "partitions that are not those that are read": (
        r"must name every partition that is read",
        r"names partitions that are not read or do not exist",
        r"don't match what are assigned",
        r"you must specify all TopicPartitions",
        r"should have the same topic-partitions",
    ),
    "no record at or after the timestamp": (
        r"has no record at or after the timestamp",
        r"No offset matched from request",
    ),
    "start after end": (
        r"begins at (offset|the timestamp) \d+, but",
        r"start (offset|timestamp) \d+ is greater than the (resolved )?end (offset|timestamp)",
        r"Beginning offset \d+ is after the ending offset \d+",
    ),
    "malformed timestamp": (
        r"Spark has no such timestamps",
        r"overflows when converting to Spark's microsecond-precision",
    ),
    "data loss": (
        r"core\.errors\.DataLossError",
        r"KAFKA_DATA_LOSS",
        r"Some data may have been (lost|missed)",
        r"in Kafka topic\(s\) (have been lost|report available offset which is less)",
        r"\[KAFKA_(NULL_TOPIC|PARTITIONS|ADDED_PARTITION|DATA|PARTITION_OFFSET|INITIAL)[A-Z_]*\]",
    ),
    "unknown topic or partition": (
        r"core\.errors\.UnknownSplitError",
        r"UnknownTopicOrPartitionException",
    ),
    "nothing came in time": (r"core\.errors\.TransientSourceError", r"TimeoutException"),
}
"""What the messages of either source say, by kind. The first that matches counts."""

_OPTIONS: dict[str, str] = {
    r"core\.errors\.OptionError: \nheadwater: option '([^']+)'": "",
    r"specified value for option '(\w+)'": "",
    r"(?i)(kafka) option '([\w.]+)' is not supported": "",
    r"Option '([\w.]+)' must be specified": "",
    r"(\w+) must be positive": "",
    r"'(kafka\.)?isolation\.level'|for configuration isolation\.level": "kafka.isolation.level",
    r'Expected e\.g\. \{"topicA":\[0,1\]': "assign",
    r'Expected e\.g\. \{"topicA":\{"0":23': "startingOffsets",
    r"No value found for 'GUESS'": "startingOffsetsByTimestampStrategy",
    r'For input string: "(a|1\.0)"': "minPartitions",
    r'For input string: "\d+"|Expected a single long value': "startingTimestamp",
    r"(?i)starting ?offsets?( for .*)? can't be latest": "startingOffsets",
    r"(?i)ending ?offsets?( for .*)? can't be earliest": "endingOffsets",
    r"ending offset not valid in streaming": "endingOffsets",
    r"ending timestamp not valid in streaming": "endingOffsetsByTimestamp",
    r"value of minOffsetPerTrigger\(": "minOffsetsPerTrigger",
}
"""The option that a message is about: what is given here, else what the message names."""


def failure_of(error: BaseException) -> Failure:
    """Return the kind of an error of either source."""
    said = f"{type(error).__module__}.{type(error).__qualname__}: {error} {getattr(error, '_stackTrace', '')}"
    for kind, patterns in KINDS.items():
        if any(re.search(pattern, said) for pattern in patterns):
            return Failure(kind)
    for pattern, option in _OPTIONS.items():
        found = re.search(pattern, said)
        if found:
            return Failure(f"option {option or '.'.join(found.groups())}".lower())
    ours = re.search(r"core\.errors\.\w+:\s+.*", said)
    return Failure(f"unknown: {ours[0] if ours else said[:600]}")
