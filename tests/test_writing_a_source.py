"""docs/writing-a-source.md: its code runs, and its test classes pass."""

from __future__ import annotations

import inspect
import re
import unittest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headwater.plugins import nats

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


GROWN_UP = PAGE[PAGE.index("## 14.") : PAGE.index("## Examples")]


def test_the_grown_up_source_is_quoted_as_it_is_and_from_its_top_to_its_end() -> None:
    """Indented as deep as the page has it: the depth is no part of a quote."""
    module = re.sub(r"^ +", "", inspect.getsource(nats), flags=re.MULTILINE)
    blocks = re.findall(r"```py\n(.*?)\n *```", GROWN_UP, re.DOTALL)
    quotes = [re.sub(r"^ +", "", block, flags=re.MULTILINE) for block in blocks]
    places = [module.find(quote) for quote in quotes]
    assert len(quotes) == 5
    assert -1 not in places, quotes[places.index(-1)]
    assert places == sorted(places)


def test_the_parts_that_the_page_reads_are_there() -> None:
    named = re.findall(r"^\* \*\*`(\w+)`", GROWN_UP, re.MULTILINE)
    assert {"OPTIONS", "discover", "read", "_pages", "_rows"} <= set(named)
    assert [name for name in named if not hasattr(nats.Nats, name)] == []


@pytest.mark.slow
def test_the_code_with_spark_runs(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "spark": spark}
    for block in BLOCKS:
        exec(block, names)
    assert capsys.readouterr().out == "9\n"
