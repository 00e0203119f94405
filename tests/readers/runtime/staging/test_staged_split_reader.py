"""A queue that forgets what was acknowledged, received beside the task.

Staged first, read again from the log, fenced, and second deliveries dropped.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.clock import ManualClock
from headwater.core.errors import (
    DeadlineError,
    FencedError,
    QueueTakenError,
    SourceError,
    TransientSourceError,
)
from headwater.core.retry import Backoff
from headwater.core.split import Split, SplitRange
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.staging.receiver import Receiver
from headwater.readers.runtime.staging.receiver_link import OwnReceiverLink, ReceiverLink
from headwater.readers.runtime.staging.receiver_task import ReceiverAnswer, ReceiverTask, TaskQuestion
from headwater.readers.runtime.staging.staged_client import Delivery, StagedClient
from headwater.readers.runtime.staging.staged_split_reader import StagedSplitReader
from headwater.readers.runtime.staging.stager import Stager
from headwater.readers.runtime.staging.staging import RecentKeys, Staging
from tests.doubles import NumberSplit
from tests.exactly_once.waiting import until
from tests.stale_store import StaleStore

PATH = ("queue",)
SPLIT = NumberSplit("queue")
_FIELDS: list[pa.Field[Any]] = [pa.field("number", pa.int64())]
SCHEMA = pa.schema(_FIELDS)


@dataclass
class Queue:
    """The outside.

    What was taken and not acknowledged is delivered again, first, to the client that opens it next. Only the
    client that opened it last may acknowledge.
    """

    waiting: deque[int] = field(default_factory=deque)
    taken: dict[int, None] = field(default_factory=dict)
    acknowledged: list[int] = field(default_factory=list)
    opened: int = 0
    has_keys: bool = True
    refusals: deque[Exception] = field(default_factory=deque)


class QueueClient(StagedClient[int]):
    """A connection to a `Queue`."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._number = 0
        self._woken = threading.Event()

    def open(self, split: Split) -> None:
        if self._queue.refusals:
            raise self._queue.refusals.popleft()
        self._queue.waiting.extendleft(reversed(self._queue.taken))
        self._queue.taken.clear()
        self._queue.opened += 1
        self._number = self._queue.opened

    def poll(self, timeout_ms: int, most: int) -> Delivery[int] | None:
        if self._number != self._queue.opened:
            raise TransientSourceError("another client has the queue")
        numbers = [self._queue.waiting.popleft() for _ in range(min(most, len(self._queue.waiting)))]
        if not numbers:
            self._woken.wait(timeout_ms / 1000)
            self._woken.clear()
            return None
        self._queue.taken.update(dict.fromkeys(numbers))
        rows = pa.RecordBatch.from_pylist([{"number": number} for number in numbers], schema=SCHEMA)
        return Delivery(
            rows, [str(number).encode() if self._queue.has_keys else None for number in numbers], numbers
        )

    def acknowledge(self, tokens: Sequence[int]) -> None:
        if self._number != self._queue.opened:
            return
        for token in tokens:
            self._queue.taken.pop(token, None)
        self._queue.acknowledged += tokens

    def wake_up(self) -> None:
        self._woken.set()

    def close(self) -> None:
        pass


@dataclass
class Desk:
    """A query's log and its queue."""

    queue: Queue
    store: MemoryStateStore = field(default_factory=MemoryStateStore)
    deadline_ms: int = 60_000

    @property
    def staging(self) -> Staging:
        return Staging(self.store, "q", idle_ms=30, segment_rows=3, remembered_keys=12)

    def stager(self) -> Stager:
        """Return a writer that has taken over and is connected."""
        made = Stager(self.staging, "queue", SPLIT, lambda: QueueClient(self.queue), "Share.")
        made.take_over()
        made.connect()
        return made

    def task(self, split: Split) -> ReceiverTask:
        return ReceiverTask(
            "queue",
            self.staging,
            split,
            lambda: QueueClient(self.queue),
            Backoff(deadline_ms=self.deadline_ms, first_ms=1, most_ms=1),
            idle_ms=60_000,
            remedy="Share.",
        )

    def link(self, split: Split) -> OwnReceiverLink:
        return OwnReceiverLink(self.task(split))

    @contextmanager
    def reader(self, start: int = 0, stop: int | None = None) -> Iterator[StagedSplitReader]:
        made = StagedSplitReader(self.staging, self.link)
        made.handle_splits_changes([SplitRange(SPLIT, start, cast("int", stop))])
        try:
            yield made
        finally:
            made.close()

    def read(self, start: int = 0, stop: int | None = None) -> tuple[list[int], int]:
        """Read until caught up or finished; return the numbers and the position after them."""
        position = start
        numbers: list[int] = []
        with self.reader(start, stop) as reader:
            while True:
                fetched = reader.fetch()
                for record in fetched.records.get(PATH, ()):
                    numbers += cast("list[int]", record.rows.column("number").to_pylist())
                    position = cast("int", record.position)
                if PATH in fetched.caught_up or PATH in fetched.finished:
                    return numbers, position

    def logged(self) -> list[int]:
        batches = self.staging.log(PATH, "reader").view_after(0).batches()
        return [row["number"] for batch in batches for row in batch.to_pylist()]


def answer(link: ReceiverLink, number: int) -> ReceiverAnswer | None:
    link.ask(number, 10_000)
    return link.answer()


def answer_for_ever(link: ReceiverLink) -> None:
    while True:
        answer(link, 1_000)


def stage(stager: Stager) -> int:
    """Stage one delivery; return how many messages it had."""
    delivery = stager.poll(30)
    if delivery is None:
        return 0
    stager.stage(delivery)
    return len(delivery.tokens)


def test_messages_are_staged_emitted_and_acknowledged() -> None:
    desk = Desk(Queue(deque(range(7))))
    assert desk.read()[0] == list(range(7))
    assert desk.queue.acknowledged == list(range(7))


def test_a_second_reading_comes_from_the_log_and_asks_the_outside_nothing() -> None:
    desk = Desk(Queue(deque(range(7))))
    first, position = desk.read()
    desk.queue.waiting.extend([7, 8])
    opened = desk.queue.opened
    assert desk.read(0, position) == (first, position)
    assert desk.queue.opened == opened
    assert desk.read(position)[0] == [7, 8]


def test_nothing_is_acknowledged_before_it_is_durable() -> None:
    desk = Desk(Queue(deque(range(3))))

    class Down(MemoryStateStore):
        def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
            if b'"rows"' in data:
                raise OSError("no space left")
            return super().put_if_absent(name, data)

    desk.store = Down()
    with pytest.raises(SourceError, match="no space left"):
        desk.read()
    assert desk.queue.acknowledged == []


def test_what_was_durable_and_not_acknowledged_comes_once_by_its_key() -> None:
    desk = Desk(Queue(deque(range(3))))
    assert stage(desk.stager()) == 3
    desk.queue.taken = dict.fromkeys([0, 1, 2])  # the acknowledgements were lost on their way
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
            desk.staging.log(PATH, "idle").take_over()
    desk.queue.taken = dict.fromkeys(range(12))
    assert desk.read(position) == ([], position)
    assert desk.read()[0] == list(range(12))


def test_a_log_without_stored_windows_is_read_for_its_keys() -> None:
    desk = Desk(Queue(deque(range(6))))
    desk.read()
    desk.store.delete_folder("q/keys")
    desk.queue.taken = dict.fromkeys(range(6))
    assert desk.read()[0] == list(range(6))


def test_keys_are_stored_once_an_epoch_and_only_what_came_since_is_read_again() -> None:
    desk = Desk(Queue())
    position = 0
    for number in range(30):
        desk.queue.waiting.append(number)
        _, position = desk.read(position)
    assert len(desk.store.list("q/keys/queue")) == 2 + len(["last"])
    desk.staging.log(PATH, "driver").release_before(position)
    desk.queue.taken = dict.fromkeys(range(18, 30))
    assert desk.read(position) == ([], position)


def test_keys_are_known_though_no_listing_shows_what_was_written() -> None:
    """The clock stands, so listings stay as they were before the first write."""
    desk = Desk(Queue(), StaleStore(ManualClock()))
    position = 0
    seen: list[int] = []
    for number in range(30):
        desk.queue.waiting.append(number)
        rows, position = desk.read(position)
        seen += rows
    assert seen == list(range(30))
    desk.queue.taken = dict.fromkeys(range(18, 30))
    assert desk.read(position) == ([], position)


def test_without_a_key_it_comes_again() -> None:
    desk = Desk(Queue(deque(range(3)), has_keys=False))
    stage(desk.stager())
    desk.queue.taken = dict.fromkeys([0, 1, 2])
    assert desk.read()[0] == [0, 1, 2, 0, 1, 2]


def test_a_take_over_fences_the_old_attempt_and_keeps_what_it_staged() -> None:
    desk = Desk(Queue(deque(range(6))))
    old = desk.stager()
    assert stage(old) == 3
    delivery = old.poll(30)
    assert delivery is not None
    new = desk.stager()
    with pytest.raises(FencedError, match="took over"):
        old.stage(delivery)
    assert desk.queue.acknowledged == [0, 1, 2]
    assert stage(new) == 3
    assert desk.logged() == list(range(6))


def test_one_that_was_taken_over_while_it_connected_stages_nothing() -> None:
    desk = Desk(Queue(deque(range(3))))
    old = Stager(desk.staging, "queue", SPLIT, lambda: QueueClient(desk.queue), "Share.")
    old.take_over()
    desk.staging.log(PATH, "new").take_over()
    with pytest.raises(FencedError):
        old.connect()


def test_a_receiver_that_loses_its_queue_to_another_one_does_not_take_it_back() -> None:
    desk = Desk(Queue(deque(range(3))))
    link = desk.link(SPLIT)
    while (reply := answer(link, 0)) is None or reply.end is None or reply.end < 2:
        pass
    new = desk.stager()
    opened = desk.queue.opened
    with pytest.raises(FencedError):
        answer_for_ever(link)
    link.close()
    assert desk.queue.opened == opened
    desk.queue.waiting.append(3)
    assert stage(new) == 1


def test_a_receiver_of_another_query_ends_when_its_queue_is_taken_over() -> None:
    desk = Desk(Queue())
    old = desk.stager()
    other = Stager(
        replace(desk.staging, folder="other"), "queue", SPLIT, lambda: QueueClient(desk.queue), "Share."
    )
    other.take_over()
    with pytest.raises(SourceError, match=r"another query has begun to read queue\. Share\."):
        old.check()
    other.connect()


class TakenClient(QueueClient):
    """A connection that somebody else takes the queue from, some time after it was made."""

    def __init__(self, queue: Queue, clock: ManualClock, *, told: bool, after_ms: int) -> None:
        super().__init__(queue)
        self._clock = clock
        self._error = QueueTakenError("taken") if told else TransientSourceError("closed")
        self._after_ms = after_ms
        self._is_lost = False

    def poll(self, timeout_ms: int, most: int) -> Delivery[int] | None:
        if self._is_lost:
            raise self._error
        self._clock.advance(self._after_ms)
        self._is_lost = True
        return None


@pytest.mark.parametrize(
    ("told", "after_ms", "message"),
    [
        (True, 3_600_000, r"taken: 3 times while this query reads queue, .* taken messages\. Share\."),
        (False, 5_000, r"closed: 6 times within a minute, .* may take queue from .*\. Share\."),
    ],
)
def test_a_stranger_that_takes_the_queue_again_and_again_is_an_error(
    told: bool, after_ms: int, message: str
) -> None:
    desk = Desk(Queue())
    clock = ManualClock()
    task = replace(
        desk.task(SPLIT), client=lambda: TakenClient(desk.queue, clock, told=told, after_ms=after_ms)
    )
    receiver = Receiver(task, clock)
    receiver.run()
    with pytest.raises(SourceError, match=message):
        raise receiver.hear(TaskQuestion(0, 1)).error or AssertionError("nothing noticed")


def test_a_receiver_that_a_task_waits_for_is_not_unasked() -> None:
    clock = ManualClock()
    receiver = Receiver(Desk(Queue()).task(SPLIT), clock)
    asking = threading.Thread(target=receiver.hear, args=(TaskQuestion(0, 60_000),))
    asking.start()

    def is_asked() -> bool:
        clock.advance(1_000)
        return receiver.unasked_ms == 0

    until(is_asked, "the question")
    clock.advance(60_000)
    receiver.stop()
    receiver.run()
    asking.join()
    assert receiver.unasked_ms == 0
    clock.advance(5)
    assert receiver.unasked_ms == 5


def test_a_connection_that_is_lost_now_and_then_is_no_stranger() -> None:
    desk = Desk(Queue())
    clock = ManualClock()
    left = 20

    def client() -> StagedClient[int]:
        nonlocal left
        left -= 1
        if not left:
            receiver.stop()
        return TakenClient(desk.queue, clock, told=False, after_ms=13_000)

    receiver = Receiver(replace(desk.task(SPLIT), client=client), clock)
    receiver.run()
    assert not receiver.has_news


def test_a_queue_that_is_away_is_asked_again_until_the_deadline() -> None:
    desk = Desk(Queue(deque(range(3)), refusals=deque([TransientSourceError("away")] * 3)))
    assert desk.read()[0] == [0, 1, 2]
    desk = Desk(Queue(refusals=deque([TransientSourceError("away")] * 1_000_000)), deadline_ms=50)
    with pytest.raises(DeadlineError, match="away"):
        desk.read()


@pytest.mark.parametrize("is_first", [True, False])
def test_a_queue_that_has_never_answered_is_not_waited_for_as_one_that_has(is_first: bool) -> None:
    desk = Desk(Queue(deque([1])))
    if not is_first:
        desk.read()
    desk.queue.refusals.extend([TransientSourceError("away")] * 10_000)
    clock = ManualClock()
    backoff = Backoff(deadline_ms=desk.deadline_ms, first_ms=100, most_ms=1_000)
    receiver = Receiver(replace(desk.task(SPLIT), backoff=backoff), clock)
    receiver.run()
    error = receiver.hear(TaskQuestion(0, 0)).error
    assert isinstance(error, DeadlineError)
    assert ("nothing has ever answered there" in str(error)) is is_first
    assert clock.monotonic_ms() < 8_000 if is_first else clock.monotonic_ms() > 50_000


def test_a_key_that_comes_twice_in_one_delivery_counts_once() -> None:
    desk = Desk(Queue(deque([1, 1, 2])))
    assert desk.read()[0] == [1, 2]
    assert desk.queue.acknowledged == [1, 1, 2]


def test_what_no_kept_epoch_reads_is_released_and_numbers_go_on() -> None:
    desk = Desk(Queue(deque(range(9))))
    _, position = desk.read()
    desk.staging.log(PATH, "driver").release_before(position)
    assert len(desk.store.list("q/log/queue")) == 1 + len(["begin"])
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
    stager = None
    for step in steps:
        if step == "crash":
            stager = None
        elif step == "lost":
            last = desk.queue.acknowledged[-3:]
            desk.queue.taken.update(dict.fromkeys(last))
            stager = None
        else:
            desk.queue.waiting.extend(range(sent, sent + step))
            sent += step
            stager = stager or desk.stager()
            if step:
                stage(stager)
    stager = desk.stager()
    while desk.queue.waiting:
        stage(stager)
    assert Counter(desk.logged()) == Counter(range(sent))
