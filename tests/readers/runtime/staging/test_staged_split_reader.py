"""A queue that forgets what was acknowledged.

Staged first, read again from the log, fenced, and second deliveries dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.barrier_reader import EpochRecords
from headwater.core.errors import FencedError
from headwater.core.split import Split, SplitRange
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.staging.staged_client import Delivery, StagedClient
from headwater.readers.runtime.staging.staged_split_reader import (
    RecentKeys,
    StagedSplitReader,
    Staging,
    segment_log,
)
from tests.doubles import NumberSplit

PATH = ("queue",)
_FIELDS: list[pa.Field[Any]] = [pa.field("number", pa.int64())]
SCHEMA = pa.schema(_FIELDS)


@dataclass
class Queue:
    """The outside.

    What was taken and not acknowledged is delivered again, first, to the client that opens it next.
    """

    waiting: deque[int] = field(default_factory=deque)
    taken: dict[int, None] = field(default_factory=dict)
    acknowledged: list[int] = field(default_factory=list)
    clients: int = 0
    has_keys: bool = True


class QueueClient(StagedClient[int]):
    """A connection to a `Queue`."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def open(self, split: Split) -> None:
        self._queue.waiting.extendleft(reversed(self._queue.taken))
        self._queue.taken.clear()
        self._queue.clients += 1

    def poll(self, timeout_ms: int, most: int) -> Delivery[int] | None:
        numbers = [self._queue.waiting.popleft() for _ in range(min(most, len(self._queue.waiting)))]
        if not numbers:
            return None
        self._queue.taken.update(dict.fromkeys(numbers))
        rows = pa.RecordBatch.from_pylist([{"number": number} for number in numbers], schema=SCHEMA)
        return Delivery(
            rows, [str(number).encode() if self._queue.has_keys else None for number in numbers], numbers
        )

    def acknowledge(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._queue.taken.pop(token, None)
        self._queue.acknowledged += tokens

    def close(self) -> None:
        self._queue.clients -= 1


def values(rows: pa.RecordBatch) -> list[int]:
    return cast("list[int]", rows.column("number").to_pylist())


@dataclass
class Desk:
    """A query's log and its queue."""

    queue: Queue
    store: MemoryStateStore = field(default_factory=MemoryStateStore)

    @property
    def staging(self) -> Staging:
        return Staging(self.store, "q", idle_ms=1, segment_rows=3, remembered_keys=12)

    def reader(self, start: int = 0, stop: int | None = None) -> StagedSplitReader:
        made = StagedSplitReader(self.staging, lambda: QueueClient(self.queue))
        made.handle_splits_changes([SplitRange(NumberSplit("queue"), start, cast("int", stop))])
        return made

    def read(self, start: int = 0, stop: int | None = None) -> tuple[list[int], int]:
        """Read until caught up or finished; return the numbers and the position after them."""
        reader = self.reader(start, stop)
        position = start
        numbers: list[int] = []
        while True:
            fetched = reader.fetch()
            for record in fetched.records.get(PATH, ()):
                numbers += values(record.rows)
                position = cast("int", record.position)
            if PATH in fetched.caught_up or PATH in fetched.finished:
                reader.close()
                return numbers, position


def numbers_of(fetched: EpochRecords) -> list[int]:
    return [number for record in fetched.records.get(PATH, ()) for number in values(record.rows)]


def test_messages_are_staged_emitted_and_then_acknowledged() -> None:
    desk = Desk(Queue(deque(range(7))))
    assert desk.read()[0] == list(range(7))
    assert desk.queue.acknowledged == list(range(7))
    assert desk.queue.clients == 0


def test_a_second_reading_comes_from_the_log_and_asks_the_outside_nothing() -> None:
    desk = Desk(Queue(deque(range(7))))
    first, position = desk.read()
    desk.queue.waiting.extend([7, 8])
    assert desk.read(0, position) == (first, position)
    assert desk.read(position)[0] == [7, 8]


def test_nothing_is_acknowledged_before_it_is_durable() -> None:
    desk = Desk(Queue(deque(range(3))))

    class Down(MemoryStateStore):
        def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
            if b'"rows"' in data:
                raise OSError("no space left")
            return super().put_if_absent(name, data)

    desk.store = Down()
    with pytest.raises(OSError, match="no space left"):
        desk.read()
    assert desk.queue.acknowledged == []


def test_what_was_durable_and_not_acknowledged_comes_once_by_its_key() -> None:
    desk = Desk(Queue(deque(range(3))))
    lost = desk.reader()
    fetched = lost.fetch()
    desk.queue.taken = dict.fromkeys([0, 1, 2])  # the acknowledgements were lost on their way
    assert numbers_of(fetched) == [0, 1, 2]
    desk.queue.waiting.append(3)
    assert desk.read()[0] == [0, 1, 2, 3]
    assert desk.queue.taken == {}


def test_a_key_is_remembered_over_however_many_attempts_and_small_segments() -> None:
    """Each attempt leaves a record in the log, whether it stages anything or not."""
    desk = Desk(Queue())
    position = 0
    for number in range(12):
        desk.queue.waiting.append(number)
        _, position = desk.read(position)
        for _ in range(20):
            segment_log(desk.staging, PATH, "idle").take_over()
    desk.queue.taken = dict.fromkeys(range(12))
    assert desk.read(position) == ([], position)
    assert desk.read()[0] == list(range(12))


def test_without_a_key_it_comes_again() -> None:
    desk = Desk(Queue(deque(range(3)), has_keys=False))
    desk.reader().fetch()
    desk.queue.taken = dict.fromkeys([0, 1, 2])
    assert desk.read()[0] == [0, 1, 2, 0, 1, 2]


def test_a_take_over_fences_the_old_attempt_and_keeps_what_it_staged() -> None:
    desk = Desk(Queue(deque(range(6))))
    old = desk.reader()
    assert numbers_of(old.fetch()) == [0, 1, 2]
    new = desk.reader()
    assert numbers_of(new.fetch()) == [0, 1, 2]
    with pytest.raises(FencedError, match="took over"):
        old.fetch()
    assert desk.queue.acknowledged == [0, 1, 2]
    assert numbers_of(new.fetch()) == [3, 4, 5]
    new.close()
    old.close()


def test_a_key_that_comes_twice_in_one_delivery_counts_once() -> None:
    desk = Desk(Queue(deque([1, 1, 2])))
    assert desk.read()[0] == [1, 2]
    assert desk.queue.acknowledged == [1, 1, 2]


def test_what_no_kept_epoch_reads_is_released_and_numbers_go_on() -> None:
    desk = Desk(Queue(deque(range(9))))
    _, position = desk.read()
    segment_log(desk.staging, PATH, "driver").release_before(position)
    assert len(desk.store.list("q/log/queue")) == 1
    desk.queue.waiting.append(9)
    numbers, after = desk.read(position)
    assert numbers == [9]
    assert after > position


def test_the_window_forgets_the_oldest_keys() -> None:
    keys = RecentKeys(3)
    keys.add([b"a", b"b", b"c", None, b"d"])
    assert keys.first_deliveries([b"a", b"b", None, b"d", b"a"]) == [0, 2]


@given(st.lists(st.one_of(st.integers(0, 3), st.just("crash"), st.just("lost")), max_size=30))
def test_every_message_is_in_the_log_once_wherever_attempts_crash(steps: list[Any]) -> None:
    """A number delivers so many messages; a crash ends an attempt.

    A lost acknowledgement has its messages delivered again.
    """
    desk = Desk(Queue())
    sent = 0
    reader = None
    for step in steps:
        if step == "crash":
            reader = None
        elif step == "lost":
            last = desk.queue.acknowledged[-3:]
            desk.queue.taken.update(dict.fromkeys(last))
            reader = None
        else:
            desk.queue.waiting.extend(range(sent, sent + step))
            sent += step
            reader = reader or desk.reader()
            if PATH in reader.fetch().caught_up:
                reader = None
    assert desk.read()[0] == list(range(sent))
