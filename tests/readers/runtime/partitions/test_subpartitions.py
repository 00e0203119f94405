"""What a partition and its subpartitions promise: Flink's ResultPartitionTest and SubpartitionTestBase."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headwater.readers.runtime.partitions.pipelined import PipelinedResultPartition, PipelinedSubpartition
from headwater.readers.runtime.partitions.subpartition import (
    BufferPool,
    EndOfPartition,
    PartitionBuffer,
    PartitionEvent,
)
from tests.patience import PATIENCE_S
from tests.readers.runtime.partitions.consuming import BARRIER, Told, buffer, read


@pytest.fixture
def subpartition() -> PipelinedSubpartition[Any]:
    return PipelinedSubpartition()


def test_add_on_partition() -> None:
    pool = BufferPool(1_000)
    partition: PipelinedResultPartition[str] = PipelinedResultPartition(2, pool)
    assert partition.add(1, "rows", 10)
    assert pool._used_bytes == 10
    partition.finish_subpartition(1)
    view = partition.create_view(1, Told())
    element = view.next()
    assert isinstance(element, PartitionBuffer)
    assert element.payload == "rows"
    element.recycle()
    assert isinstance(view.next(), EndOfPartition)
    partition.release()
    assert pool._used_bytes == 0
    assert not partition.add(0, "rows", 10)


def test_a_pipelined_partition_makes_its_producer_wait() -> None:
    partition: PipelinedResultPartition[str] = PipelinedResultPartition(1, BufferPool(100))
    assert partition.add(0, "rows", 100)
    assert not partition.add(0, "rows", 1, lambda: True)
    partition.release()


def test_releasing_reader_does_not_release_partition(
    subpartition: PipelinedSubpartition[Any], pool: BufferPool
) -> None:
    subpartition.add(buffer(pool, 1))
    subpartition.finish()
    view = subpartition.create_view(Told())
    view.release()
    assert view.next() is None
    assert subpartition.backlog == 1


def test_release_is_idempotent(subpartition: PipelinedSubpartition[Any], pool: BufferPool) -> None:
    subpartition.add(buffer(pool, 1))
    for _ in range(3):
        subpartition.release()
    assert pool._used_bytes == 0


def test_read_after_dispose(subpartition: PipelinedSubpartition[Any], pool: BufferPool) -> None:
    subpartition.add(buffer(pool, 1))
    subpartition.finish()
    view = subpartition.create_view(Told())
    subpartition.release()
    assert view.next() is None


def test_buffers_and_events_keep_their_order(
    subpartition: PipelinedSubpartition[Any], pool: BufferPool
) -> None:
    event = PartitionEvent()
    for element in (buffer(pool, 1), buffer(pool, 2, 3), event, buffer(pool, 4)):
        subpartition.add(element)
    subpartition.finish()
    assert read(subpartition.create_view(Told())) == [[1], [2, 3], event, [4], EndOfPartition()]


def test_cleanup_released_partition_no_view(
    subpartition: PipelinedSubpartition[Any], pool: BufferPool
) -> None:
    subpartition.add(buffer(pool, 1))
    subpartition.release()
    assert pool._used_bytes == 0


def test_release_parent(pool: BufferPool) -> None:
    subpartition: PipelinedSubpartition[Any] = PipelinedSubpartition()
    told = Told()
    view = subpartition.create_view(told)
    subpartition.add(buffer(pool, 1))
    subpartition.release()
    assert told.times == 2
    assert view.next() is None


def test_a_consumer_is_told_only_when_there_was_nothing_before(pool: BufferPool) -> None:
    subpartition: PipelinedSubpartition[Any] = PipelinedSubpartition()
    told = Told()
    view = subpartition.create_view(told)
    assert told.times == 0
    for number in range(3):
        subpartition.add(buffer(pool, number))
    assert told.times == 1
    read(view)
    subpartition.add(buffer(pool, 4))
    assert told.times == 2


def test_a_consumer_that_comes_late_is_told_at_once(pool: BufferPool) -> None:
    subpartition: PipelinedSubpartition[Any] = PipelinedSubpartition()
    subpartition.add(buffer(pool, 1))
    told = Told()
    subpartition.create_view(told)
    assert told.times == 1


def test_backlog_counts_buffers_not_events(pool: BufferPool) -> None:
    subpartition: PipelinedSubpartition[Any] = PipelinedSubpartition()
    view = subpartition.create_view(Told())
    subpartition.add(buffer(pool, 1))
    subpartition.add(PartitionEvent())
    subpartition.add(buffer(pool, 2))
    assert subpartition.backlog == 2
    read(view)
    assert subpartition.backlog == 0


def test_barrier_overtaking(pool: BufferPool) -> None:
    subpartition: PipelinedSubpartition[Any] = PipelinedSubpartition()
    view = subpartition.create_view(Told())
    event = PartitionEvent()
    for element in (buffer(pool, 1), buffer(pool, 2), event, buffer(pool, 4)):
        subpartition.add(element)
    overtaken = subpartition.overtake(BARRIER)
    assert [
        [row["n"] for row in element.payload.to_pylist()]
        for element in overtaken
        if isinstance(element, PartitionBuffer)
    ] == [[1], [2], [4]]
    assert read(view) == [BARRIER]
    subpartition.release()
    assert pool._used_bytes == 0


def test_availability_after_priority() -> None:
    subpartition: PipelinedSubpartition[Any] = PipelinedSubpartition()
    told = Told()
    view = subpartition.create_view(told)
    assert subpartition.overtake(BARRIER) == ()
    assert told.times == 1
    assert read(view) == [BARRIER]


def test_overtaking_in_a_released_subpartition_captures_nothing(pool: BufferPool) -> None:
    subpartition: PipelinedSubpartition[Any] = PipelinedSubpartition()
    subpartition.add(buffer(pool, 1))
    subpartition.release()
    assert subpartition.overtake(BARRIER) == ()


def test_nothing_is_read_behind_a_barrier(pool: BufferPool) -> None:
    subpartition: PipelinedSubpartition[Any] = PipelinedSubpartition()
    told = Told()
    view = subpartition.create_view(told)
    subpartition.add(BARRIER)
    assert read(view) == [BARRIER]
    subpartition.add(buffer(pool, 1))
    assert (read(view), told.times) == ([], 1)


@pytest.mark.parametrize("slow", ["producer", "consumer", "neither", "both"])
def test_concurrent_produce_and_consume(slow: str) -> None:
    pool = BufferPool(4 * 1024)
    subpartition: PipelinedSubpartition[int] = PipelinedSubpartition()
    told = Told()
    lazy = threading.Event()
    view = subpartition.create_view(told)

    def produce() -> None:
        for number in range(128):
            assert pool.request(1024)
            subpartition.add(PartitionBuffer(number, 1024, pool))
            if slow in {"producer", "both"}:
                lazy.wait(0.0005)
        subpartition.finish()

    found: list[int] = []
    with ThreadPoolExecutor(1) as threads:
        producing = threads.submit(produce)
        while True:
            told.event.clear()
            element = view.next()
            if isinstance(element, EndOfPartition):
                break
            if element is None:
                assert told.event.wait(PATIENCE_S)
                continue
            assert isinstance(element, PartitionBuffer)
            found.append(element.payload)
            element.recycle()
            if slow in {"consumer", "both"}:
                lazy.wait(0.0005)
        producing.result(PATIENCE_S)
    assert found == list(range(128))
    assert pool._used_bytes == 0
    assert pool.peak_bytes <= 5 * 1024
