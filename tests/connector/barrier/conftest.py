"""What queries leave behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connector.barrier.epoch_queries import OPEN


@pytest.fixture(autouse=True)
def _close_coordinators() -> Iterator[None]:
    """Drivers are killed in these tests, not stopped: what they leave behind ends with the test."""
    yield
    while OPEN:
        OPEN.pop().close()
