"""Files that a queue tells of, until the query ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headwater.core.clock import SystemClock
from headwater.core.errors import HeadwaterError
from headwater.enumerators.files.arrivals import ArrivalWatch
from headwater.enumerators.files.event_queue import EventQueue, ObjectPlace, QueueMessage, QueueSettings
from headwater.enumerators.files.split import FileStatus
from tests.patience import PATIENCE_S


class SlowQueue(EventQueue):
    """Answers its first question when the test says so; then the queue is empty."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        super().__init__(QueueSettings(url="slow://queue", listing_interval_ms=1))
        self.asked = threading.Event()
        self.gate = threading.Event()
        self.deleted: list[QueueMessage] = []
        self._on_end = on_end
        self._questions = 0

    def receive(self) -> list[QueueMessage]:
        self._questions += 1
        if self._questions > 1:
            self._on_end()
            return []
        self.asked.set()
        assert self.gate.wait(PATIENCE_S)
        return [QueueMessage("a", ("1",))]

    def delete(self, messages: Sequence[QueueMessage]) -> None:
        self.deleted += messages

    @staticmethod
    def arrived_objects(body: str) -> list[ObjectPlace]:
        return [("bucket", body)]

    @staticmethod
    def shared_options(storage: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def _known(self, error: Exception, message: str) -> HeadwaterError | None:
        raise NotImplementedError


def end_of(watch: ArrivalWatch) -> None:
    thread = watch._thread
    assert thread is not None
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def watched(is_closed_early: bool) -> tuple[list[QueueMessage], list[str], ArrivalWatch]:
    """What was deleted and looked at, when the query ends while the queue is asked, or after it was."""
    looked_at: list[str] = []

    def find(_: str, key: str) -> FileStatus:
        looked_at.append(key)
        return FileStatus(key, 1, 1)

    closing = threading.Event()
    queue = SlowQueue(on_end=closing.set)
    watch = ArrivalWatch(queue, find, SystemClock(), closing)
    assert watch.take() == []
    assert queue.asked.wait(PATIENCE_S)
    if is_closed_early:
        watch.close()
    queue.gate.set()
    end_of(watch)
    return queue.deleted, looked_at, watch


def test_messages_that_come_after_the_end_of_the_query_stay_in_the_queue() -> None:
    deleted, looked_at, watch = watched(is_closed_early=True)
    assert (deleted, looked_at, watch.take()) == ([], [], [])


def test_messages_are_deleted_when_their_files_are_held() -> None:
    deleted, looked_at, watch = watched(is_closed_early=False)
    assert ([each.body for each in deleted], looked_at) == (["a"], ["a"])
    assert watch.take() == [FileStatus("a", 1, 1)]


def test_an_object_store_that_does_not_answer_keeps_no_process_alive_after_the_query() -> None:
    program = """
import threading
from headwater.core.clock import SystemClock
from headwater.enumerators.files.arrivals import ArrivalWatch
from tests.enumerators.files.test_arrivals import SlowQueue

looking = threading.Event()

def find(*place):
    looking.set()
    threading.Event().wait()

queue = SlowQueue(on_end=lambda: None)
queue.gate.set()
watch = ArrivalWatch(queue, find, SystemClock(), threading.Event())
watch.take()
assert looking.wait(60)
watch.close()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE_S)
