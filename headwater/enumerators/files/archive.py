"""``cleanSource=archive``: moves a file to below another folder, and never over another file."""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
from pathlib import Path
from typing import IO, Any, cast

_COMPARED_BYTES = 1 << 20
_OTHER_DISK = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)
"""What ``os.link`` says where the archive is on another disk, or the file system has no links."""


def move_without_loss(fs: Any, path: str, target: str, version: int) -> str:
    """Move a file to ``target``, or beside it if another one is there; return where its content is now.

    * Nothing is there: it is moved.
    * A file of the same content is there: the source is deleted. So a move that was cut short is finished.
    * Another content is there: it gets the number of its version before the suffix of its name,
      ``daily.csv`` as ``daily.9f86d081.csv``.

    On a local disk a file that appears at the target meanwhile is not overwritten either; elsewhere the
    target is looked at first.

    Args:
        fs: the file system of both.
        path: of the file.
        target: where it is to be.
        version: a number that only this content of the path has.

    Raises:
        OSError: what the file system says.
    """
    name = target.rpartition("/")[2]
    # A dot at the beginning is no suffix.
    stem, dot, suffix = name[1:].partition(".")
    beside = f"{target.removesuffix(name)}{name[:1]}{stem}.{version:08x}{dot}{suffix}"
    fs.makedirs(target.rpartition("/")[0], exist_ok=True)
    is_local = "file" in fs.protocol
    for place in (target, beside):
        if is_local:
            moved = _move_locally(path, place)
        elif moved := not fs.exists(place):
            fs.mv(path, place)
        if moved:
            return place
        if filecmp.cmp(path, place, shallow=False) if is_local else _same_content(fs, path, place):
            fs.rm_file(path)
            return place
    raise FileExistsError(errno.EEXIST, f"{target} and {beside} are there, with other contents", path)


def _move_locally(path: str, target: str) -> bool:
    """Move a file unless something is at the target, in one step; return whether it was moved."""
    try:
        _link(path, target)
    except FileExistsError:
        return False
    Path(path).unlink()
    return True


def _link(path: str, target: str) -> None:
    """Let ``target`` be this file, or a copy of it on another disk.

    Raises:
        FileExistsError: something is there.
    """
    try:
        os.link(path, target)
    except OSError as error:
        if error.errno not in _OTHER_DISK:
            raise
    else:
        return
    # What has its name is whole: it is copied under another one.
    aside = f"{target}.headwater-{os.getpid()}"
    try:
        shutil.copy2(path, aside)
        with open(target, "xb"):  # noqa: PTH123 - takes the name, in one step
            os.replace(aside, target)  # noqa: PTH105 - both are strings here
    finally:
        Path(aside).unlink(missing_ok=True)


def _same_content(fs: Any, path: str, other: str) -> bool:
    """Whether two objects hold the same: by size and etag, else by their bytes."""
    fs.invalidate_cache()
    mine, theirs = fs.info(path), fs.info(other)
    if mine["size"] != theirs["size"]:
        return False
    if mine.get("ETag") and mine["ETag"] == theirs.get("ETag"):
        return True
    with fs.open(path, "rb") as left, fs.open(other, "rb") as right:
        return _same_bytes(cast("IO[bytes]", left), cast("IO[bytes]", right))


def _same_bytes(left: IO[bytes], right: IO[bytes]) -> bool:
    while True:
        block = left.read(_COMPARED_BYTES)
        if block != right.read(_COMPARED_BYTES):
            return False
        if not block:
            return True
