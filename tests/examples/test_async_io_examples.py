"""The example of asynchronous I/O runs as its heading says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_orders_are_enriched_and_each_customer_is_asked_once() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "examples/async_io_enrich.py"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    assert "enriched: 1960, failed: 40" in done.stdout
    assert "ClientResponseError" in done.stdout
    assert re.search(r"requests \d+, in_flight 0, .*retries \d+", done.stdout)
