"""headwater as users have it: built, and installed into a Python without this repository on its path."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests.patience import PATIENCE_S

__all__ = ["Distributions", "bare_python", "build", "install"]

ROOT = Path(__file__).resolve().parent.parent
BUILD = """
import sys
from setuptools.build_meta import build_sdist, build_wheel
folder = sys.argv[1]  # setuptools changes sys.argv
build_sdist(folder)
build_wheel(folder)
"""


@dataclass(frozen=True, slots=True)
class Distributions:
    """The files that are uploaded."""

    wheel: Path
    sdist: Path


def build(folder: Path) -> Distributions:
    """Build wheel and source distribution from a copy of the project: building leaves folders behind."""
    copy = folder / "project"
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=unwanted)
    _run(sys.executable, "-c", BUILD, str(folder), cwd=copy)
    return Distributions(next(folder.glob("headwater-*.whl")), next(folder.glob("headwater-*.tar.gz")))


def install(wheel: Path, folder: Path) -> Path:
    """Make a fresh Python with the wheel in it, and return its program.

    Nothing is downloaded.
    """
    python = bare_python(folder)
    pip = (sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check")
    offline = ("--quiet", "--no-index", "--no-deps", "--force-reinstall")
    _run(*pip, "install", *offline, str(wheel), cwd=folder)
    return python


def bare_python(folder: Path) -> Path:
    """Make a fresh Python without headwater, and return its program.

    It has the libraries of this Python, but not the editable headwater: a ``.pth`` file adds the folder where
    they lie, and Python reads no further ``.pth`` files there.
    """
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder), cwd=folder.parent)
    packages = next(folder.glob("lib/python3.*/site-packages"))
    (packages / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder / "bin" / "python"


def _run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout
