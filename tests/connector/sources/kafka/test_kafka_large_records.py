"""Records that are large and compressed small.

A producer's limit counts before it compresses, and the broker's afterwards: so the default broker takes them.
"""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.core.errors import SourceError
from local_kafka import LocalKafka
from tests.connector.sources.kafka.kafka_queries import batch
from tests.patience import PATIENCE_S

SIZE = 70_000_000


def produce(kafka: LocalKafka, topic: str, compression: str) -> None:
    kafka.create_topic(topic, configs={"max.message.bytes": "8000000"} if compression == "snappy" else {})
    with kafka.producer(compression, max_request_size=2 * SIZE) as producer:
        producer.send(topic, bytes(SIZE)).get(timeout=PATIENCE_S)


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_a_record_of_70_mb_of_zeros_is_read_unless_the_option_says_no(
    kafka: LocalKafka, topic: str, compression: str
) -> None:
    produce(kafka, topic, compression)
    rows = batch(kafka.bootstrap_servers, subscribe=topic, columns="value")
    assert rows.column("value")[0].as_buffer().size == SIZE
    with pytest.raises(SourceError, match=f"of {compression}, which are more than 1000000 bytes") as caught:
        batch(kafka.bootstrap_servers, subscribe=topic, maxInflatedBatchBytes="1000000")
    assert type(caught.value) is SourceError
    assert "option 'maxInflatedBatchBytes' bounds them" in str(caught.value)
    assert str(caught.value).endswith(f"[source kafka, split {topic}-0, position 0]")


@pytest.mark.long
@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_in_spark(spark: SparkSession, kafka: LocalKafka, topic: str, compression: str) -> None:
    produce(kafka, topic, compression)
    reader = (
        spark.read.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        .option("subscribe", topic)
    )
    (row,) = reader.load().selectExpr("length(value) size").collect()
    assert row.size == SIZE
    with pytest.raises(PySparkException, match=r"SourceError: the record batch at offset 0 has .* bytes of"):
        reader.option("maxInflatedBatchBytes", "1000000").load().collect()
