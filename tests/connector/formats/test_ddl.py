"""Schemas as users write them: what PySpark's own parser makes of the same text, without a JVM."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from headwater.connector.formats.ddl import schema

TEXTS = [
    "id long",
    "ID BIGINT, `a b` string, `tick``ed` int",
    "a byte, b tinyint, c short, d smallint, e int, f integer, g real, h float, i double, j boolean",
    "a decimal, b dec(7), c numeric(38, 18), d binary, e date",
    "a timestamp, b timestamp_ltz, c timestamp_ntz",
    "address struct<city: string, zip string, inner: struct<x:int>>, tags array<array<string>>",
    "m map<string, struct<a:array<int>>>",
    "id long comment 'what it is', n int",
]


@pytest.mark.parametrize("text", TEXTS)
def test_it_means_what_spark_means(text: str, spark: SparkSession) -> None:
    assert schema(text).simpleString() == StructType.fromDDL(text).simpleString()
    assert schema(StructType.fromDDL(text).json()).simpleString() == schema(text).simpleString()
    # What .option("valueSchema", a StructType) passes on.
    assert schema(str(StructType.fromDDL(text))).simpleString() == schema(text).simpleString()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "at least one field"),
        ("id", "ends too early"),
        ("id long,", "ends too early"),
        ("id foo", "'foo' where a type"),
        ("id long name string", "'name' where ','"),
        ("a struct<b:>", "'>' where a type"),
        ("a array<int", "ends too early"),
        ("a decimal(x)", "'x' where a number"),
        ("a-b long", "cannot be read from '-b long'"),
        ("id long not null", "leave NOT NULL out"),
        ("a struct<id long, id int>", "names 'a.id' twice"),
        ("m map<int, int>", "whose keys are no strings"),
        ("a " + "array<" * 70 + "int" + ">" * 70, "more than 64"),
        ('{"type": "struct"}', "is not a schema in Spark's JSON"),
        ("{", "is not a schema in Spark's JSON"),
        ("StructType([StructField('a', LongType(), True)", "is not a StructType as Python shows it"),
        ("StructType([StructField('a', open('x'), True)])", "is not a StructType as Python shows it"),
        ("StructType(__import__('os').listdir('.'))", "is not a StructType as Python shows it"),
    ],
)
def test_what_is_no_schema_is_refused_with_the_place(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        schema(text)


def test_a_type_that_no_format_makes_is_refused_in_json_too() -> None:
    field = {"name": "at", "type": "interval day to second", "nullable": True, "metadata": {}}
    with pytest.raises(ValueError, match="a type that this format does not become: read it as a string"):
        schema(json.dumps({"type": "struct", "fields": [field]}))


def test_a_comment_stays() -> None:
    assert schema("id long comment 'what it is'") == StructType(
        [StructField("id", LongType(), metadata={"comment": "what it is"})]
    )
