"""Leased memory: used again when no view of it is left, and never before."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.readers.kernels.arenas import ArenaPool, Scratch
from tests.patience import PATIENCE_S

MIB = 1 << 20


def address(memory: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> int:
    return int(memory.__array_interface__["data"][0])


def kept_bytes(pool: ArenaPool) -> int:
    return sum(arena.memory.size for arena in pool._arenas)


def test_memory_comes_back_when_its_user_is_gone() -> None:
    pool = ArenaPool()
    first = pool.lease(MIB)
    where = address(first)
    del first
    assert address(pool.lease(MIB)) == where


def test_a_view_a_buffer_or_a_slice_of_an_array_holds_memory() -> None:
    pool = ArenaPool(most=100)
    makers: list[Callable[[Any], Any]] = [
        lambda loan: loan[10:20],
        lambda loan: loan[64:128].view(np.int32)[3:5],
        lambda loan: loan.data,
        lambda loan: pa.py_buffer(loan[64:128].data),
        lambda loan: pa.Array.from_buffers(
            pa.int32(), 10, [None, pa.py_buffer(loan[64:128].view(np.int32).data)]
        ).slice(2, 3),
    ]
    for make in makers:
        loan = pool.lease(MIB)
        where = address(loan)
        held = make(loan)
        del loan
        assert address(pool.lease(MIB)) != where
        del held
        gc.collect()
    assert len({address(loan) for loan in [pool.lease(MIB) for _ in makers]}) == len(makers)


def test_memory_that_is_still_in_use_is_never_written_to(rng: random.Random) -> None:
    pool = ArenaPool(most=3)
    kept: list[tuple[pa.Buffer, int]] = []
    for turn in range(200):
        loan = pool.lease(rng.choice([100, 70_000, 200_000]))
        loan[:] = turn % 251
        if rng.random() < 0.3:
            kept.append((pa.py_buffer(loan[:100].data), turn % 251))
        if kept and rng.random() < 0.2:
            kept.pop(rng.randrange(len(kept)))
        del loan
        for buffer, value in kept:
            assert buffer.to_pybytes() == bytes([value]) * 100


def test_two_loans_take_turns() -> None:
    pool = ArenaPool()
    seen = set()
    before = None
    for _ in range(10):
        loan = pool.lease(MIB)
        seen.add(address(loan))
        before = loan
    assert len(seen) == 2
    assert before is not None


def test_a_loan_may_be_larger_than_asked_for_so_that_sizes_may_differ_a_little() -> None:
    pool = ArenaPool()
    loan = pool.lease(900_000)
    where = address(loan)
    del loan
    assert address(pool.lease(1_000_000)) == where


def test_the_pool_is_bounded() -> None:
    pool = ArenaPool(most=3, most_bytes=MIB)
    loans = [pool.lease(MIB) for _ in range(10)]
    assert kept_bytes(pool) == 3 * MIB
    del loans
    huge = pool.lease(50 * MIB)
    assert huge.size == 50 * MIB
    assert kept_bytes(pool) == 3 * MIB


def test_memory_that_only_one_huge_record_needed_goes_back() -> None:
    pool = ArenaPool()
    pool.lease(50 * MIB)
    assert kept_bytes(pool) == 64 * MIB
    pool.lease(MIB)
    assert kept_bytes(pool) == MIB


def test_threads_never_share_a_loan() -> None:
    pool = ArenaPool(most=8)
    clashes = []

    def use(mark: int) -> None:
        for _ in range(300):
            loan = pool.lease(1_000)
            loan[:1_000] = mark
            if not (loan[:1_000] == mark).all():
                clashes.append(mark)

    threads = [threading.Thread(target=use, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not clashes


def test_scratch_grows_and_keeps_what_was_written() -> None:
    scratch = Scratch(ArenaPool())
    for turn in range(5):
        scratch.room(100_000)[:100_000] = bytes([turn]) * 100_000
        scratch.size += 100_000
    assert scratch.bytes()[::100_000].tolist() == [0, 1, 2, 3, 4]


def test_scratch_gives_back_what_is_far_beyond_the_usual() -> None:
    pool = ArenaPool()
    scratch = Scratch(pool)
    scratch.room(40 * MIB)
    scratch.clear()
    assert len(scratch.room(1)) < 40 * MIB
