"""``hw.read`` and ``hw.read_stream`` in real Spark: the same frame as the options would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headwater as hw


def test_a_typed_batch_read_has_the_rows_of_the_options(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1;x\n2;\n")
    typed = hw.read.files(spark, format="csv", path=[str(tmp_path)], sep=";", infer_schema=True)
    options = {"source": "files", "format": "csv", "sep": ";", "inferSchema": "true"}
    plain = spark.read.format("headwater").options(**options).load(str(tmp_path))
    assert typed.schema == plain.schema
    assert sorted(typed.collect()) == sorted(plain.collect()) == [(1, "x"), (2, None)]


def test_a_typed_stream_takes_options_of_streams(spark: SparkSession) -> None:
    frame = hw.read_stream.demo(spark, rows=10, max_rows_per_trigger=5)
    assert frame.isStreaming


def test_a_given_schema_is_the_frames(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 5}\n')
    frame = hw.read.files(spark, format="json", path=[str(tmp_path)], schema="id long, more string")
    assert [tuple(row) for row in frame.collect()] == [(5, None)]


def test_a_slip_in_a_type_is_told_before_spark_is_asked(spark: SparkSession) -> None:
    with pytest.raises(hw.errors.OptionError, match="option 'fail_on_data_loss': must be True or False"):
        hw.read.kafka(spark, servers="a:1", topics="a", fail_on_data_loss="no")  # type: ignore[arg-type]


def test_a_slip_in_properties_names_the_property(spark: SparkSession) -> None:
    properties: Any = {"fetch.max.bytes": 5}
    with pytest.raises(hw.errors.OptionError, match="must be a text, not 5") as caught:
        hw.read.kafka(spark, servers="localhost:1", topics="a", properties=properties)
    assert caught.value.option == "properties.fetch.max.bytes"
