"""Change events of Debezium in Kafka, as JSON and as Avro with a real registry, through Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession

from local_kafka import LocalKafka
from local_registry import LocalRegistry
from tests.readers.formats.change_events import AVRO_ENVELOPE, EVENTS, with_schema

pytestmark = pytest.mark.heavy("the registry takes 25 s to start, for the first test that needs it")

FOREVER = {"retention.ms": "-1"}
SHOWN = ("op", "before.first_name", "after.first_name", "ts_ms", "offset")
KEYS: list[bytes | None] = [b'{"id": 1004}'] * 6
CHANGES = [
    ("r", None, "Anne", 1465581029523, 0),
    ("c", None, "Anne", 1465581029523, 1),
    ("u", "Anne", "Anne Marie", 1465581029523, 2),
    ("d", "Anne Marie", None, 1465581029523, 3),
    ("t", None, None, 1465581029523, 4),
    (None, None, None, None, 5),
]


def changes(spark: SparkSession, kafka: LocalKafka, topic: str, **options: str) -> list[tuple[Any, ...]]:
    given = {
        "source": "kafka",
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "subscribe": topic,
        "columns": "value.*,offset",
        "mode": "FAILFAST",
        **options,
    }
    frame = spark.read.format("headwater").options(**given).load()
    return [tuple(row) for row in frame.select(*SHOWN).orderBy("offset").collect()]


def test_json_with_and_without_a_schema(spark: SparkSession, kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    values = [json.dumps(with_schema(each) if at < 2 else each).encode() for at, each in enumerate(EVENTS)]
    kafka.produce(topic, [*values, None], keys=KEYS)
    schema = "id int, first_name string"
    assert changes(spark, kafka, topic, valueFormat="debezium-json", valueSchema=schema) == CHANGES


def test_avro_with_the_envelope_of_the_registry(
    spark: SparkSession, kafka: LocalKafka, schema_registry: LocalRegistry, topic: str
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    with SchemaRegistryClient({"url": schema_registry.url}) as client:
        serialize = AvroSerializer(client, json.dumps(AVRO_ENVELOPE))
        context = SerializationContext(topic, MessageField.VALUE)
        kafka.produce(topic, [*(serialize(each, context) for each in EVENTS), None], keys=KEYS)
    options = {"valueFormat": "debezium-avro", "schema.registry.url": schema_registry.url}
    assert changes(spark, kafka, topic, **options) == CHANGES
    given = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "subscribe": topic, **options}
    frame = spark.read.format("headwater").options(source="kafka", columns="value.*", **given).load()
    assert frame.columns == ["before", "after", "op", "ts_ms", "source"]
    assert frame.where("op = 'c'").select("source.table", "source.pos").first() == ("customers", 484)


@pytest.mark.parametrize("part", ["key", "value"])
def test_what_is_no_envelope_is_refused_when_the_query_is_made(
    spark: SparkSession, kafka: LocalKafka, schema_registry: LocalRegistry, topic: str, part: str
) -> None:
    plain = json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]})
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "subscribe": topic,
        "schema.registry.url": schema_registry.url,
        f"{part}Format": "debezium-avro",
        f"{part}AvroSchema": plain,
    }
    message = {"key": "the key of a change event is no envelope", "value": "it has no field 'before'"}[part]
    with pytest.raises(Exception, match=message):
        spark.read.format("headwater").options(source="kafka", **options).load()
