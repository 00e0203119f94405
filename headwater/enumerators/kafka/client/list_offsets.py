"""ListOffsets: where partitions begin and end, and where a time begins in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from kafka.protocol.consumer import ListOffsetsRequest

from headwater.enumerators.kafka.client.topic_partition import TopicPartition

__all__ = ["Found", "list_offsets_request", "read_offsets"]

_NONE = -1
_WITH_TIMESTAMPS = 1
_WITH_ISOLATION = 2


class Found(NamedTuple):
    """One partition's answer.

    An error code that is not 0, or an offset, or None where no record is at or after the timestamp.
    """

    partition: TopicPartition
    error_code: int
    offset: int | None


def list_offsets_request(
    specs: Mapping[TopicPartition, int],
    epochs: Mapping[TopicPartition, int],
    *,
    read_committed: bool,
    timeout_ms: int,
) -> Any:
    """Return the request for partitions that one broker leads.

    Args:
        specs: `EARLIEST`, `LATEST` or a timestamp in milliseconds since 1970.
        epochs: of the leaders, so that a broker that leads no more says so (KIP-320).
        read_committed: whether `LATEST` is the last stable offset.
        timeout_ms: how long the broker may look into tiered storage.
    """
    topic_type = ListOffsetsRequest.ListOffsetsTopic
    partition_type = topic_type.ListOffsetsPartition
    topics = [
        topic_type(
            name=topic,
            partitions=[
                partition_type(
                    partition_index=tp.partition, current_leader_epoch=epochs[tp], timestamp=specs[tp]
                )
                for tp in tps
            ],
        )
        for topic, tps in groupby(sorted(specs), key=lambda tp: tp.topic)
    ]
    return ListOffsetsRequest(
        isolation_level=int(read_committed),
        topics=topics,
        timeout_ms=timeout_ms,
        min_version=_WITH_ISOLATION if read_committed else _WITH_TIMESTAMPS,
    )


def read_offsets(response: Any) -> Iterator[Found]:
    """Yield the answer for each partition of a response."""
    for topic in response.topics:
        yield from _read_topic(topic.name, topic.partitions)


def _read_topic(name: str, partitions: Iterable[Any]) -> Iterator[Found]:
    for partition in partitions:
        offset = None if partition.offset == _NONE else partition.offset
        yield Found(TopicPartition(name, partition.partition_index), partition.error_code, offset)
