"""Partitions and their table: ResultPartitionTest and ResultPartitionManagerTest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.errors import ContractError, PartitionNotFoundError
from headwater.readers.runtime.partitions.blocking import BlockingResultPartition
from headwater.readers.runtime.partitions.pipelined import PipelinedResultPartition
from headwater.readers.runtime.partitions.result_partition import (
    PROCESS_PARTITIONS,
    ResultPartition,
    ResultPartitionId,
    ResultPartitionManager,
)
from headwater.readers.runtime.partitions.subpartition import BufferPool, EndOfPartition, PartitionBuffer

ID = ResultPartitionId("epoch-1/task-2", "attempt-0")
ROWS = pa.RecordBatch.from_pydict({"n": [1, 2, 3]})


def nothing() -> None:
    pass


class Made:
    """A partition and who was notified."""

    def __init__(self, kind: str, folder: Path, subpartitions: int = 2, budget_bytes: int = 1_000) -> None:
        self.pool = BufferPool(budget_bytes)
        self.notified: list[ResultPartitionId] = []
        self.partition: ResultPartition[Any]
        if kind == "pipelined":
            self.partition = PipelinedResultPartition(ID, subpartitions, self.pool)
        else:
            self.partition = BlockingResultPartition(
                ID, subpartitions, self.pool, folder=folder, on_consumable=self.notified.append
            )


@pytest.fixture(params=["pipelined", "blocking"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Made]:
    made = Made(request.param, tmp_path)
    yield made
    made.partition.release()
    assert made.pool._used_bytes == 0
    assert not list(tmp_path.iterdir())


def test_blocking_notifies_consumers_once_and_when_it_is_finished(tmp_path: Path) -> None:
    made = Made("blocking", tmp_path)
    made.partition.add(0, ROWS, 10)
    assert not made.notified
    made.partition.finish()
    assert made.notified == [ID]
    made.partition.release()


def test_add_on_partition(made: Made) -> None:
    assert made.partition.add(1, ROWS, 10)
    assert made.pool._used_bytes == 10
    made.partition.finish()
    view = made.partition.create_view(1, nothing)
    element = view.next()
    assert isinstance(element, PartitionBuffer)
    assert element.payload.equals(ROWS)
    element.recycle()
    assert isinstance(view.next(), EndOfPartition)


def test_blocking_partition_spills_over_its_budget_and_memory_stays_within(tmp_path: Path) -> None:
    made = Made("blocking", tmp_path, budget_bytes=100)
    for _ in range(5):
        made.partition.add(0, ROWS, 40)
    assert made.pool.peak_bytes == 120
    assert made.pool._used_bytes == 0
    assert len(list(tmp_path.iterdir())) == 1
    made.partition.finish()
    view = made.partition.create_view(0, nothing)
    assert sum(isinstance(view.next(), PartitionBuffer) for _ in range(6)) == 5
    view.release()
    made.partition.release()
    assert not list(tmp_path.iterdir())


def test_a_pipelined_partition_makes_its_producer_wait(tmp_path: Path) -> None:
    pool = BufferPool(100)
    partition: PipelinedResultPartition[Any] = PipelinedResultPartition(ID, 1, pool)
    assert partition.add(0, ROWS, 100)
    assert not partition.add(0, ROWS, 1, lambda: True)
    partition.release()


def test_references_go_down_with_each_consumed_subpartition_and_never_below_zero(made: Made) -> None:
    released: list[ResultPartitionId] = []
    made.partition.release_when_consumed(released.append)
    made.partition.on_consumed_subpartition(0)
    assert not released
    made.partition.on_consumed_subpartition(1)
    assert released == [ID]
    with pytest.raises(ContractError, match="given back already"):
        made.partition.on_consumed_subpartition(1)
    made.partition.release()
    made.partition.on_consumed_subpartition(1)


def test_manager_throws_partition_not_found(tmp_path: Path) -> None:
    with pytest.raises(PartitionNotFoundError, match="attempt-0"):
        ResultPartitionManager().create_view(ID, 0, nothing)


def test_manager_creates_views_of_registered_partitions(made: Made) -> None:
    manager = ResultPartitionManager()
    manager.register(made.partition)
    made.partition.finish()
    assert manager.create_view(ID, 0, nothing).next() is not None
    with pytest.raises(ContractError, match="registered already"):
        manager.register(made.partition)


def test_manager_creates_no_view_of_a_released_partition(made: Made) -> None:
    manager = ResultPartitionManager()
    manager.register(made.partition)
    manager.release_produced_by("attempt-0")
    assert made.partition.is_released
    with pytest.raises(PartitionNotFoundError):
        manager.create_view(ID, 0, nothing)
    assert not manager._partitions


def test_a_retried_task_never_reads_the_dead_ones_rows(made: Made) -> None:
    manager = ResultPartitionManager()
    manager.register(made.partition)
    made.partition.finish()
    with pytest.raises(PartitionNotFoundError):
        manager.create_view(ResultPartitionId(ID.partition, "attempt-1"), 0, nothing)
    manager.release_produced_by("attempt-1")
    assert not made.partition.is_released


def test_a_pipelined_partition_leaves_when_all_is_consumed(tmp_path: Path) -> None:
    made = Made("pipelined", tmp_path)
    manager = ResultPartitionManager()
    manager.register(made.partition)
    views = [manager.create_view(ID, index, nothing) for index in (0, 1)]
    views[0].release()
    views[0].release()
    assert not made.partition.is_released
    views[1].release()
    assert made.partition.is_released


def test_blocking_partition_is_consumable_multiple_times(tmp_path: Path) -> None:
    made = Made("blocking", tmp_path)
    manager = ResultPartitionManager()
    manager.register(made.partition)
    made.partition.add(0, ROWS, 10)
    made.partition.finish()
    for _ in range(3):
        view = manager.create_view(ID, 0, nothing)
        assert isinstance(view.next(), PartitionBuffer)
        view.release()
    assert not made.partition.is_released
    manager.release_produced_by("attempt-0")


def test_nothing_is_left_in_this_process() -> None:
    assert not PROCESS_PARTITIONS._partitions
