"""Values of AWS Glue's serializers, with a registry of moto, through Kafka and Spark."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aws_schema_registry import DataAndSchema
from aws_schema_registry.adapter.kafka import KafkaSerializer
from aws_schema_registry.avro import AvroSchema
from aws_schema_registry.codec import decode, encode
from aws_schema_registry.jsonschema import JsonSchema
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from local_kafka import LocalKafka
from tests.connector.sources.kafka.kafka_queries import configure
from tests.glue_server import GlueServer
from tests.stream_runs import run_stream

# The library calls `Logger.warn` where another version of a schema is registered.
pytestmark = pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning")

KEYS = "names-of-orders"
FOREVER = {"retention.ms": "-1"}
ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
OF_JSON = {"type": "object", "properties": {"id": {"type": "integer"}}}
Options = Callable[..., dict[str, str]]
Produce = Callable[..., None]
Serialize = Callable[..., bytes]


def record(*fields: dict[str, Any]) -> AvroSchema:
    return AvroSchema(json.dumps({"type": "record", "name": "Order", "fields": list(fields)}))


V1 = record(ID)
V2 = record(NOTE, ID)


@pytest.fixture(scope="module")
def server() -> Iterator[GlueServer]:
    with GlueServer() as server:
        yield server


@pytest.fixture
def serialize(server: GlueServer, topic: str) -> Serialize:
    """Write as AWS's library for Java does, by the name of the topic; or compressed, as it can."""

    def written(data: Any, schema: Any, *, packed: bool = False, name: str = topic) -> bytes:
        of_name = KafkaSerializer(server.client, schema_naming_strategy=lambda *_: name)
        value: bytes = of_name.serialize(topic, DataAndSchema(data, schema))
        return encode(*decode(value), compression=True) if packed else value

    return written


@pytest.fixture
def options(kafka: LocalKafka, server: GlueServer, topic: str) -> Options:
    kafka.create_topic(topic, 1, FOREVER)

    def made(**more: str) -> dict[str, str]:
        return {
            "source": "kafka",
            "kafka.bootstrap.servers": kafka.bootstrap_servers,
            "subscribe": topic,
            **server.options,
            **more,
        }

    return made


@pytest.fixture
def produce(kafka: LocalKafka, topic: str) -> Produce:
    def produce_all(*values: Any, **more: Any) -> None:
        kafka.produce(topic, *values, **more)

    return produce_all


def rows(spark: SparkSession, options: dict[str, str]) -> list[tuple[Any, ...]]:
    frame = spark.read.format("headwater").options(**options).load()
    return [tuple(row) for row in frame.orderBy("offset").collect()]


def test_avro_of_two_versions_compressed_or_not_and_keys(
    spark: SparkSession, produce: Produce, serialize: Serialize, options: Options, tmp_path: Path
) -> None:
    values = [
        serialize({"id": 1}, V1),
        serialize({"id": 2, "note": "n"}, V2, packed=True),
        b'{"id":3}',
        None,
        serialize({"id": 4, "note": None}, V2),
    ]
    keys = [serialize(f"k{at}", AvroSchema('"string"'), name=KEYS) for at in range(len(values))]
    produce(values, keys=keys)
    chosen = options(
        valueFormat="glue-avro",
        keyFormat="glue-avro",
        keySubject=KEYS,
        columns="value.*,key,offset",
        columnNameOfCorruptRecord="bad",
    )
    frame = spark.read.format("headwater").options(**chosen).load()
    assert frame.schema.simpleString() == (
        "struct<note:string,id:bigint,bad:string,key:string,offset:bigint>"
    ), "of the latest version of the schema that is named as the topic"
    assert rows(spark, chosen) == [
        (None, 1, None, "k0", 0),
        ("n", 2, None, "k1", 1),
        (None, None, base64.b64encode(b'{"id":3}').decode(), "k2", 2),
        (None, None, None, "k3", 3),
        (None, 4, None, "k4", 4),
    ]
    struct = options(valueFormat="glue-avro", schemaVersion="1", columns="value,offset", mode="DROPMALFORMED")
    assert rows(spark, struct) == [((1,), 0), ((2,), 1), (None, 3), ((4,), 4)]
    with pytest.raises(PySparkException, match=r"offset 2 of topic .* Glue's wire format"):
        rows(spark, {**struct, "mode": "FAILFAST"})
    rows(spark, {**struct, "badRecordsPath": str(tmp_path)})
    [line] = [json.loads(file.read_text()) for file in tmp_path.rglob("*.jsonl")]
    assert (line["offset"], line["value"]) == (2, '{"id":3}')
    assert "Glue's wire format" in line["reason"]


def test_a_stream_goes_on_with_values_of_a_version_that_is_registered_later(
    spark: SparkSession, produce: Produce, serialize: Serialize, options: Options, tmp_path: Path
) -> None:
    run = partial(run_stream, spark, tmp_path, value="id")
    produce([serialize({"id": 1}, V1)])
    chosen = options(valueFormat="glue-avro", schemaVersion="1", columns="value.*,offset")
    assert run(chosen) == [("1", 0)]
    produce([serialize({"id": 2, "note": "n"}, V2, packed=True), serialize({"id": 3}, V1)])
    assert run(chosen) == [("1", 0), ("2", 1), ("3", 2)]


def test_json_with_fields_of_the_registry_or_of_the_user(
    spark: SparkSession, produce: Produce, serialize: Serialize, options: Options
) -> None:
    schema = JsonSchema(OF_JSON)
    produce([serialize({"id": 1}, schema), serialize({"id": 2}, schema, packed=True)])
    assert rows(spark, options(valueFormat="glue-json", columns="value.*,offset")) == [(1, 0), (2, 1)]
    own = {
        name: value
        for name, value in options(
            valueFormat="glue-json", valueSchema="id string", columns="value.*,offset"
        ).items()
        if not name.startswith("glue.")
    }
    assert rows(spark, own) == [("1", 0), ("2", 1)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"valueSubjectStrategy": "record"}, "'valueSubjectStrategy': has no meaning for the format"),
        (
            {"schema.registry.url": "http://x"},
            "'schema.registry.url': requires a format that asks a registry",
        ),
        ({"valueFormat": "confluent-avro"}, "'glue.registryName': requires a format that asks AWS Glue's"),
        (
            {"valueAvroSchema": "int", "valueSubject": "x"},
            "'valueSubject': excludes option 'valueAvroSchema'",
        ),
        ({"valueFormat": "glue-json"}, "'valueFormat': the schema in the registry is of the kind AVRO"),
        (
            {"subscribe": "", "subscribePattern": "a.*"},
            "'valueSubject': is required where a pattern finds the topics: it names the schema",
        ),
        (
            {"subscribe": "topic-1,other"},
            r"'valueSubject': is required: the schemas of the subjects .* differ.*version latest",
        ),
    ],
)
def test_options_that_contradict_are_refused_by_name(
    server: GlueServer, given: dict[str, str], words: str
) -> None:
    for name, text in (("topic-1", '"int"'), ("other", '"long"')):
        server.client.get_or_register_schema_version(text, name, "AVRO", "NONE")
    required = {
        "kafka.bootstrap.servers": "localhost:1",
        "subscribe": "topic-1",
        "valueFormat": "glue-avro",
        "columns": "value.*",
    }
    chosen = {name: value for name, value in (required | server.options | given).items() if value}
    if given.get("valueFormat") == "confluent-avro":
        chosen["schema.registry.url"] = "http://x"
    with pytest.raises(OptionError, match=words):
        configure(chosen, Boundedness.BOUNDED)
