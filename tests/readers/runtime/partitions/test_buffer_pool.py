"""The budget: what LocalBufferPoolTest asks, in bytes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from headwater.core.errors import ContractError
from headwater.readers.runtime.partitions.subpartition import BufferPool, PartitionBuffer
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S


def test_a_budget_that_is_used_up_lets_nothing_in() -> None:
    pool = BufferPool(10)
    assert pool.request(9, lambda: True)
    assert pool.request(9, lambda: True)
    assert not pool.request(1, lambda: True)
    assert pool._used_bytes == 18


def test_a_buffer_larger_than_the_budget_gets_through() -> None:
    pool = BufferPool(10)
    assert pool.request(1_000, lambda: True)
    assert not pool.request(1, lambda: True)


def test_available_again_after_recycling() -> None:
    pool = BufferPool(10)
    buffer = PartitionBuffer("x", 10, pool if pool.request(10, lambda: True) else None)
    assert not pool.request(1, lambda: True)
    buffer.recycle()
    assert (pool._used_bytes, pool.peak_bytes) == (0, 10)
    assert pool.request(1, lambda: True)


def test_a_buffer_is_given_back_once() -> None:
    pool = BufferPool(10)
    pool.request(4, lambda: True)
    buffer = PartitionBuffer("x", 4, pool)
    buffer.recycle()
    buffer.recycle()
    assert pool._used_bytes == 0


def test_a_closed_pool_gives_nothing_and_takes_back() -> None:
    pool = BufferPool(10)
    pool.request(4, lambda: True)
    pool.close()
    pool.close()
    assert not pool.request(1, lambda: True)
    assert not pool.request(1)
    pool.recycle(4)
    assert pool._used_bytes == 0


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ContractError, match="at least one byte"):
        BufferPool(0)


@pytest.mark.parametrize("how", ["recycle", "close", "cancel"])
def test_a_producer_that_waits_is_woken(how: str) -> None:
    pool = BufferPool(10)
    cancelled = threading.Event()
    pool.request(10, lambda: True)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(pool.request, 1, cancelled.is_set)
        until(lambda: pool._waiting == 1, "the thread to wait")
        if how == "recycle":
            pool.recycle(10)
        elif how == "close":
            pool.close()
        else:
            cancelled.set()
            pool.wake_up()
        assert waiting.result(PATIENCE_S) is (how == "recycle")
    assert pool._waiting == 0


def test_a_wake_up_alone_changes_nothing() -> None:
    pool = BufferPool(10)
    pool.request(10, lambda: True)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(pool.request, 1)
        until(lambda: pool._waiting == 1, "the thread to wait")
        pool.wake_up()
        assert not waiting.done()
        pool.recycle(10)
        assert waiting.result(PATIENCE_S)


def test_many_threads_request_and_recycle_and_all_comes_back() -> None:
    pool = BufferPool(8 * 1024)

    def turn(_: int) -> None:
        for _ in range(128):
            assert pool.request(1024)
            assert pool._used_bytes <= 9 * 1024
            pool.recycle(1024)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(turn, range(8)))
    assert pool._used_bytes == 0
    assert pool.peak_bytes <= 9 * 1024
