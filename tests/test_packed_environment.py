"""The recipe of docs/clusters.md for a packed environment: as it stands there, on executors of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installing import Distributions
from tests.patience import PATIENCE_S

PAGE = Path(__file__).resolve().parent.parent / "docs" / "clusters.md"
PROGRAM = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
demo = {"source": "demo", "rows": "12"}
print("batch", spark.read.format("headwater").options(**demo).load().count())
stream = spark.readStream.format("headwater").options(**demo).load()
stream.writeStream.format("memory").queryName("q").trigger(availableNow=True).start().awaitTermination()
print("stream", spark.table("q").count())

def python(rows):
    import sys, headwater
    yield sys.executable
    yield headwater.__file__

for path in spark.sparkContext.parallelize([1], 1).mapPartitions(python).collect():
    print("executor", path)
"""


@pytest.mark.long
def test_a_packed_environment_is_unpacked_and_used_by_every_executor(
    distributions: Distributions, tmp_path: Path
) -> None:
    """Libraries come from the package index, as for whoever follows the recipe."""
    section = PAGE.read_text().partition("## A packed environment")[2]
    found = re.search(r"```bash\n(.*?)```", section, re.DOTALL)
    assert found
    master = "--master 'local-cluster[1,1,1024]' --conf spark.ui.enabled=false --conf spark.log.level=ERROR"
    recipe = (
        found[1]
        .replace("/path/to/headwater-0.1.0-py3-none-any.whl", str(distributions.wheel))
        .replace("spark-submit ", f"spark-submit {master} ")
    )
    assert str(distributions.wheel) in recipe
    assert master in recipe
    (tmp_path / "program.py").write_text(PROGRAM)
    ours = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    path = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    done = subprocess.run(
        ["bash", "-euc", recipe],
        cwd=tmp_path,
        env={**environment, "PATH": path},
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    said = [
        line.split() for line in done.stdout.splitlines() if line.startswith(("batch", "stream", "executor"))
    ]
    assert said[:2] == [["batch", "12"], ["stream", "12"]]
    # Where Spark unpacked it, in the folder of the executor, and not the folder from which it was packed.
    for _, where in said[2:]:
        assert re.search(r"/app-[\d-]+/\d+/job/", where), said
    assert len(said) == 4
    # Over a gigabyte, which pytest would keep for days.
    shutil.rmtree(tmp_path / "job")
    (tmp_path / "job.tar.gz").unlink()
