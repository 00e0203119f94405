"""Sources of users in Spark, by all ways in; a class of ``__main__`` also over Spark Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
CLASS = "tests.connector.sources.user_source_program:Countdown"
LISTS = "tests.simple_sources:ListsSource"


@pytest.mark.slow
def test_a_class_of_main_is_pickled_by_value_over_spark_connect(spark_connect: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "tests/connector/sources/user_source_program.py", spark_connect]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [list(range(20))] * 2


@pytest.mark.slow
def test_a_class_is_found_by_its_name_and_mistakes_are_told(spark: SparkSession) -> None:
    reader = spark.read.format("headwater").option("source", CLASS)
    assert reader.load().count() == 20
    with pytest.raises(PySparkException, match=r"option 'paralelism'.*did you mean 'parallelism'"):
        reader.option("paralelism", 2).load()
    with pytest.raises(
        PySparkException, match=r"'tests.connector.sources.user_source_program:Nothing' cannot be imported"
    ):
        spark.read.format("headwater").option(
            "source", "tests.connector.sources.user_source_program:Nothing"
        ).load()


@pytest.mark.slow
@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("is_chain", [False, True])
def test_spark_reads_arrow_types_that_it_sends_as_others(
    spark: SparkSession, tmp_path: Path, is_chain: bool, is_stream: bool
) -> None:
    """A list as pyarrow makes it, a time of pandas, a column that is never null: as pages and as rows."""
    own = {"sources": "first,second", "first.source": LISTS, "second.source": LISTS}
    options = {"source": "hybrid", **own} if is_chain else {"source": LISTS}
    if is_stream:
        stream = spark.readStream.format("headwater").options(**options).load()
        to_memory = stream.writeStream.format("memory").queryName("arrow_types").trigger(availableNow=True)
        to_memory.option("checkpointLocation", str(tmp_path)).start().awaitTermination()
        read = spark.table("arrow_types")
    else:
        read = spark.read.format("headwater").options(**options).load()
    found = read.selectExpr("n", "list", "cast(at as long) at", "name").orderBy("n").collect()
    wanted = [(n, [n, n + 1], n, f"name {n}") for n in range(4)]
    assert [tuple(row) for row in found] == [row for row in wanted for _ in range(1 + is_chain)]
    assert all(field.nullable for field in read.schema.fields)
