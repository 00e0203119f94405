"""docs/writing-a-source.md: its code runs, and its test classes pass."""

from __future__ import annotations

import re
import unittest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = (Path(__file__).parent.parent / "docs" / "writing-a-source.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_code_without_spark_runs_and_its_tests_pass() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in BLOCKS:
        if "spark" not in block:
            exec(block, names)
    suites = [names["TestLines"], names["TestTail"]]
    passed = sum(passes(suite, name) for suite in suites for name in dir(suite) if name.startswith("test_"))
    assert passed > 40


def passes(suite: Any, name: str) -> bool:
    try:
        getattr(suite(), name)()
    except unittest.SkipTest:
        return False
    return True


@pytest.mark.slow
def test_the_code_with_spark_runs(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "spark": spark}
    for block in BLOCKS:
        exec(block, names)
    assert capsys.readouterr().out == "9\n"
