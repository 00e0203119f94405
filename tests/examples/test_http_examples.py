"""The HTTP example runs as its heading says."""

from __future__ import annotations

from collections.abc import Callable


def test_http_stream_reads_the_api_to_its_end_and_then_what_was_added(run: Callable[..., str]) -> None:
    shown = run("examples/http_stream.py")
    assert shown.splitlines() == ["2000 items, 60 comments", "2500 items, 75 comments"]
