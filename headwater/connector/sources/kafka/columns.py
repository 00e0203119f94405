"""The columns of Spark's Kafka source as Spark's types.

`headwater.readers.kafka.columns` has the same as Arrow types. With these a query is analysed without pyarrow
and numpy, which take longer to load than all else that this needs.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

__all__ = ["KAFKA_TYPE"]

KAFKA_TYPE: Final = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField(
            "headers",
            ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
        ),
    ]
)
"""All columns in Spark's order; ``headers`` comes last, and only where it is asked for."""
