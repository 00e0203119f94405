"""Fixtures for the tests of partitions."""

from __future__ import annotations

import pytest

from headwater.readers.runtime.partitions.subpartition import BufferPool


@pytest.fixture
def pool() -> BufferPool:
    return BufferPool(1 << 20)
