"""Typed rows through Spark: what the options make of keys and values, in a batch and over restarts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, source_context_pb2
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.functions import from_json

from local_kafka import LocalKafka
from tests.patience import PATIENCE_S
from tests.stream_runs import run_stream

FOREVER = {"retention.ms": "-1"}
Options = Callable[..., dict[str, str]]


@pytest.fixture
def options(kafka: LocalKafka, topic: str) -> Options:
    def made(**more: str) -> dict[str, str]:
        return {
            "source": "kafka",
            "kafka.bootstrap.servers": kafka.bootstrap_servers,
            "subscribe": topic,
            **more,
        }

    return made


def test_a_value_as_text_in_a_batch(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    kafka.produce(topic, [b"a", None, "grüße".encode(), b"\xff"], keys=[b"1", b"2", None, b"4"])
    chosen = options(valueFormat="text", keyFormat="text", columns="value.*,key,offset")
    df = spark.read.format("headwater").options(**chosen).load()
    assert df.schema.simpleString() == "struct<value:string,key:string,offset:bigint>"
    assert [tuple(row) for row in df.orderBy("offset").collect()] == [
        ("a", "1", 0),
        (None, "2", 1),
        ("grüße", None, 2),
        ("�", "4", 3),
    ]


def test_a_given_schema_is_the_whole_frame(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    kafka.produce(topic, [b"a"])
    reader = spark.read.format("headwater").options(**options(valueFormat="text", columns="value,offset"))
    assert [tuple(row) for row in reader.schema("value string, offset long").load().collect()] == [("a", 0)]
    with pytest.raises(Exception, match="fixed schema value string, offset bigint"):
        reader.schema("value binary, offset long").load().collect()


SCHEMA = "id long, amount double, at timestamp, address struct<city string, zip string>"
VALUES = [
    b'{"id": 1, "amount": 2.5, "at": "2024-05-01T12:00:00Z", "address": {"city": "Ulm", "zip": "89073"}}',
    b'{"id": 2, "amount": "much", "at": "2024-05-01T12:00:00+02:00"}',
    b'{"id": 3',
    None,
    b'{"address": {"city": "Bern"}, "id": 4, "more": [1, 2]}',
]


def test_json_is_what_from_json_makes_of_it(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    kafka.produce(topic, VALUES, keys=[b"k"] * len(VALUES))
    bytes_ = spark.read.format("headwater").options(**options()).load()
    parsed = bytes_.select("offset", from_json(bytes_.value.cast("string"), SCHEMA).alias("value"))
    typed = options(valueFormat="json", valueSchema=SCHEMA, columns="offset,value", timeZone="UTC")
    decoded = spark.read.format("headwater").options(**typed).load()
    assert decoded.schema == parsed.schema
    assert decoded.orderBy("offset").collect() == parsed.orderBy("offset").collect()


def test_modes_and_the_column_for_corrupt_values(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    kafka.produce(topic, VALUES, keys=[b"k"] * len(VALUES))

    def offsets(**more: str) -> list[tuple[Any, ...]]:
        typed = options(valueFormat="json", valueSchema="id long, amount double", **more)
        return [
            tuple(row)
            for row in spark.read.format("headwater").options(**typed).load().orderBy("offset").collect()
        ]

    assert offsets(columns="offset,value.*", columnNameOfCorruptRecord="bad") == [
        (0, 1, 2.5, None),
        (1, 2, None, VALUES[1].decode()),  # type: ignore[union-attr]
        (2, None, None, '{"id": 3'),
        (3, None, None, None),
        (4, 4, None, None),
    ]
    assert [row[0] for row in offsets(columns="offset,value", mode="DROPMALFORMED")] == [0, 3, 4]
    what = f"offset 1 of topic '{topic}', partition 0, has \"much\" in the field 'amount'"
    with pytest.raises(Exception, match=what):
        offsets(columns="offset,value", mode="FAILFAST")


def test_keys_and_values_as_columns_structs_and_with_prefixes(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    kafka.produce(topic, [b'{"id": 1}', None, b'{"id": 3}'], keys=[b'{"id": 7}', b'{"id": 8}', None])
    both = {"valueFormat": "json", "valueSchema": "id long", "keyFormat": "json", "keySchema": "id int"}

    def read(**more: str) -> tuple[str, list[tuple[Any, ...]]]:
        frame = spark.read.format("headwater").options(**options(**both, **more)).load()
        return frame.schema.simpleString(), [tuple(row) for row in frame.orderBy("offset").collect()]

    assert read(columns="value.*,key,offset") == (
        "struct<id:bigint,key:struct<id:int>,offset:bigint>",
        [(1, (7,), 0), (None, (8,), 1), (3, None, 2)],
    )
    assert read(columns="key.*,offset,value", keyPrefix="key_") == (
        "struct<key_id:int,offset:bigint,value:struct<id:bigint>>",
        [(7, 0, (1,)), (8, 1, None), (None, 2, (3,))],
    )
    assert read(columns="value.*,offset,key.*", valuePrefix="v_", keyPrefix="k_") == (
        "struct<v_id:bigint,offset:bigint,k_id:int>",
        [(1, 0, 7), (None, 1, 8), (3, 2, None)],
    )


def test_times_without_a_zone_are_in_that_of_the_session_of_its_jvm_or_of_the_option(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    kafka.produce(topic, [b'{"at": "1970-01-01T12:00:00"}'])
    typed = options(valueFormat="json", valueSchema="at timestamp", columns="value.*")

    def hours(session: str, jvm: str = "UTC", **more: str) -> int:
        java: Any = spark._jvm
        zones = java.java.util.TimeZone
        before = zones.getDefault()
        zones.setDefault(zones.getTimeZone(jvm))
        if session:
            spark.conf.set("spark.sql.session.timeZone", session)
        else:
            spark.conf.unset("spark.sql.session.timeZone")
        try:
            frame = spark.read.format("headwater").options(**typed, **more).load()
            return int(frame.selectExpr("unix_seconds(at) div 3600 as hours").collect()[0].hours)
        finally:
            zones.setDefault(before)
            spark.conf.set("spark.sql.session.timeZone", "UTC")

    assert hours("UTC") == 12
    assert hours("Asia/Tokyo") == 3
    assert hours("Asia/Tokyo", timeZone="+02:00") == 10
    assert hours("Asia/Tokyo", jvm="Europe/Paris") == 3
    assert hours("", jvm="Asia/Tokyo") == 3


def test_avro_and_protobuf_by_schemas_in_files(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options, tmp_path: Path
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    avro = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}
    (tmp_path / "r.avsc").write_text(json.dumps(avro))
    files = descriptor_pb2.FileDescriptorSet()
    source_context_pb2.DESCRIPTOR.CopyToProto(files.file.add())
    (tmp_path / "context.desc").write_bytes(files.SerializeToString())
    context = source_context_pb2.SourceContext(file_name="f").SerializeToString()
    kafka.produce(topic, [b"\x0a", b"", None], keys=[context, b"\xff", b""])
    typed = options(
        valueFormat="avro",
        valueAvroSchema=str(tmp_path / "r.avsc"),
        keyFormat="protobuf",
        keyDescriptor=str(tmp_path / "context.desc"),
        keyMessage="SourceContext",
        keyColumnNameOfCorruptRecord="bad_key",
        columns="value.*,key.*,offset",
    )
    frame = spark.read.format("headwater").options(**typed).load()
    assert frame.schema.simpleString() == "struct<id:bigint,file_name:string,bad_key:string,offset:bigint>"
    assert [tuple(row) for row in frame.orderBy("offset").collect()] == [
        (5, "f", None, 0),
        (None, None, "/w==", 1),
        (None, None, None, 2),
    ]


def test_files_of_bad_records_are_the_same_however_the_tasks_are_cut(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options, tmp_path: Path
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    kafka.produce(topic, [b"bad %d" % at if at % 10 == 0 else b'{"id": %d}' % at for at in range(5_000)])
    seen = []
    for tasks in ("1", "3", "4"):
        typed = options(
            valueFormat="json",
            valueSchema="id long",
            columns="value.*",
            badRecordsPath=str(tmp_path / "bad"),
            minPartitions=tasks,
        )
        df = spark.read.format("headwater").options(**typed).load()
        assert df.rdd.getNumPartitions() >= int(tasks)
        assert sorted(row.id for row in df.collect()) == [at for at in range(5_000) if at % 10]
        files = sorted((tmp_path / "bad").rglob("*.jsonl"))
        seen.append({file.name: file.read_bytes() for file in files})
        assert len(list((tmp_path / "bad" / topic / "0").iterdir())) == len(files) == 5
    assert seen[0] == seen[1] == seen[2]
    lines = [json.loads(line) for file in seen[0].values() for line in file.splitlines()]
    assert sorted(line["offset"] for line in lines) == list(range(0, 5_000, 10))


def test_a_restart_goes_on_and_another_schema_stops_it_unless_it_may(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options, tmp_path: Path
) -> None:
    def run(options: dict[str, str]) -> list[tuple[str, int]]:
        value = "value.id" if options.get("valueFormat") == "json" else "value"
        return run_stream(spark, tmp_path, options, value)

    kafka.create_topic(topic, 1, FOREVER)
    kafka.produce(topic, [b"a"])
    assert run(options()) == [("a", 0)]
    kafka.produce(topic, [b"b"])
    text = options(valueFormat="text")
    assert run(text) == [("a", 0), ("b", 1)], "a checkpoint that says nothing of a schema goes on"
    kafka.produce(topic, [b'{"id": 7}'])
    both = options(valueFormat="json", valueSchema="id long")
    with pytest.raises(StreamingQueryException, match="'schemaEvolution'") as stopped:
        run(both)
    assert '{"value":{"fields":"struct<value:string>","format":"text"}}' in str(stopped.value)
    assert '{"value":{"fields":"struct<id:bigint>","format":"json"}}' in str(stopped.value)
    assert run({**both, "schemaEvolution": "true"}) == [("a", 0), ("b", 1), ("7", 2)]
    kafka.produce(topic, [b'{"id": 8}'])
    assert run(both)[-1] == ("8", 3), "the new schema is the one that is logged"


SAMPLE = [b'{"id": 1, "name": "a"}', b'{"id": 2.5, "tags": ["x"]}', b"{", None, b'{"deep": {"x": true}}']
INFERRED = "deep:struct<x:boolean>,id:double,name:string,tags:array<string>"


def test_a_batch_infers_the_fields_of_json_that_nobody_names(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options
) -> None:
    kafka.create_topic(topic, 3, FOREVER)
    for partition in range(3):
        values = SAMPLE[partition::3]
        kafka.produce(topic, values, keys=[b"k"] * len(values), partition=partition)
    df = spark.read.format("headwater").options(**options(valueFormat="json", columns="value.*")).load()
    assert df.schema.simpleString() == f"struct<{INFERRED}>"
    kafka.produce(topic, [b'{"id": 3, "later": 1}'], partition=0)
    assert sorted(row.id for row in df.collect() if row.id) == [1.0, 2.5, 3.0], (
        "the fields stay those of load()"
    )


def test_without_records_nothing_is_inferred(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    with pytest.raises(Exception, match=r"valueSchema.*0 records has no JSON object"):
        spark.read.format("headwater").options(**options(valueFormat="json")).load()


def test_a_stream_is_refused_with_the_schema_that_a_sample_has(
    spark: SparkSession, kafka: LocalKafka, topic: str, options: Options, tmp_path: Path
) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    kafka.produce(topic, SAMPLE, keys=[b"k"] * len(SAMPLE))
    df = spark.readStream.format("headwater").options(**options(valueFormat="json")).load()
    query = df.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    with pytest.raises(StreamingQueryException, match=r"'valueSchema': is required in a stream.*id double"):
        query.awaitTermination(PATIENCE_S)
