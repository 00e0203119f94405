"""Hostile values of every format: no crash, no hang, nothing read or written outside, always the same rows.

A run of the length of one's choice: ``python -m tests.formats.fuzz --help``.
"""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_no_value_of_any_format_crashes_hangs_or_depends_on_its_surroundings(seed: int) -> None:
    fuzz(seed, values=60_000, rows=700)


@pytest.mark.long
def test_ten_million_values_do_neither(seed: int) -> None:
    fuzz(seed, values=10_000_000, rows=20_000)


def fuzz(seed: int, *, values: int, rows: int) -> None:
    # In a process of its own, which a read outside of a value ends.
    command = [sys.executable, "-m", "tests.formats.fuzz"]
    numbers = ["--seed", str(seed), "--values", str(values), "--rows", str(rows)]
    done = subprocess.run([*command, *numbers], capture_output=True, text=True, check=False)
    print(done.stdout.replace("\r", "\n"))
    assert done.returncode == 0, done.stderr
