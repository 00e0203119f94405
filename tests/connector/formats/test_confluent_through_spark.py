"""Values of Confluent's own serializers, with a real registry, through Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import type_pb2
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from local_kafka import LocalKafka
from local_registry import LocalRegistry
from tests.stream_runs import run_stream

pytestmark = pytest.mark.heavy("the registry takes 25 s to start, for the first test that needs it")

FOREVER = {"retention.ms": "-1"}
POINT = {"type": "record", "name": "Point", "fields": [{"name": "y", "type": "int"}]}


def record(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields)})


ID = {"name": "id", "type": "int"}
LONG_ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
V1 = record(ID)
V2 = record(NOTE, LONG_ID)
Options = Callable[..., dict[str, str]]


@pytest.fixture
def client(schema_registry: LocalRegistry) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": schema_registry.url}) as client:
        yield client


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Callable[[dict[str, str]], list[tuple[str, int]]]:
    """Read the ids that are new, in one run of a stream; return those of all runs."""
    return partial(run_stream, spark, tmp_path, value="id")


@pytest.fixture
def options(kafka: LocalKafka, schema_registry: LocalRegistry, topic: str) -> Options:
    kafka.create_topic(topic, 1, FOREVER)

    def made(**more: str) -> dict[str, str]:
        return {
            "source": "kafka",
            "kafka.bootstrap.servers": kafka.bootstrap_servers,
            "subscribe": topic,
            "schema.registry.url": schema_registry.url,
            **more,
        }

    return made


def value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def rows(spark: SparkSession, options: dict[str, str]) -> list[tuple[Any, ...]]:
    frame = spark.read.format("headwater").options(**options).load()
    return [tuple(row) for row in frame.orderBy("offset").collect()]


def test_avro_of_two_schemas_and_keys_that_are_strings(
    spark: SparkSession, kafka: LocalKafka, client: SchemaRegistryClient, topic: str, options: Options
) -> None:
    first, second = AvroSerializer(client, V1), AvroSerializer(client, V2)
    key = AvroSerializer(client, '"string"')
    of_key = SerializationContext(topic, MessageField.KEY)
    values = [first({"id": 1}, value(topic)), second({"id": 2, "note": "n"}, value(topic)), b'{"id":3}', None]
    kafka.produce(topic, values, keys=[key(f"k{at}", of_key) for at in range(len(values))])
    chosen = options(
        valueFormat="confluent-avro",
        keyFormat="confluent-avro",
        columns="value.*,key,offset",
        columnNameOfCorruptRecord="bad",
    )
    frame = spark.read.format("headwater").options(**chosen).load()
    assert frame.schema.simpleString() == (
        "struct<note:string,id:bigint,bad:string,key:string,offset:bigint>"
    ), "of the latest version"
    assert rows(spark, chosen) == [
        (None, 1, None, "k0", 0),
        ("n", 2, None, "k1", 1),
        (None, None, "eyJpZCI6M30=", "k2", 2),
        (None, None, None, "k3", 3),
    ]
    of_first = options(valueFormat="confluent-avro", schemaVersion="1", columns="value.*,offset")
    found = spark.read.format("headwater").options(**of_first).load().schema.simpleString()
    assert found == "struct<id:int,offset:bigint>"


def test_avro_with_a_schema_that_refers_to_another_subject(
    spark: SparkSession, kafka: LocalKafka, client: SchemaRegistryClient, topic: str, options: Options
) -> None:
    client.register_schema(f"{topic}-points", Schema(json.dumps(POINT), "AVRO"))
    reference = SchemaReference("Point", f"{topic}-points", 1)
    order = Schema(record(ID, {"name": "p", "type": "Point"}), "AVRO", [reference])
    serializer = AvroSerializer(client, order)
    kafka.produce(topic, [serializer({"id": 1, "p": {"y": 2}}, value(topic))])
    assert rows(spark, options(valueFormat="confluent-avro", columns="value.*,offset")) == [(1, (2,), 0)]


def test_protobuf_by_the_names_of_messages(
    spark: SparkSession, kafka: LocalKafka, client: SchemaRegistryClient, topic: str, options: Options
) -> None:
    settings = {"use.deprecated.format": False}
    enum_value = ProtobufSerializer(type_pb2.EnumValue, client, settings)
    option = ProtobufSerializer(type_pb2.Option, client, settings)
    values = [
        enum_value(type_pb2.EnumValue(name="a", number=5), value(topic)),
        option(type_pb2.Option(name="another message of the same file"), value(topic)),
        enum_value(type_pb2.EnumValue(name="b", options=[type_pb2.Option(name="o")]), value(topic)),
    ]
    kafka.produce(topic, values)
    chosen = options(valueFormat="confluent-protobuf", valueMessage="EnumValue", columns="value.*,offset")
    assert rows(spark, {**chosen, "mode": "DROPMALFORMED"}) == [
        ("a", 5, [], 0),
        ("b", None, [("o", None)], 2),
    ]
    with pytest.raises(Exception, match=r"offset 1 .* is a message of type google\.protobuf\.Option"):
        rows(spark, {**chosen, "mode": "FAILFAST"})


def test_json_behind_an_id_with_fields_of_the_user_and_of_the_registry(
    spark: SparkSession, kafka: LocalKafka, client: SchemaRegistryClient, topic: str, options: Options
) -> None:
    text = json.dumps({"type": "object", "title": "T", "properties": {"id": {"type": "integer"}}})
    serializer = JSONSerializer(text, client)
    kafka.produce(topic, [serializer({"id": 1}, value(topic)), b'{"id":2}', b'\0\0\0\0\1{"id":"x"}'])
    chosen = options(
        valueFormat="confluent-json",
        valueSchema="id long",
        columns="value.*,offset",
        columnNameOfCorruptRecord="bad",
    )
    wanted = [(1, None, 0), (None, '{"id":2}', 1), (None, '{"id":"x"}', 2)]
    assert rows(spark, {name: chosen[name] for name in chosen if name != "schema.registry.url"}) == wanted
    assert rows(spark, {name: chosen[name] for name in chosen if name != "valueSchema"}) == wanted


def test_a_frame_keeps_the_version_of_the_schema_that_it_was_made_of(  # noqa: PLR0917 - fixtures
    spark: SparkSession,
    kafka: LocalKafka,
    client: SchemaRegistryClient,
    topic: str,
    options: Options,
    tmp_path: Path,
) -> None:
    chosen = options(valueFormat="confluent-avro", columns="value.*,offset")
    kafka.produce(topic, [AvroSerializer(client, V1)({"id": 1}, value(topic))])
    frame = spark.read.format("headwater").options(**chosen).load()
    stream = spark.readStream.format("headwater").options(**chosen, startingOffsets="latest").load()
    query = stream.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    running = query.format("memory").queryName("kept").start()
    try:
        running.processAllAvailable()
        # Of a stream without rows so far Spark makes the reader for the tasks now, with the first ones.
        later = AvroSerializer(client, record(NOTE, ID))
        kafka.produce(topic, [later({"id": 2, "note": "n"}, value(topic))])
        running.processAllAvailable()
    finally:
        running.stop()
    assert [tuple(row) for row in spark.table("kept").collect()] == [(2, 1)]
    assert sorted(tuple(row) for row in frame.collect()) == [(1, 0), (2, 1)]
    again = spark.read.format("headwater").options(**chosen).load()
    assert again.columns == ["note", "id", "offset"]


def test_an_id_that_the_registry_does_not_know_is_an_error_of_that_record(
    spark: SparkSession, kafka: LocalKafka, client: SchemaRegistryClient, topic: str, options: Options
) -> None:
    good = AvroSerializer(client, V1)({"id": 1}, value(topic))
    kafka.produce(topic, [good, b"\0\0\0\7\7\2"])
    chosen = options(
        valueFormat="confluent-avro", columns="value.*,offset", **{"schema.registry.deadlineMs": "100"}
    )
    where = f"offset 1 of topic '{topic}', partition 0, cannot be decoded now: the schema of id 1799"
    with pytest.raises(Exception, match=where):
        rows(spark, chosen)


@pytest.mark.long
def test_a_stream_stops_at_a_new_version_of_its_schema_unless_it_may_go_on(
    kafka: LocalKafka,
    client: SchemaRegistryClient,
    topic: str,
    options: Options,
    run: Callable[[dict[str, str]], list[tuple[str, int]]],
) -> None:
    chosen = options(valueFormat="confluent-avro", columns="value.*,offset")
    kafka.produce(topic, [AvroSerializer(client, V1)({"id": 1}, value(topic))])
    assert run(chosen) == [("1", 0)]
    kafka.produce(topic, [AvroSerializer(client, V2)({"id": 2, "note": "n"}, value(topic))])
    with pytest.raises(StreamingQueryException, match="schemaEvolution") as stopped:
        run(chosen)
    assert "struct<id:int>" in str(stopped.value)
    assert "struct<note:string,id:bigint>" in str(stopped.value)
    assert run({**chosen, "schemaEvolution": "true"}) == [("1", 0), ("2", 1)]


def test_subjects_by_record_and_by_topic_and_record(
    spark: SparkSession, kafka: LocalKafka, client: SchemaRegistryClient, topic: str, options: Options
) -> None:
    name = f"com.acme.{topic.replace('-', '_')}"
    schema = json.dumps({"type": "record", "name": name, "fields": [ID]})
    for strategy, how in (
        ("record", record_subject_name_strategy),
        ("topic-record", topic_record_subject_name_strategy),
    ):
        serializer = AvroSerializer(client, schema, conf={"subject.name.strategy": how})
        kafka.produce(topic, [serializer({"id": 1}, value(topic))])
        chosen = options(
            valueFormat="confluent-avro",
            valueSubjectStrategy=strategy,
            valueMessage=name,
            columns="value.*,offset",
        )
        assert rows(spark, chosen)[-1][0] == 1


def test_a_schema_may_be_named_in_a_header_and_a_header_that_names_none_fails_the_query(
    spark: SparkSession, kafka: LocalKafka, client: SchemaRegistryClient, topic: str, options: Options
) -> None:
    plain = AvroSerializer(client, V1)
    first = plain({"id": 1}, value(topic))
    assert first is not None
    in_header = [("trace", b"x"), ("__value_schema_id", first[:5])]
    kafka.produce(topic, [first, first[5:]], headers=[[("trace", b"x")], in_header])
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        chosen = options(valueFormat="confluent-avro", columns="value.*,offset", mode=mode)
        assert rows(spark, chosen) == [(1, 0), (1, 1)]
    # It could be decoded: its bytes look like an id and a value.
    kafka.produce(topic, [first], headers=[[("__value_schema_id", b"\2" + bytes(16))]])
    with pytest.raises(
        PySparkException, match=r"offset 2 of topic .* header '__value_schema_id' that names no"
    ):
        rows(spark, chosen)
