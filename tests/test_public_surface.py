"""What users get.

The names of ``headwater``, Spark's automatic registration, and a wheel with nothing else in it.
"""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import headwater
import pyspark_headwater
from headwater.connector.spark.datasource import HeadwaterDataSource

ROOT = Path(__file__).resolve().parent.parent


def test_all_is_sorted_and_each_name_is_there() -> None:
    assert [name for name in headwater.__all__ if not hasattr(headwater, name)] == []
    assert sorted(headwater.__all__) == headwater.__all__


def test_every_public_class_and_function_says_what_it_is() -> None:
    named = {name: getattr(headwater, name) for name in headwater.__all__}
    assert [
        name
        for name, value in named.items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and not value.__doc__
    ] == []


def test_every_error_is_public() -> None:
    errors = [headwater.HeadwaterError]
    for error in errors:
        errors += error.__subclasses__()
    assert {error.__name__ for error in errors if error.__module__.startswith("headwater.core")} <= set(
        headwater.__all__
    )


def test_spark_finds_the_source_by_itself() -> None:
    assert pyspark_headwater.DefaultSource is HeadwaterDataSource
    assert HeadwaterDataSource.name() == "headwater"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from a copy of the project: building leaves folders behind."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "project"
    shutil.copytree(
        ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info")
    )
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=copy, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stdout + done.stderr
    return zipfile.ZipFile(next(folder.glob("headwater-*.whl")))


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    sources = [
        file for file in (ROOT / "headwater").rglob("*") if file.suffix == ".py" or file.name == "py.typed"
    ]
    expected = {str(file.relative_to(ROOT)) for file in sources} | {"pyspark_headwater.py"}
    expected.add(f"headwater-{headwater.__version__}.data/scripts/headwater-python")
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == expected
    assert "headwater/py.typed" in expected


def test_the_wheel_names_its_version_license_and_extras(wheel: zipfile.ZipFile) -> None:
    metadata = wheel.read(
        next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    ).decode()
    assert f"\nVersion: {headwater.__version__}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert set(re.findall(r"^Provides-Extra: (.*)$", metadata, re.MULTILINE)) == {
        "avro",
        "carry-over",
        "kafka",
        "mqtt",
        "s3",
        "test",
    }
