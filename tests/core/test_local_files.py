"""Folders in shared places: no link is followed, and nobody else enters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headwater.core.local_files import make_private_folder


def test_a_folder_is_for_its_user_alone_and_may_be_there_already(tmp_path: Path) -> None:
    folder = tmp_path / "some" / "place"
    for _ in range(2):
        make_private_folder(folder)
    assert folder.lstat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["link", "dangling link", "file", "open", "foreign"])
def test_what_another_user_may_have_made_is_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "place"
    if "link" in kind:
        folder.symlink_to(tmp_path if kind == "link" else tmp_path / "nothing")
    elif kind == "file":
        folder.touch()
    else:
        folder.mkdir(mode=0o700)
        folder.chmod(0o750 if kind == "open" else 0o700)
    if kind == "foreign":
        user = os.getuid()
        monkeypatch.setattr("os.getuid", lambda: user + 1)
    with pytest.raises(PermissionError, match="remove it"):
        make_private_folder(folder)
