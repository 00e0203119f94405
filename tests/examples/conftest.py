"""How tests run the examples."""

from __future__ import annotations

import runpy
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def run(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Run an example with arguments as the main program, on the Spark of all tests; return what it prints.

    `hw.session` returns the Spark that runs. What else a fresh Spark would show, tests of kills do.
    """
    settings = spark.conf.getAll

    def run_program(program: str, *arguments: str) -> str:
        ctrl_c = signal.getsignal(signal.SIGINT)
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(type(spark), "stop", lambda _: None)
            patch.setattr(sys, "argv", [program, *arguments])
            try:
                runpy.run_path(str(ROOT / program), run_name="__main__")
            finally:
                signal.signal(signal.SIGINT, ctrl_c)
                for name, value in spark.conf.getAll.items():
                    if not spark.conf.isModifiable(name):
                        continue
                    if name not in settings:
                        spark.conf.unset(name)
                    elif value != settings[name]:
                        spark.conf.set(name, settings[name])
        return capsys.readouterr().out

    return run_program
