"""The example of asynchronous I/O runs as its heading says."""

from __future__ import annotations

import re
from collections.abc import Callable


def test_orders_are_enriched_and_each_customer_is_asked_once(run: Callable[..., str]) -> None:
    shown = run("examples/async_io_enrich.py")
    assert "enriched: 1960, failed: 40" in shown
    assert "ClientResponseError" in shown
    assert re.search(r"requests \d+, in_flight 0, .*retries \d+", shown)
