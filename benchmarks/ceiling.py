"""The ceiling: what is left when nothing is decoded.

A data source that plans the same tasks as headwater, fetches the same bytes over the same kind of connection,
throws them away, and hands Spark a batch that was made once, as many rows of it as the bytes held. A source
that is written in Python can hardly be faster. Where the bytes are compressed there is a second one, which
decompresses them as well: no source can do without that.
"""

from __future__ import annotations

import gc
import uuid
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from itertools import chain
from typing import Any, cast

import pyarrow as pa
from kafka.protocol.consumer.fetch import FetchRequest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from headwater.connector.compat import arrow_schema
from headwater.connector.sources.kafka.source import KafkaSource
from headwater.connector.spark.batch_reader import BatchReader
from headwater.connector.spark.datasource import HeadwaterDataSource
from headwater.core.clock import SystemClock
from headwater.core.emitter import SplitState
from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.client.metadata import Broker
from headwater.enumerators.kafka.split import KafkaPartitionSplit, OpenRange
from headwater.readers.kafka.chunks import chunks
from headwater.readers.kafka.leaders import Leaders
from headwater.readers.kafka.record_set import RecordSet, as_bytes, next_offset
from headwater.readers.kafka.settings import KafkaReadSettings
from headwater.readers.kernels.arenas import PROCESS_POOL, Scratch

__all__ = ["CeilingDataSource", "InflatingCeilingDataSource"]

_MOST_ROWS = 1 << 16
Range = SplitRange[KafkaPartitionSplit, int]


class CeilingDataSource(HeadwaterDataSource):
    """``format("headwater-ceiling")``; batches only. Takes headwater's options."""

    @classmethod
    def name(cls) -> str:
        return "headwater-ceiling"

    def reader(self, schema: StructType) -> CeilingReader:
        return CeilingReader(self._bind(Boundedness.BOUNDED, schema), arrow_schema(schema))


class InflatingCeilingDataSource(HeadwaterDataSource):
    """``format("headwater-ceiling-inflating")``; batches only. Takes headwater's options."""

    @classmethod
    def name(cls) -> str:
        return "headwater-ceiling-inflating"

    def reader(self, schema: StructType) -> InflatingCeilingReader:
        return InflatingCeilingReader(self._bind(Boundedness.BOUNDED, schema), arrow_schema(schema))


class CeilingReader(BatchReader):
    """Plans as headwater does, and reads nothing that it fetches."""

    inflates = False

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        source = cast("KafkaSource", self._configured.source)
        ranges = partition.value.ranges if partition.value else ()
        with closing(Leaders(source.lookup.client, SystemClock())) as leaders:
            leaders.locate([piece.split for piece in ranges])
            for piece in leaders.bind(cast("list[OpenRange]", ranges)):
                yield from _hand_over(source, piece, inflates=self.inflates)


class InflatingCeilingReader(CeilingReader):
    """Decompresses what it fetches, and does not look at it."""

    inflates = True


def _hand_over(source: KafkaSource, piece: Range, *, inflates: bool) -> Iterator[pa.RecordBatch]:
    """Fetch a range, the next request always on its way, and yield as many rows as came."""
    config = source.lookup.client
    position = piece.start
    scratch = Scratch(PROCESS_POOL)
    with closing(BrokerConnection(_leader(config, piece.split).address, config)) as connection:
        connection.send(_request(config, piece.split, position))
        while position < piece.stop:
            fetched = RecordSet(connection.receive().decode_views().responses[0].partitions[0].records)
            made = _prebuilt(source, piece.split, position, fetched)
            following = min(next_offset(fetched, piece.split.split_id) or position, piece.stop)
            rows = following - position
            position = following
            if position < piece.stop:
                connection.send(_request(config, piece.split, position))
            if inflates:
                _inflate(fetched, scratch, piece.split)
            yield from (made.slice(0, min(rows - begin, _MOST_ROWS)) for begin in range(0, rows, _MOST_ROWS))


def _inflate(fetched: RecordSet, scratch: Scratch, split: KafkaPartitionSplit) -> None:
    """Decompress a record set in the chunks in which headwater does."""
    batches = fetched.batches(split.split_id)
    for _ in chunks(
        as_bytes(fetched.data), batches, scratch, split.split_id, KafkaReadSettings().most_inflated_bytes
    ):
        pass


def _request(config: ClientConfig, split: KafkaPartitionSplit, position: int) -> FetchRequest:
    topic = FetchRequest.FetchTopic
    wanted = topic.FetchPartition(
        partition=split.partition,
        current_leader_epoch=-1,
        fetch_offset=position,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=config.max_partition_fetch_bytes,
    )
    return FetchRequest(
        max_wait_ms=config.fetch_max_wait_ms,
        min_bytes=1,
        max_bytes=config.fetch_max_bytes,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        rack_id="",
        topics=[topic(topic=split.topic, topic_id=uuid.UUID(split.topic_id), partitions=[wanted])],
        forgotten_topics_data=[],
    )


@cache
def _leader(config: ClientConfig, split: KafkaPartitionSplit) -> Broker:
    with closing(Cluster(config)) as cluster:
        metadata = cluster.metadata([split.topic])
    return metadata.brokers[metadata.topics[split.topic].partitions[split.partition].leader]


_made: dict[tuple[Any, ...], pa.RecordBatch] = {}


def _prebuilt(
    source: KafkaSource, split: KafkaPartitionSplit, position: int, fetched: RecordSet
) -> pa.RecordBatch:
    """Return the batch of this process: real rows, decoded from what it fetched first, repeated."""
    key = (split.topic, source.columns)
    if key not in _made:
        emitter = source.create_emitter()
        state = SplitState(SplitRange(split, position, position + _MOST_ROWS))
        rows = pa.Table.from_batches(chain(emitter.emit(fetched, state), emitter.flush()))
        repeated = pa.concat_tables([rows] * -(-_MOST_ROWS // rows.num_rows))
        _made[key] = repeated.combine_chunks().to_batches()[0].slice(0, _MOST_ROWS)
        # Spark's Python daemon collects garbage after every task, and would look at all that was imported
        # every time.
        gc.freeze()
    return _made[key]
