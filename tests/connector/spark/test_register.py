"""`hw.register`: formats for one session; and headwater where it is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headwater as hw
from tests.installing import Distributions, bare_python
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
import headwater as hw
hw.register(spark)
print("from", hw.__file__)
rows = spark.read.format("headwater").option("source", "demo").option("rows", "12").load()
print("batch", rows.count())
stream = spark.readStream.format("headwater").option("source", "demo").option("rows", "12").load()
query = stream.writeStream.format("memory").queryName("q").trigger(availableNow=True).start()
query.awaitTermination()
print("stream", spark.table("q").count())
"""


def test_without_a_source_headwater_itself_is_registered(spark: SparkSession) -> None:
    hw.register(spark)
    rows = spark.read.format("headwater").option("source", "demo").option("rows", "3").load()
    assert rows.count() == 3


@pytest.mark.long
def test_a_zip_beside_the_program_is_enough(distributions: Distributions, tmp_path: Path) -> None:
    python = bare_python(tmp_path / "bare")
    shutil.copy(distributions.wheel, tmp_path / "headwater.zip")
    (tmp_path / "program.py").write_text(PROGRAM)
    submit = Path(sys.executable).with_name("spark-submit")
    conf = ["--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=ERROR"]
    done = subprocess.run(
        [submit, "--master", "local-cluster[1,1,1024]", *conf, "--py-files", "headwater.zip", "program.py"],
        cwd=tmp_path,
        env={
            **{name: value for name, value in os.environ.items() if name != "PYSPARK_DRIVER_PYTHON"},
            "PYSPARK_PYTHON": str(python),
            "PYTHONPATH": str(tmp_path / "headwater.zip"),
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4_000:]
    said = [line for line in done.stdout.splitlines() if line.startswith(("from", "batch", "stream"))]
    assert said == [f"from {tmp_path}/headwater.zip/headwater/__init__.py", "batch 12", "stream 12"]
