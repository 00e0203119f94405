"""``headwater.testing`` is there when it is asked for, and asks for little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import headwater

ROOT = Path(__file__).resolve().parents[2]


def test_it_loads_neither_pytest_nor_pyspark() -> None:
    program = (
        "import json, sys, headwater.testing\n"
        "print(json.dumps(sorted({'pytest', '_pytest', 'pyspark'} & sys.modules.keys())))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


def test_it_is_an_attribute_of_headwater_and_complete() -> None:
    assert [name for name in headwater.testing.__all__ if not getattr(headwater.testing, name).__doc__] == []
    assert sorted(headwater.testing.__all__) == headwater.testing.__all__
