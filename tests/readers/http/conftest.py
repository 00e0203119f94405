"""What the tests of the http reader share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.readers.http.scripted import Scripted, scripted_server


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted_server() as made:
        yield made
