"""The contract of `StagedClient`: what a queue must keep so that each of its messages is staged once."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from headwater.core.errors import FencedError, SourceError
from headwater.core.source import Boundedness
from headwater.core.split import Split
from headwater.readers.runtime.partitions.segment_log import SegmentLog
from headwater.readers.runtime.staging.receiver_task import ReceiverTask
from headwater.readers.runtime.staging.staged_client import Delivery, StagedClient
from headwater.readers.runtime.staging.staged_source import StagedSource
from headwater.readers.runtime.staging.stager import Stager
from headwater.readers.runtime.staging.staging import KEY_COLUMN
from headwater.testing.contracts import keeps
from headwater.testing.driving import with_patience
from headwater.testing.engine import CrashError
from headwater.testing.enumerator_tests import RecordingContext
from headwater.testing.subject import Subject

_ROUNDS: Final = 8
_STEPS: Final = 12
_LONG_MS: Final = 600_000


class StagedTests(Subject):
    """A queue delivers again what was not acknowledged, to the last connection alone.

    For sources of the class `StagedSource`, beside `SourceTests`: these drive queries, and this suite the
    client. Every connection is looked at until it brings nothing for the option ``idleTimeout``.
    """

    def test_what_was_not_acknowledged_is_delivered_again_under_the_same_keys(self) -> None:
        with self._queue() as queue:
            first = queue.look()
            again = queue.look()
            lost = _counted(first) - _counted(again)
            keeps(
                StagedClient,
                not lost,
                f"messages that were not acknowledged are delivered again to the next connection, with the "
                f"same rows and keys; {lost.total()} of {_counted(first).total()} were not",
            )

    def test_what_was_acknowledged_is_not_delivered_again(self) -> None:
        with self._queue() as queue:
            queue.look(acknowledges=True)
            again = _counted(queue.look())
            keeps(
                StagedClient.acknowledge,
                not again,
                f"lets the outside forget messages; {again.total()} came again, for example "
                f"{next(iter(again), None)!r}",
            )

    def test_an_older_connection_can_acknowledge_nothing(self) -> None:
        with self._queue() as queue, queue.connected() as older:
            delivery = queue.poll(older)
            assert delivery is not None, "options() must make a world in which a queue has messages"
            with queue.connected():
                older.acknowledge(delivery.tokens)
            lost = _counted([delivery]) - _counted(queue.look())
            keeps(
                StagedClient.open,
                not lost,
                "an earlier connection loses its right to the queue: what is acknowledged over it from now "
                f"on has no effect; {lost.total()} messages are gone, for example {next(iter(lost), None)!r}",
            )

    def test_a_poll_brings_no_more_than_it_is_asked_for(self) -> None:
        with self._queue() as queue, queue.connected() as client:
            delivery = client.poll(queue.idle_ms, 1)
            keeps(
                StagedClient.poll,
                delivery is None or delivery.rows.num_rows <= 1,
                "returns at most so many messages as it is asked for",
            )

    def test_a_wake_up_ends_a_poll(self) -> None:
        with self._queue() as queue:
            waiting: list[StagedClient[Any]] = []

            def wait() -> None:
                with queue.connected() as client:
                    while queue.poll(client) is not None:
                        pass
                    waiting.append(client)
                    client.poll(_LONG_MS, 1)

            def wake_up() -> None:
                for client in waiting:
                    client.wake_up()

            with_patience(wait, StagedClient.wake_up, "a poll that is woken", wake_up)

    def test_equal_sources_make_equal_receivers(self) -> None:
        with self._queue() as queue:
            task = queue.task()
            again = pickle.loads(pickle.dumps(task))
            keeps(
                StagedSource,
                task.is_same(again),
                "a frozen dataclass whose fields can be compared: a source that comes back from pickling has "
                "another receiver, so each epoch would begin with a new one",
            )

    def test_however_receivers_die_and_replace_each_other_each_message_is_staged_once(self) -> None:
        """Draws lives of receivers.

        Killed between any two steps, before and after messages are durable; replaced while they go on.
        """
        for seed in range(_ROUNDS):
            with self._queue() as queue:
                seen = _Lives(queue, random.Random(seed)).run()
                staged = Counter(queue.staged())
                lost = [message for message in seen if message not in staged]
                keeps(
                    StagedClient,
                    not lost,
                    f"a message that is not durable is delivered again; after the lives of receivers "
                    f"drawn from {seed}, {len(lost)} of {len(seen)} are lost, for example "
                    f"{next(iter(lost), None)!r}",
                )
                double = [message for message, count in staged.items() if count > 1 and message[1]]
                keeps(
                    StagedSource.remembered_keys,
                    not double,
                    f"is as many as can be delivered and not acknowledged; after the lives of receivers "
                    f"drawn from {seed}, {len(double)} are staged twice, for example "
                    f"{next(iter(double), None)}",
                )

    @contextmanager
    def _queue(self) -> Iterator[_Queue]:
        """Make a world, and yield its first queue, as a stream has it."""
        options = self.options()
        with self.stream_options(options) as more:
            source = self.configure(more, Boundedness.CONTINUOUS_UNBOUNDED).source
            assert isinstance(source, StagedSource), "StagedTests is for sources of the class StagedSource"
            source = source.for_query("conformance")
            context = RecordingContext()
            with closing(source.create_enumerator(context)) as enumerator:
                enumerator.start()
                enumerator.refresh(None)
            assert context.assigned, "options() must make a world with a queue"
            yield _Queue(source, next(iter(context.assigned.values()))[0])


_Message = tuple[str, bytes | None]
"""A row, without what tells of its delivery, and its key."""


@dataclass
class _Queue:
    """A queue of the world."""

    source: StagedSource[Any]
    split: Split

    @property
    def idle_ms(self) -> int:
        return self.source.idle_ms

    @contextmanager
    def connected(self) -> Iterator[StagedClient[Any]]:
        """Yield a connection that may be polled."""
        client = self.source.clients(self.split)()
        client.open(self.split)
        try:
            client.loss(has_staged=False)
            client.begin()
            yield client
        finally:
            client.close()

    def poll(self, client: StagedClient[Any]) -> Delivery[Any] | None:
        return client.poll(self.idle_ms, self.source.segment_rows)

    def look(self, *, acknowledges: bool = False) -> list[Delivery[Any]]:
        """Return what a new connection delivers until it brings nothing any more."""
        deliveries = []
        with self.connected() as client:
            while (delivery := self.poll(client)) is not None:
                deliveries.append(delivery)
                if acknowledges:
                    client.acknowledge(delivery.tokens)
        return deliveries

    def messages(self, delivery: Delivery[Any]) -> list[_Message]:
        return self._messages(delivery.rows.to_pylist(), delivery.keys)

    def staged(self) -> list[_Message]:
        """Return what the log has."""
        rows = [row for batch in self._log().view_after(0).batches() for row in batch.to_pylist()]
        return self._messages(rows, [row.pop(KEY_COLUMN) for row in rows])

    def task(self) -> ReceiverTask:
        return self.source.receiver_task(self.split, self.source.staging(self.source.folder))

    def stager(self, made: Callable[[StagedClient[Any]], StagedClient[Any]]) -> Stager:
        """Return a writer that is connected, as a receiver begins."""
        task = self.task()
        stager = Stager(task.staging, task.queue, self.split, lambda: made(task.client()), task.remedy)
        stager.take_over()
        stager.connect()
        return stager

    def _log(self) -> SegmentLog:
        return self.source.staging(self.source.folder).log(self.split.path, "reader")

    def _messages(self, rows: list[dict[str, Any]], keys: Sequence[bytes | None]) -> list[_Message]:
        left_out = self.source.delivery_columns
        shown = [repr(sorted(item for item in row.items() if item[0] not in left_out)) for row in rows]
        return list(zip(shown, keys, strict=True))


def _counted(deliveries: list[Delivery[Any]]) -> Counter[bytes | str]:
    """Return how often each message comes: by its key, or by its row where it has none."""
    return Counter(
        repr(row) if key is None else key
        for delivery in deliveries
        for row, key in zip(delivery.rows.to_pylist(), delivery.keys, strict=True)
    )


class _Dying:
    """Makes clients of which one dies instead of acknowledging."""

    def __init__(self) -> None:
        self.dies = False

    def __call__(self, client: StagedClient[Any]) -> StagedClient[Any]:
        acknowledge = client.acknowledge

        def acknowledge_or_die(tokens: Sequence[Any]) -> None:
            if self.dies:
                raise CrashError
            acknowledge(tokens)

        client.acknowledge = acknowledge_or_die  # type: ignore[method-assign]
        return client


@dataclass
class _Lives:
    """Lives of receivers, one after the other, of which an older one may go on."""

    queue: _Queue
    random: random.Random
    seen: dict[_Message, None] = field(default_factory=dict)

    def run(self) -> list[_Message]:
        """Live, and stage what is left then; return every message that was ever delivered."""
        dying = _Dying()
        stager = self.queue.stager(dying)
        for _ in range(_STEPS):
            delivery = self._poll(stager)
            match self.random.randrange(4):
                case 0:
                    stager = self._replaced(stager, dying)
                case 1 if delivery is not None:
                    stager = self._replaced_at_work(stager, delivery, dying)
                case 2 if delivery is not None:
                    # Killed when the messages are durable, and the outside has not heard of it.
                    dying.dies = True
                    try:
                        stager.stage(delivery)
                    except CrashError:
                        dying.dies = False
                    stager = self._replaced(stager, dying)
                case _ if delivery is not None:
                    stager.stage(delivery)
        stager.disconnect()
        stager = self.queue.stager(dying)
        while (delivery := self._poll(stager)) is not None:
            stager.stage(delivery)
        stager.disconnect()
        return list(self.seen)

    def _poll(self, stager: Stager) -> Delivery[Any] | None:
        delivery = stager.poll(self.queue.idle_ms)
        if delivery is not None:
            self.seen.update(dict.fromkeys(self.queue.messages(delivery)))
        return delivery

    def _replaced(self, stager: Stager, dying: _Dying) -> Stager:
        """A receiver was killed: its connection is gone when the next one comes."""
        stager.disconnect()
        return self.queue.stager(dying)

    def _replaced_at_work(self, older: Stager, delivery: Delivery[Any], dying: _Dying) -> Stager:
        """Another receiver takes over, and the older one goes on with what it was about to do."""
        newer = self.queue.stager(dying)
        try:
            older.stage(delivery)
        except (FencedError, SourceError):
            pass  # It has lost the log, the connection, or both.
        finally:
            older.disconnect()
        return newer
