"""The page for beginners: its commands run as they stand there, and print what it says."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "rest-in-five-minutes.md"


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


@pytest.mark.slow
def test_the_commands_of_the_page_do_what_it_says(spark: SparkSession, tmp_path: Path) -> None:
    text = PAGE.read_text().replace("8420", free_port()).replace("/tmp/rest", str(tmp_path))
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    (command,) = [line.split() for line in blocks[0][1].splitlines() if line.startswith("python ")]
    with subprocess.Popen(
        [sys.executable, *command[1:]], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().startswith("serving http://127.0.0.1:")
            printed = io.StringIO()
            names = {"__name__": "page"}
            with contextlib.redirect_stdout(printed):
                for kind, block in blocks:
                    if kind == "python":
                        exec(compile(block, str(PAGE), "exec"), names)
        finally:
            server.terminate()
    assert printed.getvalue() == "".join(block for kind, block in blocks if kind == "text")
