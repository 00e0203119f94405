"""SQL: temporary views read; tables of the catalog are refused with what to write instead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import headwater as hw
from headwater.connector.compat import refuse_no_options, refuse_table
from headwater.errors import OptionError


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    yield "shop"
    spark.sql("DROP TABLE IF EXISTS shop")
    spark.sql("DROP VIEW IF EXISTS shop")


def _slip(spark: SparkSession, statement: str) -> str:
    with pytest.raises(AnalysisException) as caught:
        spark.sql(statement).collect()
    return hw.explain(caught.value)


def test_a_temporary_view_reads_with_its_options(spark: SparkSession, table: str) -> None:
    spark.sql(f"CREATE TEMPORARY VIEW {table} USING headwater OPTIONS (source 'demo', rows 5, splits 2)")
    assert spark.sql(f"SELECT count(*), count(DISTINCT order_id) FROM {table}").first() == (5, 5)
    assert spark.sql(f"SELECT max(quantity) AS most FROM {table} WHERE quantity > 0").columns == ["most"]


def test_create_table_is_refused_and_names_the_view(spark: SparkSession, table: str) -> None:
    said = _slip(spark, f"CREATE TABLE {table} USING headwater OPTIONS (source 'demo', rows 5)")
    assert said.startswith("CREATE TABLE ... USING headwater would make a table that cannot be read")
    assert "CREATE TEMPORARY VIEW" in said
    assert not spark.catalog.tableExists(table)


def test_a_table_with_columns_says_at_its_reading_why_it_has_no_source(
    spark: SparkSession, table: str
) -> None:
    """Spark asks nobody when it makes such a table."""
    options = "source 'demo', rows 5"
    columns = hw.read.demo(spark).schema.toDDL()
    spark.sql(f"CREATE TABLE {table} ({columns}) USING headwater OPTIONS ({options})")
    said = _slip(spark, f"SELECT * FROM {table}")
    assert "no option arrived at all" in said
    assert "CREATE TEMPORARY VIEW" in said
    rows = spark.sql(f"SELECT * FROM {table} WITH (`source` = 'demo', rows = 5)").collect()
    assert len(rows) == 5


def test_writing_is_refused_in_plain_words(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException) as caught:
        spark.range(1).write.format("headwater").option("source", "demo").mode("append").save()
    assert "headwater reads, and writes nothing" in hw.explain(caught.value)


def test_what_the_catalog_adds_is_known_in_any_case() -> None:
    with pytest.raises(OptionError, match="CREATE TABLE"):
        refuse_table({"provider": "headwater", "Owner": "me", "option.source": "demo"}, "headwater")


@pytest.mark.parametrize(
    "options", [{"provider": "x", "owner": "me"}, {"provider": "headwater"}, {"owner": "me"}, {}]
)
def test_options_of_a_source_that_are_called_alike_are_left_alone(options: dict[str, str]) -> None:
    refuse_table(options, "headwater")


def test_no_options_is_told_apart_from_a_missing_one() -> None:
    refuse_no_options({"path": "/x"}, "headwater")
    with pytest.raises(OptionError, match="option 'source': is required, and no option arrived at all"):
        refuse_no_options({}, "headwater")
