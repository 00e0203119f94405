"""Which Python Spark starts, and the warning where it is not the one of the program."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.connector.spark.pythons import is_this_python, spark_pythons, warn_of_other_python
from tests.patience import PATIENCE_S


@pytest.mark.parametrize(
    ("environment", "pythons"),
    [
        ({}, ("python3",)),
        ({"PYSPARK_PYTHON": "/a/python"}, ("/a/python",)),
        ({"PYSPARK_DRIVER_PYTHON": "/b/python"}, ("/b/python", "python3")),
        ({"PYSPARK_DRIVER_PYTHON": "/b/python", "PYSPARK_PYTHON": "/a/python"}, ("/b/python", "/a/python")),
    ],
)
def test_spark_plans_with_the_drivers_python_and_runs_tasks_with_the_other(
    environment: dict[str, str], pythons: tuple[str, ...]
) -> None:
    assert spark_pythons(environment) == pythons


def test_a_python_is_known_by_its_environment(tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.symlink_to(Path(sys.executable).resolve())
    assert is_this_python(sys.executable)
    assert is_this_python(str(Path(sys.executable).with_name("python3")))
    assert not is_this_python(str(other))
    assert not is_this_python(str(tmp_path / "none"))


@pytest.fixture
def unchosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No Python is chosen, and the one on the path is another one."""
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    warn_of_other_python.cache_clear()
    yield
    warn_of_other_python.cache_clear()


@pytest.mark.usefixtures("unchosen")
def test_another_python_is_warned_of_once_with_the_way_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_other_python()
        warn_of_other_python()
    (warning,) = caplog.messages
    assert f"PYSPARK_PYTHON={sys.executable}" in warning
    assert "hw.session()" in warning


@pytest.mark.usefixtures("unchosen")
@pytest.mark.parametrize("name", ["PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT"])
def test_nothing_is_said_where_a_python_was_chosen(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(name, "anything")
    warn_of_other_python()
    assert not caplog.messages


PROGRAM = """
import sys, types
import headwater as hw
assert "headwater.connector.spark.pythons" not in sys.modules
context = sys.modules["pyspark.core.context"] = types.ModuleType("context")
context.SparkContext = types.SimpleNamespace(_active_spark_context={active})
hw.HeadwaterError
print("headwater.connector.spark.pythons" in sys.modules)
"""


@pytest.mark.parametrize("active", [None, 1])
def test_only_a_program_with_a_running_spark_looks(active: object) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    out = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(active=active)],
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment,
    ).stdout
    assert out.strip() == str(active is not None)
