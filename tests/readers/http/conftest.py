"""What the tests of the http reader share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater.readers.http.kept_tokens import TOKENS
from tests.readers.http.scripted import Scripted, scripted_server


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted_server() as made:
        yield made
    # A server of a later test may have the same port.
    TOKENS.clear()
