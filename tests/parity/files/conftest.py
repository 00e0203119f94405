"""Files that both readers read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import COMPARED, FilesParity
from tests.parity.golden.answers import Answers
from tests.parity.golden.settings import Settings


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end of a run how many files were compared."""
    if COMPARED:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(COMPARED.items()))
        terminalreporter.write_line(f"files read by both readers: {COMPARED.total():,} ({kinds})")


@pytest.fixture
def parity(answers: Answers, settings: Settings, tmp_path: Path) -> FilesParity:
    """In place of the fixture of this name that compares sources of Kafka."""
    return FilesParity(answers, settings, tmp_path)


@pytest.fixture
def drawn(parity: FilesParity, seed: int) -> DrawnFiles:
    """Files that hypothesis draws, with the seed of this run."""
    return DrawnFiles(parity, seed)


@pytest.fixture
def with_times_of_day(parity: FilesParity) -> Iterator[FilesParity]:
    """The same where Spark has the type ``time``, which it has not by default."""
    with parity.settings.such("spark.sql.timeType.enabled", "true"):
        yield parity
