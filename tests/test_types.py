"""Types reach users: mypy knows the installed package, accepts a right program, refuses each wrong line."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import headwater
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent
RIGHT = ROOT / "tests" / "typed" / "right_uses.py"
WRONG = ROOT / "tests" / "typed" / "wrong_uses.py"


def test_mypy_accepts_a_right_program_and_refuses_each_wrong_line(python: Path, tmp_path: Path) -> None:
    for program in (RIGHT, WRONG):
        (tmp_path / program.name).write_text(program.read_text())
    cache = ROOT / ".mypy_cache" / "users"  # what mypy knows of pyspark and pyarrow stays from run to run
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir", cache)
    done = subprocess.run(
        [*mypy, RIGHT.name, WRONG.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    said = re.findall(r"^(\w+)\.py:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    assert [(line, code) for file, line, code in said if file == RIGHT.stem] == [], done.stdout
    refused = {(int(line), code) for _, line, code in said}
    assert refused == expected(), done.stdout + done.stderr


def expected() -> set[tuple[int, str]]:
    """Return the lines of the wrong program that have to be refused, with mypy's code of the reason."""
    lines = enumerate(WRONG.read_text().splitlines(), 1)
    marked = ((number, line.rpartition("  # ")[2]) for number, line in lines if "  # " in line)
    return {(number, code) for number, codes in marked for code in codes.split(", ")}


def test_the_right_program_uses_each_public_name() -> None:
    used = set(
        re.findall(
            r"\b(?:hw\.)?((?:async_io|contracts|errors|options|read_stream|read|testing)\.\w+|\w+)",
            RIGHT.read_text(),
        )
    )
    modules = {f"{name}.": importlib.import_module(f"headwater.{name}") for name in headwater._MODULES}
    public = {
        *headwater.__all__,
        *(prefix + name for prefix, module in modules.items() for name in module.__all__),
    }
    assert sorted(public - used - {"errors", "options", "contracts", "async_io", "read", "read_stream"}) == []
