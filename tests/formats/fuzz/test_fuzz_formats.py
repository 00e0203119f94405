"""Hostile input of every kernel: no crash, no hang, nothing read or written outside, always the same result.

A run of the length of one's choice: ``python -m tests.formats.fuzz --help``.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.formats.fuzz.rounds import NAMES, RECORD_SETS


@pytest.mark.timeout(7_200)
def test_no_input_of_any_kernel_crashes_hangs_or_depends_on_its_surroundings(
    seed: int, *, at_length: bool
) -> None:
    values, rows = (1_000_000, 20_000) if at_length else (3_000, 700)
    fuzz(seed, values * len(NAMES), rows)
    if at_length:
        fuzz(seed, 20_000_000, rows, "--formats", RECORD_SETS)  # of which a share are record sets


def fuzz(seed: int, values: int, rows: int, *more: str) -> None:
    # In a process of its own, which a read outside of a value ends.
    command = [sys.executable, "-m", "tests.formats.fuzz"]
    numbers = ["--seed", str(seed), "--values", str(values), "--rows", str(rows)]
    done = subprocess.run([*command, *numbers, *more], capture_output=True, text=True, check=False)
    print(done.stdout.replace("\r", "\n"))
    assert done.returncode == 0, done.stderr
