"""`hw.apply_changes` in programs with a session of their own: over Spark Connect, and into Delta tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.delta_tables import delta_settings, needs_delta
from tests.patience import PATIENCE_S

MEMORY = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"
"""Its tables are those of all sessions: over Spark Connect the function of a stream has one of its own."""
COLUMNS_BY_NAME = "USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
"""For the dot in a column's name."""


def applied(conf: dict[str, Any], folder: Path, **job: Any) -> None:
    """Run the program to its end."""
    given = {**job, "conf": conf, "folder": str(folder)}
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("apply_drawn.py")), json.dumps(given)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-6_000:]


@pytest.mark.slow
@pytest.mark.heavy("merges of drawn logs, in the first program over Spark Connect")
def test_over_spark_connect_a_stream_applies_its_batches(
    spark_connect: str, seed: int, tmp_path: Path
) -> None:
    conf = {"spark.sql.catalog.memory": MEMORY}
    place = {"namespace": "memory.shop", "using": ""}
    applied(conf, tmp_path, remote=spark_connect, seed=seed, rounds=1, **place)


@needs_delta
@pytest.mark.slow
@pytest.mark.heavy("a Spark of its own, with Delta")
@pytest.mark.usefixtures("spark_connect_port")
@pytest.mark.parametrize("remote", [None, "local[2]"])
def test_delta_tables_end_as_the_changed_ones(
    spark_conf: dict[str, Any], seed: int, tmp_path: Path, remote: str | None
) -> None:
    conf = spark_conf | delta_settings(spark_conf) | {"spark.databricks.delta.snapshotPartitions": "1"}
    conf["spark.sql.warehouse.dir"] = f"{tmp_path}/tables"
    place = {"namespace": "shop", "using": COLUMNS_BY_NAME}
    applied(conf, tmp_path, remote=remote, seed=seed, rounds=2, **place)
