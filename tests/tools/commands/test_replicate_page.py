"""The page about `headwater replicate`: its commands run as they stand there, and print what it says."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.tools.commands.main import main
from local_postgres import LocalPostgres
from tests.delta_tables import needs_delta
from tests.patience import PATIENCE_S
from tests.tools.commands.test_replicate import CATALOG

ROOT = Path(__file__).resolve().parents[3]
STEPS = (ROOT / "docs" / "replicate.md").read_text().partition("## By the stop-watch")[0]
STARTS = "\nheadwater "
"""The second block with it finds nothing that is missing: it goes on."""


@pytest.fixture
def blocks(tmp_path: Path) -> Iterator[list[tuple[str, str]]]:
    """The blocks behind that of the installation, with a server and a folder of this test."""
    with LocalPostgres() as server:
        folder = server.conninfo.split()[0].removeprefix("host=")
        admin = f"-q 'postgresql://postgres@/postgres?host={folder}&port={server.port}'"
        text = STEPS.replace("postgresql://postgres@localhost/shop", admin)
        text = text.replace("postgresql://localhost/shop", server.url)
        text = text.replace("/tmp/shop", str(tmp_path / "lake"))
        first, *others = re.findall(r"```(\w+)(\n.*?)```", text, re.DOTALL)
        assert first[1].startswith("\npip install")
        yield others


@needs_delta
@pytest.mark.slow
@pytest.mark.heavy("two Sparks of its own, with Delta")
def test_the_commands_of_the_page_do_what_it_says(blocks: list[tuple[str, str]], tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PGPASSWORD": "brew",
    }
    said = ""
    errors = tmp_path / "errors"
    running = None
    for kind, block in blocks:
        if kind == "text" and running is not None and "batch" in block:
            assert running.stdout is not None
            said += "".join(running.stdout.readline() for _ in block.splitlines()[1:])
        elif kind == "bash" and block.startswith(STARTS):
            running = subprocess.Popen(
                ["bash", "-c", f"exec {block.strip()} 2>{errors}"],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
        elif kind != "text":
            command = ["bash", "-c"] if kind == "bash" else [sys.executable, "-c"]
            ran = subprocess.run(
                [*command, block],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            said += ran.stdout
    assert running is not None
    with running:
        running.send_signal(signal.SIGINT)
    assert errors.read_text().endswith("stopped; the next run goes on where it was\n")
    assert "Traceback" not in errors.read_text()
    assert said == "".join(block.lstrip() for kind, block in blocks if kind == "text")


@pytest.mark.slow
def test_the_commands_of_the_page_do_it_with_another_target(
    blocks: list[tuple[str, str]],
    spark: SparkSession,
    tmp_path: Path,
    *,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the Spark of all tests, which may have no Delta Lake: with a table of the catalogue in memory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    # What is exported now does not come to workers of a Spark that runs already.
    (tmp_path / "password").write_text("brew\n")
    into = "page.five_minutes.orders"
    others = f" --into {into} --using memory --conf spark.sql.catalog.page={CATALOG} --available-now"
    program = ""
    for kind, block in blocks:
        if kind == "python":
            spark.table(into).orderBy("id").show()
        elif "psql" in block:
            subprocess.run(["bash", "-c", block], check=True)
            if program:
                monkeypatch.setattr(sys, "argv", [program, "--available-now"])
                runpy.run_path(program, run_name="__main__")
        elif kind == "bash":
            line = block.partition("headwater")[2].replace("\\\n", "") + others
            line = line.replace("env:PGPASSWORD", f"file:{tmp_path}/password")
            if main(shlex.split(line)) == 0:
                program = "replicate_orders.py"
    spark.sql(f"DROP TABLE {into}")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    said = "".join(block.lstrip() for kind, block in blocks if kind == "text")
    assert capsys.readouterr().out == said.replace(f"delta.`{tmp_path}/lake/orders`", into)
