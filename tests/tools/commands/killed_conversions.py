"""Converts copies of a checkpoint, and is killed at each of them one step later.

A step is a call of the system that opens, renames or removes a file in the copy. The arguments: the
checkpoint, and the folder in which the copies ``0``, ``1``, ... are made. It prints how many there are; the
last one was converted to the end.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from headwater.tools.commands.main import main

STEPS = ("open", "os.rename", "os.remove", "os.mkdir")


def convert_until(step: int, checkpoint: Path) -> int:
    """Convert in a process of its own, which is killed before this step; return its exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = step

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in STEPS and str(arguments[0]).startswith(str(checkpoint)):
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(count)
    os._exit(main(["checkpoint", "convert", str(checkpoint), "--to", "headwater"]))


def run(checkpoint: Path, folder: Path) -> int:
    for step in itertools.count():
        copy = Path(shutil.copytree(checkpoint, folder / str(step)))
        status = convert_until(step, copy)
        if status == 0:
            return step + 1
        assert status == -signal.SIGKILL, status
    raise AssertionError


if __name__ == "__main__":
    sys.stdout = sys.stderr
    copies = run(Path(sys.argv[1]), Path(sys.argv[2]))
    sys.__stdout__.write(f"{copies}\n")  # type: ignore[union-attr]
