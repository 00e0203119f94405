"""The segment log: durable, fenced, read after a checkpoint by any process."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import ContractError, FencedError, StateLocationError
from headwater.core.state_location import LocalStateStore
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.partitions.segment_log import SegmentLog, release_logs
from tests.patience import PATIENCE_S
from tests.stale_store import STALE_MS, StaleStore

ROOT = Path(__file__).resolve().parents[4]


class CountingStore(MemoryStateStore):
    """Counts the calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        self.calls["put_if_absent"] += 1
        return super().put_if_absent(name, data, durable=durable)

    def get(self, name: str) -> bytes | None:
        self.calls["get"] += 1
        return super().get(name)

    def list(self, folder: str) -> list[str]:
        self.calls["list"] += 1
        return super().list(folder)


def rows(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(numbers)})


def log_of(store: MemoryStateStore, attempt: str = "one") -> SegmentLog:
    log = SegmentLog(store, "log", attempt)
    log.take_over()
    return log


def numbers(batches: list[pa.RecordBatch]) -> list[int]:
    return [row["n"] for batch in batches for row in batch.to_pylist()]


def test_a_consumer_in_another_process_finds_the_log_and_reads_it_in_order() -> None:
    store = MemoryStateStore()
    elsewhere = SegmentLog(store, "log", "reader")
    assert not list(elsewhere.view_after(0).batches())
    log = log_of(store)
    log.append([rows(1), rows(2, 3)])
    log.append([rows(4)])
    assert numbers(list(elsewhere.view_after(0).batches())) == [1, 2, 3, 4]


def test_a_view_goes_on_with_what_came_meanwhile() -> None:
    log = log_of(MemoryStateStore())
    log.append([rows(1)])
    view = log.view_after(0)
    assert numbers(list(view.batches())) == [1]
    log.append([rows(2)])
    assert numbers(list(view.batches())) == [2]


def test_a_view_opens_after_a_checkpoint_and_what_was_before_is_released_when_the_next_completes() -> None:
    log = log_of(MemoryStateStore())
    seventh = log.append([rows(1)]) + 1
    eighth = log.append([rows(2)]) + 1
    log.append([rows(3)])
    assert numbers(list(log.view_after(seventh).batches())) == [2, 3]
    assert numbers(list(log.view_after(seventh, eighth).batches())) == [2]
    log.release_before(eighth)
    log.release_before(eighth)
    assert numbers(list(log.view_after(eighth).batches())) == [3]
    with pytest.raises(StateLocationError, match=f"segment {seventh} of log is gone"):
        list(log.view_after(seventh).batches())


def test_taking_over_fences_the_old_attempt_and_keeps_what_it_wrote() -> None:
    store = MemoryStateStore()
    old = log_of(store, "old")
    old.append([rows(1)])
    new = log_of(store, "new")
    with pytest.raises(FencedError, match="another attempt than old"):
        old.append([rows(2)])
    new.append([rows(3)])
    with pytest.raises(FencedError):
        old.append([rows(2)])
    assert numbers(list(new.view_after(0).batches())) == [1, 3]


def test_a_segment_put_just_before_a_take_over_stays_and_its_writer_is_fenced_with_the_next() -> None:
    """The attempt that took over may have read it already, so it must not vanish under a second reading."""
    store = MemoryStateStore()
    old = log_of(store, "old")
    old.append([rows(1)])
    end = SegmentLog(store, "log", "new").take_over()
    with pytest.raises(FencedError):
        old.append([rows(2)])
    assert numbers(list(SegmentLog(store, "log", "reader").view_after(0, end).batches())) == [1]


def test_a_segment_is_one_write_and_is_read_without_a_look_at_the_log() -> None:
    store = CountingStore()
    log = log_of(store)
    first = log.append([rows(0)])
    store.calls.clear()
    for number in range(1, 10):
        log.append([rows(number)])
    assert store.calls == Counter(put_if_absent=9)
    store.calls.clear()
    assert numbers(list(log.view_after(first, first + 10).batches())) == list(range(10))
    assert store.calls == Counter(get=10)


def test_a_fenced_attempt_stays_fenced_when_all_is_released() -> None:
    store = MemoryStateStore()
    old = log_of(store, "old")
    new = log_of(store, "new")
    new.append([rows(1)])
    new.release_before(new.end())
    for _ in range(3):
        with pytest.raises(FencedError):
            old.check()
        with pytest.raises(FencedError):
            old.append([rows(2)])
    new.check()


def test_a_segment_that_is_cut_short_or_gone_is_an_error() -> None:
    store = MemoryStateStore()
    log = log_of(store)
    first = log.append([rows(1)])
    log.append([rows(2)])
    whole = store.get(f"log/{first:012d}")
    assert whole is not None
    store.put(f"log/{first:012d}", whole[:-1])
    with pytest.raises(StateLocationError, match="cut short"):
        list(log.view_after(0).batches())
    store.put(f"log/{first:012d}", b"something else")
    with pytest.raises(StateLocationError, match="not a segment"):
        list(log.view_after(0).batches())
    store.delete(f"log/{first:012d}")
    with pytest.raises(StateLocationError, match="is gone"):
        list(log.view_after(first).batches())


def test_a_range_that_is_not_all_there_is_an_error_and_not_fewer_rows() -> None:
    log = log_of(MemoryStateStore())
    first = log.append([rows(1)])
    log.append([rows(2)])
    assert numbers(list(log.view_after(first, first + 2).batches())) == [1, 2]
    with pytest.raises(StateLocationError, match=f"segment {first + 2} of log is gone"):
        list(log.view_after(first, first + 3).batches())


def test_writing_without_having_taken_over_breaks_the_contract() -> None:
    with pytest.raises(ContractError, match="take_over"):
        SegmentLog(MemoryStateStore(), "log", "one").append([rows(1)])


@hypothesis.settings(max_examples=100)
@hypothesis.given(
    st.lists(st.sampled_from(["take over", "connect", "append", "release"]), max_size=30),
    st.integers(0, 1 << 30),
)
def test_however_attempts_interleave_each_segment_that_was_acknowledged_is_read_once(
    steps: list[str], seed: int
) -> None:
    """A writer connects, looks whether it is the writer still, and appends what comes over the connection.

    It may acknowledge that as long as no other one has connected. Listings may be old.
    """
    rng = random.Random(seed)
    clock = ManualClock()
    store = StaleStore(clock)
    attempts = [SegmentLog(store, "log", f"attempt-{number}") for number in range(3)]
    connected: SegmentLog | None = None
    opened: set[str] = set()
    acknowledged: list[int] = []
    for at, step in enumerate(["take over", "connect", *steps]):
        attempt = rng.choice(attempts)
        clock.advance(rng.choice([0, 0, 4_000, 2 * STALE_MS]))
        if step == "take over":
            attempt.take_over()
            opened.discard(attempt.attempt)
        elif step == "connect":
            # Whoever connects takes the queue away from the one before, also when it is refused then.
            connected = attempt
            try:
                attempt.check()
                opened.add(attempt.attempt)
            except (FencedError, ContractError):
                connected = None
        elif step == "append" and attempt.attempt in opened:
            try:
                attempt.append([rows(at)])
            except (FencedError, ContractError):
                continue
            # The outside hears an acknowledgement over the last connection only.
            if attempt is connected:
                acknowledged.append(at)
        elif step == "release":
            gone = set(numbers(list(attempt.view_after(0).batches())))
            attempt.release_before(attempt.end())
            left = set(numbers(list(attempt.view_after(0).batches())))
            acknowledged = [number for number in acknowledged if number not in gone - left]
    read = numbers(list(attempts[0].view_after(0).batches()))
    assert [number for number in read if number in acknowledged] == acknowledged


def test_a_take_over_finds_the_end_though_nothing_is_listed() -> None:
    clock = ManualClock()
    store = StaleStore(clock)
    old = SegmentLog(store, "log", "old")
    old.take_over()
    for number in range(5):
        old.append([rows(number)])
    clock.advance(2 * STALE_MS)
    old.release_before(4)
    store.forget_listings()
    new = SegmentLog(store, "log", "new")
    assert new.take_over() == 7
    with pytest.raises(FencedError):
        old.check()
    assert new.begin() == 4
    assert numbers(list(new.view_after(4, 6).batches())) == [3, 4]


def test_a_release_by_an_older_listing_than_the_last_one_does_not_move_the_begin_back() -> None:
    clock = ManualClock()
    store = StaleStore(clock)
    log = log_of(store)
    for number in range(9):
        log.append([rows(number)])
        clock.advance(STALE_MS)
    log.release_before(8)
    clock.advance(-4 * STALE_MS)
    log.release_before(8)
    assert log.begin() == 8
    assert log_of(store, "new").append([rows(9)]) == 11


def test_a_log_that_was_released_before_there_were_marks_is_gone_on_with() -> None:
    store = MemoryStateStore()
    log = log_of(store)
    for number in range(5):
        log.append([rows(number)])
    for number in range(3):
        store.delete(f"log/{number:012d}")
    assert log.begin() == 3
    new = log_of(store, "new")
    new.append([rows(5)])
    assert numbers(list(new.view_after(0).batches())) == [2, 3, 4, 5]


def test_logs_are_released_at_the_same_time() -> None:
    """As on a store where each call takes long: the time is that of the longest log."""
    together = threading.Barrier(4, timeout=PATIENCE_S)

    class Slow(MemoryStateStore):
        def delete_all(self, names: Iterable[str]) -> None:
            together.wait()
            super().delete_all(names)

    store = Slow()
    logs = [SegmentLog(store, f"log-{number}", "one") for number in range(4)]
    for log in logs:
        log.take_over()
        log.append([rows(1)])
    release_logs((log, 2) for log in logs)
    assert [len(store.list(f"log-{number}")) for number in range(4)] == [2] * 4
    logs[0].delete()
    assert not store.list("log-0")


def test_a_process_of_its_own_reads_the_log_after_a_checkpoint(tmp_path: Path) -> None:
    log = SegmentLog(LocalStateStore(tmp_path), "log", "writer")
    log.take_over()
    mark = log.append([rows(0)]) + 1
    log.append([rows(1, 2), rows(3)])
    program = (
        "import sys; from pathlib import Path; from headwater.core.state_location import LocalStateStore;"
        "from headwater.readers.runtime.partitions.segment_log import SegmentLog;"
        "log = SegmentLog(LocalStateStore(Path(sys.argv[1])), 'log', 'reader');"
        "print([b.to_pydict()['n'] for b in log.view_after(int(sys.argv[2])).batches()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), str(mark)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=PATIENCE_S,
    )
    assert done.stdout == "[[1, 2], [3]]\n"
