"""The Arrow schema is, to the letter, what Spark makes of its Kafka schema."""

from __future__ import annotations

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from headwater.connector.sources.kafka.options import KAFKA_TYPE
from headwater.connector.sources.spark_schema import spark_schema
from headwater.readers.kafka.columns import KAFKA_COLUMNS, kafka_schema


def test_the_schema_is_sparks() -> None:
    assert kafka_schema(KAFKA_COLUMNS).equals(
        to_arrow_schema(KAFKA_TYPE, timezone="UTC"), check_metadata=True
    )
    assert spark_schema(kafka_schema(KAFKA_COLUMNS), "kafka") == KAFKA_TYPE


def test_columns_come_in_the_order_asked_for() -> None:
    wanted = StructType([KAFKA_TYPE["timestamp"], KAFKA_TYPE["value"], KAFKA_TYPE["headers"]])
    assert kafka_schema(["timestamp", "value", "headers"]).equals(to_arrow_schema(wanted, timezone="UTC"))


def test_a_column_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KeyError, match="colour"):
        kafka_schema(["value", "colour"])
