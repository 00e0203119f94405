"""Fixtures for the tests of fetchers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from headwater.readers.runtime.fetchers.split_fetcher import SplitFetcher
from tests.patience import PATIENCE_S


@pytest.fixture
def threads() -> Iterator[Callable[[SplitFetcher], threading.Thread]]:
    """Runs fetchers as their manager does, and ends them."""
    running: list[tuple[SplitFetcher, threading.Thread]] = []

    def start(fetcher: SplitFetcher) -> threading.Thread:
        def body() -> None:
            fetcher.run()
            fetcher.finish()

        thread = threading.Thread(target=body)
        running.append((fetcher, thread))
        thread.start()
        return thread

    yield start
    for fetcher, thread in running:
        fetcher.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
