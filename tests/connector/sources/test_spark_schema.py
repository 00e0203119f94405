"""What Spark makes of the Arrow types of a source."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructField, StructType

from headwater.connector.compat import arrow_schema
from headwater.connector.sources.spark_schema import spark_schema
from headwater.core.errors import ContractError


def test_every_column_and_all_that_it_holds_may_be_null() -> None:
    number = pa.field("item", pa.int64(), nullable=False)
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("list", pa.list_(number), nullable=False),
            pa.field("map", pa.map_(pa.string(), pa.list_(number))),
            pa.field("struct", pa.struct([pa.field("list", pa.list_(number), nullable=False)])),
        ]
    )
    assert spark_schema(schema, "mine") == StructType(
        [
            StructField("id", LongType()),
            StructField("list", ArrayType(LongType())),
            StructField("map", MapType(StringType(), ArrayType(LongType()))),
            StructField("struct", StructType([StructField("list", ArrayType(LongType()))])),
        ]
    )


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string()])
def test_types_of_arrow_that_are_one_for_spark_are_sent_as_one(kind: pa.DataType) -> None:
    schema = pa.schema([pa.field("name", kind)])
    assert arrow_schema(spark_schema(schema, "mine")) == pa.schema([pa.field("name", pa.string())])


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        (pa.uint64(), "decimal128"),
        (pa.uint8(), "int16"),
        (pa.float16(), "float32"),
        (pa.date64(), "date32"),
        (pa.list_(pa.uint32()), "string"),
        (pa.decimal256(50, 2), "string"),
    ],
)
def test_a_type_that_spark_has_not_is_told_with_its_column_and_another_one(
    kind: pa.DataType, other: str
) -> None:
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("odd", kind)])
    with pytest.raises(ContractError, match=rf"source 'mine': .* column 'odd' of .*such as pa\.{other}"):
        spark_schema(schema, "mine")
