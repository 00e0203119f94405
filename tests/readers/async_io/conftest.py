"""A fresh loop for each test; after it, no task, timer or thread may be left."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from headwater.readers.async_io.shared_functions import close_shared_functions
from tests.patience import PATIENCE_S
from tests.readers.async_io.doubles import ManualHost


@pytest.fixture
def host() -> Iterator[ManualHost]:
    manual = ManualHost()
    yield manual
    manual.close()


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    close_shared_functions()
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(PATIENCE_S)
    assert not [thread for thread in left if thread.is_alive()]
