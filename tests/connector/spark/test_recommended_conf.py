"""The settings that make headwater faster, and the Python that Spark's processes start with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import headwater as hw
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
ZIP, PY4J = "python/lib/pyspark.zip", "python/lib/py4j-0.10.9.9-src.zip"

PROGRAM = """
import os
import headwater as hw
import pyarrow as pa
from pyspark.sql import SparkSession

class Where(hw.SimpleSource):
    name = "where"
    def discover(self):
        import pyspark
        return [hw.NamedSplit("only", pyspark.__file__ + " " + os.environ["HEADWATER_PARALLELISM"])]
    schema = pa.schema([("planned", pa.string()), ("read", pa.string())])
    def read(self, split, position):
        import pyspark
        if position == 0:
            yield hw.Page([(split.info, pyspark.__file__)], 1)

os.environ.update(hw.recommended_environment(parallelism=48))
builder = SparkSession.builder.master("local[1]")
for name, value in hw.recommended_conf().items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
hw.register(spark, Where)
print(*spark.read.format("where").load().first())
"""


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment of Python with ``headwater-python`` in it; its Python tells what path it was given."""
    scripts = tmp_path / "environment" / "bin"
    scripts.mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "headwater-python", scripts)
    (scripts / "python3").write_text(
        '#!/bin/sh\necho "$PYTHONPATH"\nfor argument; do echo "$argument"; done\n'
    )
    (scripts / "python3").chmod(0o755)
    return tmp_path / "environment"


def unpacked(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    return folder


def said(prefix: Path, path: str | None, *arguments: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": path or ""}
    if path is None:
        del environment["PYTHONPATH"]
    done = subprocess.run(
        [prefix / "bin" / "headwater-python", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_a_pyspark_that_pip_installed_is_taken_from_its_folder(prefix: Path) -> None:
    home = unpacked(prefix / "lib" / "site-packages" / "pyspark")
    spark = f"{home}/{ZIP}:{home}/{PY4J}:{home}/jars/spark-core_2.13-4.2.0.jar"
    assert said(prefix, f"{spark}:{spark}:/of the user:/more.jar", "-m", "a b") == [
        "/of the user:/more.jar",
        "-m",
        "a b",
    ]


def test_it_is_found_behind_links_too(prefix: Path, tmp_path: Path) -> None:
    home = unpacked(prefix / "lib" / "site-packages" / "pyspark")
    (tmp_path / "spark").symlink_to(home)
    assert said(prefix, f"{tmp_path}/spark/{ZIP}:/x") == ["/x"]


def test_the_pyspark_of_a_distribution_is_taken_from_its_folder(prefix: Path, tmp_path: Path) -> None:
    home = tmp_path / "opt" / "spark"
    unpacked(home / "python" / "pyspark")
    assert said(prefix, f"{home}/{ZIP}:{home}/{PY4J}:/x") == [f"{home}/python:{home}/{PY4J}:/x"]


def test_a_pyspark_of_another_python_stays_in_its_zip(prefix: Path, tmp_path: Path) -> None:
    home = unpacked(tmp_path / "another" / "site-packages" / "pyspark")
    path = f"{home}/{ZIP}:{home}/{PY4J}"
    assert said(prefix, path) == [path]


@pytest.mark.parametrize(
    "path", ["pyspark.zip:py4j.zip", "/nowhere/python/lib/pyspark.zip:/x", "/x", "", None]
)
def test_any_other_path_stays_as_it_is(path: str | None, prefix: Path) -> None:
    assert said(prefix, path) == [path or ""]


def test_the_recommended_environment_names_a_python_that_is_there() -> None:
    environment = hw.recommended_environment()
    assert set(environment) == {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"}
    (python,) = set(environment.values())
    done = subprocess.run(
        [python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == sys.prefix


def test_without_an_installation_there_is_no_recommended_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    assert hw.recommended_environment() == {}
    assert hw.recommended_environment(parallelism=48) == {"HEADWATER_PARALLELISM": "48"}


@pytest.mark.slow
def test_with_the_recommended_settings_spark_compiles_no_pyspark_and_sources_know_the_parallelism(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert not done.returncode, done.stderr
    planned, parallelism, read = done.stdout.split()
    assert (planned, parallelism) == (read, "48")
    assert ".zip" not in read
