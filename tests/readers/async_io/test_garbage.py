"""The collector runs more rarely while operators are open, and as before when they are not."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from headwater.readers.async_io.garbage import rare_collections
from tests.readers.async_io.doubles import ManualHost, Service, operator_of


@pytest.fixture(autouse=True)
def as_python_has_it() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_last_one_that_leaves_sets_it_back() -> None:
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (10_000, 10, 10)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("rarer", [0, 50_000])
def test_what_is_rarer_already_stays(rarer: int) -> None:
    gc.set_threshold(rarer, 5, 5)
    with rare_collections():
        assert gc.get_threshold()[0] == rarer
    assert gc.get_threshold()[0] == rarer


def test_an_operator_has_it_while_it_is_open(host: ManualHost) -> None:
    with operator_of(Service(), host):
        assert gc.get_threshold()[0] == 10_000
    assert gc.get_threshold()[0] == 700
