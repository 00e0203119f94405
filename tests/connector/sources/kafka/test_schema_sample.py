"""The fields of JSON that are inferred from a sample."""

from __future__ import annotations

import json
import random

import pytest
from pyspark.sql import SparkSession

from headwater.connector.sources.kafka.schema_sample import inferred_fields


def fields(*texts: str) -> str:
    found = inferred_fields([text.encode() for text in texts])
    return found.simpleString().removeprefix("struct<").removesuffix(">")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (['{"b":1,"a":"x"}'], "a:string,b:bigint"),
        (['{"a":1}', '{"a":2.5}', '{"a":null}'], "a:double"),
        (['{"a":1}', '{"a":true}'], "a:string"),
        (['{"a":""}', '{"a":1}'], "a:bigint"),
        (['{"a":99999999999999999999999}', '{"a":1}'], "a:decimal(23,0)"),
        (['{"a":9223372036854775808}', '{"a":1}'], "a:decimal(20,0)"),
        (['{"a":99999999999999999999999}', '{"a":0.5}'], "a:double"),
        (['{"a":[]}', '{"a":[1,2.5]}'], "a:array<double>"),
        (['{"a":[{"x":1},{"y":"z"}]}'], "a:array<struct<x:bigint,y:string>>"),
        (['{"a":{"x":1}}', '{"a":{"y":[null]}}'], "a:struct<x:bigint,y:array<string>>"),
        (['{"a":{},"b":null,"c":1}'], "b:string,c:bigint"),
        (["{'a':1}", "[1]", "{", "", "7"], "a:bigint"),
        ([], ""),
    ],
)
def test_a_field_has_the_type_that_holds_all_its_values(texts: list[str], expected: str) -> None:
    assert fields(*texts) == expected


def test_fields_are_those_that_spark_infers(spark: SparkSession, rng: random.Random) -> None:
    for _ in range(12):
        texts = [json.dumps(random_object(rng, 0), ensure_ascii=False) for _ in range(rng.randrange(1, 8))]
        lines = spark.createDataFrame([(text,) for text in texts], "value string").coalesce(1)
        theirs = spark.read.json(lines.select("value")).schema.simpleString()
        ours = inferred_fields([text.encode() for text in texts]).simpleString()
        assert ours == theirs, texts


def random_object(rng: random.Random, depth: int) -> dict[str, object]:
    return {name: random_value(rng, depth + 1) for name in rng.sample("abcé", rng.randrange(4))}


def random_value(rng: random.Random, depth: int) -> object:
    chance = rng.random()
    if depth < 4 and chance < 0.2:
        return random_object(rng, depth)
    if depth < 4 and chance < 0.4:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(3))]
    return rng.choice([None, "", "x", "2024-01-01", True, 1, -(2**62), 2**63, 10**30, 10**40, 1.5, 1e300])
