"""A package that is installed offers its source by name.

To the driver, and to executors that are processes of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headwater.tools.commands.new_source import new_source
from tests.patience import PATIENCE_S

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession

conf, folder = json.loads(sys.argv[1]), sys.argv[2]
builder = SparkSession.builder.master("local-cluster[1,1,1024]")
for name, value in conf.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
reader = spark.read.format("headwater").option("source", "plugged-lines")
rows = reader.option("folder", folder).load().collect()
print(json.dumps(sorted([row.file, row.line] for row in rows)))
spark.stop()
"""


@pytest.mark.slow
def test_an_installed_source_is_found_by_its_name_on_driver_and_executors(
    spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    project = new_source("plugged-lines", tmp_path)
    installed = tmp_path / "installed"
    lines = tmp_path / "lines"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        str(installed),
        str(project),
    ]
    subprocess.run(pip, check=True, timeout=PATIENCE_S)
    lines.mkdir()
    for name, count in (("one", 5), ("two", 1)):
        (lines / f"{name}.txt").write_text("".join(f"{name} {number}\n" for number in range(count)))
    path = os.pathsep.join([str(installed), os.environ["PYTHONPATH"]])
    # No setting of headwater's is needed.
    plain = dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
    environment = {**os.environ, **plain, "PYTHONPATH": path}
    command = [sys.executable, "-c", PROGRAM, json.dumps(spark_conf), str(lines)]
    done = subprocess.run(
        command, cwd=lines, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    expected = [["one.txt", f"one {number}"] for number in range(5)] + [["two.txt", "two 0"]]
    assert json.loads(done.stdout.splitlines()[-1]) == expected
