"""The Arrow schema is, to the letter, what Spark makes of its Kafka schema."""

from __future__ import annotations

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, StringType, StructField, StructType, TimestampType

from readers.kafka.columns import KAFKA_COLUMNS, kafka_schema

SPARK = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField("headers", ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))),
    ]
)


def test_the_schema_is_sparks() -> None:
    assert kafka_schema(KAFKA_COLUMNS).equals(to_arrow_schema(SPARK, timezone="UTC"), check_metadata=True)


def test_columns_come_in_the_order_asked_for() -> None:
    wanted = StructType([SPARK["timestamp"], SPARK["value"], SPARK["headers"]])
    assert kafka_schema(["timestamp", "value", "headers"]).equals(to_arrow_schema(wanted, timezone="UTC"))


def test_a_column_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KeyError, match="colour"):
        kafka_schema(["value", "colour"])
