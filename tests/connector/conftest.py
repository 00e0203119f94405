"""A folder into which files are dropped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.connector.sources.files.files_queries import Drop


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step waits for a whole new listing, however slow the machine is."""
    monkeypatch.setattr("headwater.enumerators.files.enumerator._PATIENCE_MS", 60_000)
    monkeypatch.setattr("headwater.enumerators.files.discovery._SHORT_MS", 60_000)


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def drop(inbox: Path, tmp_path: Path) -> Drop:
    """Move a whole file into the inbox, with a modification time in seconds."""

    def dropping(name: str, at_s: float, text: str | None = None) -> Path:
        (tmp_path / "aside").write_text(text if text is not None else f"{name}\n")
        os.utime(tmp_path / "aside", (at_s, at_s))
        target = inbox / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return (tmp_path / "aside").rename(target)

    return dropping
