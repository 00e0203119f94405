"""Offsets of Kafka partitions from one batch to another, as far as their records are still there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import NamedTuple

from headwater.connector.sources.kafka.split_serializer import from_spark
from headwater.core.imports import importing
from headwater.core.jsons import JsonValue
from headwater.tools.commands.checkpoint_folder import CheckpointFolder
from headwater.tools.commands.offset_log import VOID
from headwater.tools.commands.spark_checkpoint import CheckpointError
from headwater.tools.commands.trial.batches import LoggedBatches


class OffsetRange(NamedTuple):
    """Offsets of one partition.

    Attributes:
        start: the first; None: the partition was new in these batches, and began at its earliest record.
        end: the one behind the last.
    """

    topic: str
    partition: int
    start: int | None
    end: int

    def __str__(self) -> str:
        start = "its earliest record" if self.start is None else f"{self.start:,}"
        return f"{self.topic}-{self.partition} from {start} to {self.end:,}"


class PresentRanges(NamedTuple):
    """The rest of ranges.

    Attributes:
        ranges: that can be read; each has a start, and none is empty.
        gone: in words, what is not there any more.
    """

    ranges: tuple[OffsetRange, ...]
    gone: tuple[str, ...]


def logged_ranges(batches: LoggedBatches, source: str) -> tuple[OffsetRange, ...]:
    """Return the ranges that these batches of a source have read; empty ones are left out.

    Raises:
        CheckpointError: where the first batch of the query began is not known.
        FolderError: the checkpoint cannot be read.
    """
    ends = positions_in(batches.last.offsets[source])
    text = VOID if batches.before is None else batches.before.offsets.get(source, VOID)
    starts = _initial(batches.folder, source) if text == VOID else positions_in(text)
    if starts is None:
        raise CheckpointError(
            f"where batch {min(batches.entries)} of source {source} began is not known: let the query commit "
            "another batch, and try again"
        )
    ranges = (OffsetRange(*at, starts.get(at), end) for at, end in sorted(ends.items()))
    return tuple(each for each in ranges if each.start is None or each.start < each.end)


def moved(start: str, stop: str) -> int:
    """Return by how many offsets a source moved between two entries, in partitions that both have."""
    starts = positions_in(start)
    return sum(max(0, end - starts[at]) for at, end in positions_in(stop).items() if at in starts)


def positions_in(logged: str) -> dict[tuple[str, int], int]:
    """Return the positions that Spark's Kafka source logged, by topic and partition."""
    value: JsonValue = None if logged == VOID else json.loads(logged)
    return {(split.topic, split.partition): end for split, end in (from_spark(value) or {}).items()}


def _initial(folder: CheckpointFolder, source: str) -> dict[tuple[str, int], int] | None:
    """Return where the first batch began: Spark's Kafka source keeps that in a file of its own."""
    content = folder.read(f"sources/{source}/0")
    if content is None:
        return None
    # A zero, for Spark before 2.1; then the version, and the offset.
    _, _, logged = content.decode().lstrip("\0").partition("\n")
    try:
        return positions_in(logged)
    except ValueError:
        return None


def present_ranges(ranges: Iterable[OffsetRange], options: Mapping[str, str]) -> PresentRanges:
    """Ask the cluster where its logs begin and end now, and return what can be read of ranges.

    Args:
        ranges: as they were read.
        options: the ``kafka.*`` options of the query.

    Raises:
        HeadwaterError: an option is refused, or the cluster does not answer.
    """
    with importing("the kafka source", extra="kafka", everywhere=False):
        from headwater.enumerators.kafka.client.client_config import ClientConfig
        from headwater.enumerators.kafka.client.cluster import Cluster
        from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, TopicPartition
    wanted_ranges = list(ranges)
    with closing(Cluster(ClientConfig.from_options(options))) as cluster:
        there = cluster.metadata({each.topic for each in wanted_ranges}).topics
        known_partitions = {
            TopicPartition(name, number) for name, topic in there.items() for number in topic.partitions
        }.intersection(TopicPartition(each.topic, each.partition) for each in wanted_ranges)
        # To the end of the log, not to that of the last transaction: a batch may have read more than that.
        starts = cluster.list_offsets(dict.fromkeys(known_partitions, EARLIEST), read_committed=False)
        ends = cluster.list_offsets(dict.fromkeys(known_partitions, LATEST), read_committed=False)
    left = []
    gone = []
    for each in wanted_ranges:
        place = TopicPartition(each.topic, each.partition)
        start, end = starts.get(place), ends.get(place)
        if start is None or end is None:
            gone.append(f"{each}: the cluster has no such partition")
            continue
        rest = each._replace(start=max(start, each.start or start), end=min(end, each.end))
        assert rest.start is not None
        if each.start is not None and rest.start > each.start:
            lost = each._replace(end=min(rest.start, each.end))
            gone.append(f"{lost}: the log begins at {start:,} now")
        if rest.end < each.end:
            lost = each._replace(start=max(rest.end, each.start or 0))
            gone.append(f"{lost}: the log ends at {end:,} now; was the topic created anew?")
        if rest.start < rest.end:
            left.append(rest)
    return PresentRanges(tuple(left), tuple(gone))


def range_options(ranges: Iterable[OffsetRange]) -> dict[str, str]:
    """Return the options with which a batch read reads just these ranges, from either source."""
    partitions: dict[str, list[int]] = {}
    starts: dict[str, dict[str, int | None]] = {}
    ends: dict[str, dict[str, int]] = {}
    for each in ranges:
        partitions.setdefault(each.topic, []).append(each.partition)
        starts.setdefault(each.topic, {})[str(each.partition)] = each.start
        ends.setdefault(each.topic, {})[str(each.partition)] = each.end
    return {
        "assign": json.dumps(partitions),
        "startingOffsets": json.dumps(starts),
        "endingOffsets": json.dumps(ends),
    }
