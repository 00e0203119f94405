"""A builder that is set up for headwater, and the session that comes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headwater as hw
from tests.patience import PATIENCE_S

PYTHONS = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")


@pytest.fixture
def unchosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PYTHONS, "PYSPARK_GATEWAY_PORT", "HEADWATER_PARALLELISM"):
        monkeypatch.delenv(name, raising=False)


def builder(**options: Any) -> SparkSession.Builder:
    made = SparkSession.Builder()
    for name, value in options.items():
        made = made.config(name.replace("_", "."), value)
    return made


@pytest.mark.usefixtures("unchosen")
@pytest.mark.parametrize("master", [{}, {"spark_master": "local[4]"}])
def test_spark_on_this_host_starts_the_python_of_the_program(
    monkeypatch: pytest.MonkeyPatch, master: dict[str, str]
) -> None:
    set_before = dict(os.environ)
    made = hw.configure(builder(**master), parallelism=8)
    changed = {name: os.environ[name] for name in os.environ.keys() - set_before.keys()}
    for name in changed:
        monkeypatch.delenv(name)
    assert changed["HEADWATER_PARALLELISM"] == "8"
    for name in PYTHONS:
        ran = subprocess.run(
            [changed[name], "-c", "import sys; print(sys.prefix)"],
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert ran.stdout.strip() == sys.prefix
    assert hw.recommended_conf().items() <= made._options.items()


@pytest.mark.usefixtures("unchosen")
@pytest.mark.parametrize("chosen", [*PYTHONS, "PYSPARK_GATEWAY_PORT"])
def test_a_python_that_was_chosen_stays(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chosen, "/a/python")
    hw.configure(builder())
    assert {name: os.environ.get(name) for name in PYTHONS} == {
        name: "/a/python" if name == chosen else None for name in PYTHONS
    }


@pytest.mark.usefixtures("unchosen")
def test_on_a_cluster_the_python_is_left_alone() -> None:
    hw.configure(builder(spark_master="yarn"))
    assert not os.environ.keys() & set(PYTHONS)


@pytest.mark.usefixtures("unchosen")
def test_what_the_user_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    made = hw.configure(builder(spark_buffer_size="65536"))
    assert made._options["spark.buffer.size"] == "65536"


PROGRAM = """
import headwater as hw
spark = hw.session("orders", master="local[1]", conf={"spark.ui.enabled": "false"})
orders = spark.read.format("headwater").option("source", "demo").option("rows", "7").load()
print(spark.sparkContext.appName, orders.count())
"""


@pytest.mark.slow
def test_a_session_reads_with_no_environment_set_by_hand() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in PYTHONS}
    out = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**environment, "PATH": "/usr/bin:/bin"},
    ).stdout
    assert out.strip() == "orders 7"
