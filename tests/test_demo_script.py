"""`scripts/demo`: what it shows is true, to the end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import demo_run
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent
ORDERS = 20_000


@pytest.mark.parametrize(
    ("load", "has_started", "expected"),
    [
        (90.0, False, r"Spark is still starting.*'WARN x'.*busy \(load 90 on .*run the demo again later"),
        (0.0, True, r"The query runs.*'WARN x'.*look into the log below"),
    ],
)
def test_a_demo_in_which_nothing_happens_says_what_was_seen_last_and_what_to_do(
    load: float, has_started: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    monkeypatch.setattr(demo_run, "PATIENCE_S", -1)
    driver: Any = Mock(has_started=lambda: has_started, last_line=lambda: "WARN x")
    with pytest.raises(SystemExit, match=f"nothing was written for -1 s, after 7 orders. {expected}"):
        demo_run.watch(driver, Mock(failure=None), Mock(rows=lambda: 7), Mock(), (Mock(), Mock()), until=20)


def test_the_image_of_the_demo_has_what_its_setup_would_install_and_runs_it() -> None:
    """Nothing here can build images by default: the demo itself is tested below."""
    image = (ROOT / "examples/Dockerfile").read_text()
    setup = (ROOT / "scripts/setup").read_text()
    for package in ("openjdk-17-jre-headless", "python3-venv"):
        assert package in setup
        assert package in image
    assert "RUN scripts/setup --demo" in image
    assert 'CMD ["scripts/demo"]' in image


@pytest.mark.crash
@pytest.mark.long
def test_the_demo_kills_spark_half_way_and_its_table_says_that_nothing_is_lost_or_doubled(
    tmp_path: Path,
) -> None:
    """The program behind the script, which makes an environment first: this one is there."""
    command = [sys.executable, str(ROOT / "scripts" / "demo_run.py")]
    done = subprocess.run(
        [*command, "--orders", str(ORDERS), "--per-second", "4000"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path), "NO_COLOR": "1", "COLUMNS": "110"},
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4_000:]
    assert "kill -9: Spark is dead" in done.stdout
    heads, numbers = (re.findall(r"[\w/,]+", line) for line in done.stdout.splitlines() if line[:1] in "┃│")
    table = dict(zip(heads, numbers, strict=True))
    assert table.pop("rows/s")
    assert table == {"produced": f"{ORDERS:,}", "written": f"{ORDERS:,}", "lost": "0", "duplicated": "0"}
    assert list(tmp_path.glob("headwater-demo-*")) == []
