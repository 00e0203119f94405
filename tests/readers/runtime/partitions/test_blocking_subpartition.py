"""What a blocking subpartition promises: Flink's tests of blocking and spillable ones."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from headwater.core.errors import ContractError
from headwater.readers.runtime.partitions.blocking import BlockingSubpartition
from headwater.readers.runtime.partitions.subpartition import BufferPool, EndOfPartition
from tests.patience import PATIENCE_S
from tests.readers.runtime.partitions.consuming import BARRIER, Told, buffer, read


def blocking(tmp_path: Path, pool: BufferPool, *, spilled: bool, count: int = 5) -> BlockingSubpartition:
    subpartition = BlockingSubpartition(0, tmp_path / "0.arrow")
    for number in range(count):
        subpartition.add(buffer(pool, number))
        if spilled and number == 1:
            subpartition.spill()
    subpartition.finish()
    return subpartition


def test_create_reader_before_finished(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="read when it is finished"):
        BlockingSubpartition(0, tmp_path / "0.arrow").create_view(Told())


@pytest.mark.parametrize("spilled", [False, True])
def test_read_10_consumers_sequential(tmp_path: Path, pool: BufferPool, spilled: bool) -> None:
    subpartition = blocking(tmp_path, pool, spilled=spilled)
    for _ in range(10):
        view = subpartition.create_view(Told())
        assert [element for element in read(view) if isinstance(element, list)] == [
            [number] for number in range(5)
        ]
        view.release()


def test_read_10_consumers_concurrent(tmp_path: Path, pool: BufferPool) -> None:
    subpartition = blocking(tmp_path, pool, spilled=True, count=20)

    def consume(_: int) -> list[Any]:
        view = subpartition.create_view(Told())
        found = read(view)
        view.release()
        return found

    with ThreadPoolExecutor(10) as threads:
        for found in threads.map(consume, range(10)):
            assert found == [*([number] for number in range(20)), EndOfPartition()]


def test_consume_spilled_partition(tmp_path: Path, pool: BufferPool) -> None:
    subpartition = BlockingSubpartition(0, tmp_path / "0.arrow")
    subpartition.add(buffer(pool, 1))
    subpartition.add(BARRIER)
    subpartition.add(buffer(pool, 2))
    assert pool._used_bytes == 200
    subpartition.spill()
    subpartition.spill()
    assert pool._used_bytes == 0
    subpartition.add(buffer(pool, 3))
    assert pool._used_bytes == 0
    subpartition.finish()
    assert read(subpartition.create_view(Told())) == [[1], BARRIER, [2], [3], EndOfPartition()]


def test_release_memory_after_finish_does_nothing(tmp_path: Path, pool: BufferPool) -> None:
    subpartition = blocking(tmp_path, pool, spilled=False)
    subpartition.spill()
    assert not subpartition.is_spilled
    assert not list(tmp_path.iterdir())


def test_concurrent_finish_and_release_memory(tmp_path: Path, pool: BufferPool) -> None:
    for _ in range(20):
        subpartition = BlockingSubpartition(0, tmp_path / "0.arrow")
        subpartition.add(buffer(pool, 1))
        with ThreadPoolExecutor(2) as threads:
            calls: list[Callable[[], None]] = [subpartition.finish, subpartition.spill]
            for done in [threads.submit(call) for call in calls]:
                done.result(PATIENCE_S)
        assert read(subpartition.create_view(Told())) == [[1], EndOfPartition()]
        subpartition.release()


def test_release_partition_and_get_next(tmp_path: Path, pool: BufferPool) -> None:
    subpartition = blocking(tmp_path, pool, spilled=True)
    view = subpartition.create_view(Told())
    view.next()
    view.release()
    assert view.next() is None
    view = subpartition.create_view(Told())
    subpartition.release()
    assert view.next() is None
    assert not list(tmp_path.iterdir())


def test_recycle_buffer_and_consumer_on_failure(tmp_path: Path, pool: BufferPool) -> None:
    subpartition = BlockingSubpartition(0, tmp_path / "missing" / "0.arrow")
    subpartition.add(buffer(pool, 1))
    with pytest.raises(FileNotFoundError):
        subpartition.spill()
    with pytest.raises(FileNotFoundError):
        subpartition.add(buffer(pool, 2))
    subpartition.release()
    assert pool._used_bytes == 0
