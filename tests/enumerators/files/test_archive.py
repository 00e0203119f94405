"""A file is moved into the archive, and nothing that is there is lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import fsspec
import pytest

from headwater.enumerators.files.cleaner import move_without_loss


@pytest.fixture(params=["file", "other disk", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str]:
    """A file system and a folder in it: on a disk, across two disks, and one that has no links."""
    if request.param == "memory":
        fs = fsspec.filesystem("memory")
        monkeypatch.setattr(type(fs), "store", {})
        monkeypatch.setattr(type(fs), "pseudo_dirs", [""])
        return fs, "/place"
    if request.param == "other disk":
        link = os.link

        def refusing(source: str, target: str) -> None:
            if str(source).endswith("/a.csv"):
                raise OSError(errno.EXDEV, "other disk")
            link(source, target)

        monkeypatch.setattr(os, "link", refusing)
    return fsspec.filesystem("file"), str(tmp_path)


def move(fs: Any, folder: str, content: bytes, version: int) -> str:
    fs.makedirs(f"{folder}/in", exist_ok=True)
    fs.pipe_file(f"{folder}/in/a.csv", content)
    return move_without_loss(fs, f"{folder}/in/a.csv", f"{folder}/old/a.csv", version).removeprefix(folder)


def test_the_first_keeps_its_name_and_others_get_their_version(place: tuple[Any, str]) -> None:
    fs, folder = place
    assert move(fs, folder, b"one", 1) == "/old/a.csv"
    assert move(fs, folder, b"two", 0xAB) == "/old/a.000000ab.csv"
    assert not fs.exists(f"{folder}/in/a.csv")
    assert fs.cat_file(f"{folder}/old/a.csv") == b"one"
    assert fs.cat_file(f"{folder}/old/a.000000ab.csv") == b"two"
    assert sorted(name.rpartition("/")[2] for name in fs.ls(f"{folder}/old", detail=False)) == [
        "a.000000ab.csv",
        "a.csv",
    ]


def test_a_move_that_was_cut_short_is_finished(place: tuple[Any, str]) -> None:
    fs, folder = place
    for _ in range(2):
        assert move(fs, folder, b"one", 1) == "/old/a.csv"
    for _ in range(2):
        assert move(fs, folder, b"two", 2) == "/old/a.00000002.csv"
    assert not fs.exists(f"{folder}/in/a.csv")


def test_nothing_is_lost_if_both_names_are_taken(place: tuple[Any, str]) -> None:
    fs, folder = place
    for content in (b"one", b"two"):
        move(fs, folder, content, 2)
    with pytest.raises(FileExistsError, match="other contents"):
        move(fs, folder, b"six", 2)
    assert fs.cat_file(f"{folder}/in/a.csv") == b"six"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a", "a.00000007"), ("a.tar.gz", "a.00000007.tar.gz"), (".hidden.csv", ".hidden.00000007.csv")],
)
def test_the_number_comes_before_the_suffix(tmp_path: Path, name: str, expected: str) -> None:
    fs = fsspec.filesystem("file")
    for content in ("one", "two"):
        (tmp_path / "in").write_text(content)
        found = move_without_loss(fs, str(tmp_path / "in"), str(tmp_path / "old" / name), 7)
    assert found == str(tmp_path / "old" / expected)
