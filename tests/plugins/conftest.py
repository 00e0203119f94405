from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_nats import LocalNats


@pytest.fixture(scope="session")
def nats() -> Iterator[LocalNats]:
    with LocalNats() as running:
        yield running
