"""Which files the next batch gets."""

from __future__ import annotations

from headwater.enumerators.files.backlog import BatchLimits, FileBacklog
from headwater.enumerators.files.split import FileStatus


def file(name: str, modified_us: int, size: int = 10) -> FileStatus:
    return FileStatus(name, size, modified_us)


def filled(*files: FileStatus, latest_first: bool = False) -> FileBacklog:
    backlog = FileBacklog(latest_first=latest_first)
    for found in files:
        backlog.put(found)
    return backlog


A = file("a", 3_000)
B = file("b", 1_000, 100)
C = file("c", 2_000)


def test_the_oldest_come_first_or_the_newest() -> None:
    assert filled(A, B, C).take(BatchLimits()) == [B, C, A]
    assert filled(A, B, C, latest_first=True).take(BatchLimits(max_files=2)) == [A, C]


def test_limits_stop_a_batch_but_leave_it_one_file() -> None:
    backlog = filled(A, B, C)
    assert backlog.take(BatchLimits(max_bytes=50)) == [B]
    assert backlog.take(BatchLimits(max_bytes=15)) == [C]
    assert backlog.oldest_ms() == 3
    assert backlog.take(BatchLimits(max_plan_bytes=1)) == [A]
    assert backlog.take(BatchLimits(max_files=1)) == []
    assert filled(A, B, C).take(BatchLimits(max_files=1), most=0) == []


def test_a_batch_whose_plan_would_not_fit_into_the_offset_is_cut() -> None:
    files = [file(f"file:///data/{number}" + "x" * 900, number) for number in range(100)]
    assert len(filled(*files).take(BatchLimits(max_plan_bytes=10_000))) == 9


def test_only_the_last_version_of_a_path_is_read() -> None:
    backlog = filled(A, B, file("a", 500, 11))
    assert len(backlog) == 2
    assert backlog.take(BatchLimits()) == [file("a", 500, 11), B]


def test_what_is_put_back_comes_again_unless_it_changed() -> None:
    backlog = filled(A, C)
    taken = backlog.take(BatchLimits())
    backlog.put(file("a", 9_000))
    backlog.put_back(taken)
    assert backlog.take(BatchLimits()) == [C, file("a", 9_000)]


def test_the_oldest_is_known_with_the_newest_first_too() -> None:
    assert filled(A, B, latest_first=True).oldest_ms() == 1
    assert FileBacklog().oldest_ms() is None
