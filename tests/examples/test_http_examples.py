"""The HTTP example runs as its heading says."""

from __future__ import annotations

import pytest

from tests.examples.test_kafka_examples import run


@pytest.mark.slow
def test_http_stream_reads_the_api_to_its_end_and_then_what_was_added() -> None:
    shown = run("-m", "examples.http_stream")
    assert shown.splitlines() == ["2000 items, 60 comments", "2500 items, 75 comments"]
