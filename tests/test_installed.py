"""The installed package beside a user's own files: neither hides the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import DataSource

import pyspark_headwater
from headwater.connector.spark.datasource import HeadwaterDataSource
from headwater.core.errors import InstallationError
from tests.patience import PATIENCE_S

SESSION = """
import json, sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]")
for name, value in json.loads(sys.argv[1]).items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
"""

STREAM = f"""
import connector, core, enumerators, readers
assert {{connector.OWNER, core.OWNER, enumerators.OWNER, readers.OWNER}} == {{"the user"}}
{SESSION}
rows = spark.readStream.format("headwater").option("source", "files").option("format", "text").load("lines")
query = rows.writeStream.format("memory").queryName("rows").option("checkpointLocation", "checkpoint")
query.trigger(availableNow=True).start().awaitTermination()
print(json.dumps([row.value for row in spark.table("rows").collect()]))
"""

SHADOWED = f"""
{SESSION}
other = spark.read.format("other").load().collect()
try:
    spark.read.format("headwater").option("source", "files").option("format", "text").load("lines")
except Exception as error:
    print(json.dumps([[row.number for row in other], str(error)]))
"""

OTHER_VENDOR = """
from pyspark.sql.datasource import DataSource, DataSourceReader

class Reader(DataSourceReader):
    def read(self, partition):
        yield (7,)

class DefaultSource(DataSource):
    @classmethod
    def name(cls):
        return "other"

    def schema(self):
        return "number int"

    def reader(self, schema):
        return Reader()
"""


def test_in_site_packages_there_are_only_the_package_and_the_module_that_spark_looks_for(
    python: Path,
) -> None:
    (packages,) = python.parents[1].glob("lib/python3.*/site-packages")
    found = {entry.name for entry in packages.iterdir()} - {"libraries.pth", "__pycache__"}
    assert {name for name in found if not name.endswith(".dist-info")} == {
        "headwater",
        "pyspark_headwater.py",
    }


@pytest.mark.slow
def test_a_stream_runs_beside_a_users_own_connector_readers_enumerators_and_core(
    python: Path, spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    for package in ("readers", "enumerators"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("OWNER = 'the user'\n")
    for module in ("connector", "core"):
        (tmp_path / f"{module}.py").write_text("OWNER = 'the user'\n")
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "one.txt").write_text("first\nsecond\n")
    assert run(python, STREAM, spark_conf, tmp_path) == ["first", "second"]


@pytest.mark.slow
def test_a_users_own_headwater_takes_no_other_source_away_and_is_named_when_the_format_is_used(
    python: Path, spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "headwater.py").write_text("raise RuntimeError('not for import')\n")
    (tmp_path / "pyspark_other.py").write_text(OTHER_VENDOR)
    numbers, error = run(python, SHADOWED, spark_conf, tmp_path)
    assert numbers == [7]
    assert f"Python finds {tmp_path / 'headwater.py'}: rename that one" in error


def run(python: Path, program: str, conf: dict[str, Any], folder: Path) -> Any:
    """Run a user's script in its folder, and return what it printed last."""
    (folder / "main.py").write_text(program)
    # Spark waits ten seconds for a Python process. On a busy machine only headwater-python is that quick: it
    # stays set, as for all tests. The script's folder and the installed package come first on the path.
    (packages,) = python.parents[1].glob("lib/python3.*/site-packages")
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    command = [str(python), "main.py", json.dumps(conf)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout.splitlines()[-1])


def look_up() -> type[DataSource]:
    """Import the module as Spark's look-up does, anew, and return what it registers."""
    spec = spec_from_file_location("pyspark_headwater_anew", pyspark_headwater.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: type[DataSource] = module.DefaultSource
    return found


@pytest.fixture
def hidden() -> Iterator[None]:
    """As if nothing of headwater had been imported yet."""
    kept = {
        name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "headwater"
    }
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "headwater"]:
        del sys.modules[name]
    sys.modules.update(kept)


def test_spark_finds_the_source_by_itself() -> None:
    assert look_up() is HeadwaterDataSource
    assert HeadwaterDataSource.name() == "headwater"


@pytest.mark.usefixtures("hidden")
def test_another_headwater_is_not_run_and_is_named_when_the_format_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "headwater" / "__init__.py"
    other.parent.mkdir()
    other.write_text("raise SystemExit('must not run')\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = look_up()
    assert found.name() == "headwater"
    with pytest.raises(
        ImportError, match=f"Python finds {other}: rename that one, or start Spark from another"
    ):
        found({})


@pytest.mark.usefixtures("hidden")
def test_no_headwater_at_all_is_told_when_the_format_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ImportError, match="but Python finds none"):
        look_up()({})


@pytest.mark.usefixtures("hidden")
def test_an_installation_that_is_damaged_is_told_with_its_cause_when_the_format_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "headwater.core.errors", None)
    found = look_up()
    assert found.name() == "headwater"
    with pytest.raises(
        ImportError, match=r"cannot be loaded by .*headwater\.core\.errors.*install it anew"
    ) as failure:
        found({})
    assert isinstance(failure.value.__cause__, ImportError)


def test_a_missing_pyarrow_is_told_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InstallationError, match=r"needs pyarrow.*pip install headwater"):
        HeadwaterDataSource({})
