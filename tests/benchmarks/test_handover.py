"""The benchmark of the hand-over runs. Times do not count."""

from __future__ import annotations

import pytest

from benchmarks.handover import main


def test_the_benchmark_of_the_hand_over_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rounds", "1", "--buffers", "100", "--batches", "5"]) == 0
    said = capsys.readouterr().out
    assert said.count("us per buffer") == 3
    assert "unaligned, splits: 1" in said
