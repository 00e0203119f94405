"""A split reader among scripted brokers, and what those may do."""

from __future__ import annotations

from typing import Any

from headwater.core.clock import ManualClock
from headwater.core.emitter import SplitState
from headwater.core.split import SplitRange
from headwater.enumerators.kafka.client.pool import ConnectionPool
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.settings import KafkaReadSettings
from headwater.readers.kafka.split_reader import KafkaSplitReader
from tests.enumerators.kafka.client.listeners import client
from tests.enumerators.kafka.client.pools import empty
from tests.scripted_kafka import Fetch, HangUp, Part, ScriptedKafka, Surprise

POLL_TIMEOUT_MS = 10_000


class Task:
    """A reader and what its task has emitted."""

    def __init__(
        self,
        kafka: ScriptedKafka,
        *,
        loss: bool = True,
        poll_timeout_ms: int = POLL_TIMEOUT_MS,
        **properties: str,
    ) -> None:
        self.clock = ManualClock()
        self.pool = ConnectionPool()
        config = client(kafka.bootstrap, **{"max_partition_fetch_bytes": "1", **properties})
        self.reader = KafkaSplitReader(
            config,
            KafkaReadSettings(poll_timeout_ms=poll_timeout_ms, fail_on_data_loss=loss),
            clock=self.clock,
            pool=self.pool,
        )
        self.states: dict[tuple[str, ...], SplitState[Any, int]] = {}
        self.rows: dict[tuple[str, ...], list[int]] = {}

    def take(self, *ranges: SplitRange[Any, int]) -> Task:
        self.states.update((piece.split.path, SplitState(piece)) for piece in ranges)
        self.rows.update((piece.split.path, []) for piece in ranges)
        self.reader.handle_splits_changes(ranges)
        return self

    def step(self) -> bool:
        """Do what the task's loop does with one fetch; say whether there is more to do."""
        fetched = self.reader.fetch()
        self.states.update((path, SplitState(piece)) for path, piece in fetched.bound.items())
        for path, records in fetched.records.items():
            emitter = KafkaRecordEmitter(["offset"])
            for record in records:
                for rows in (*emitter.emit(record, self.states[path]), *emitter.flush()):
                    self.rows[path] += rows.column("offset").to_numpy().tolist()
        for path in fetched.finished:
            del self.states[path]
        return bool(self.states)

    def finish(self) -> list[list[int]]:
        """Read to the end; return the offsets of each partition."""
        while self.step():
            pass
        self.reader.close()
        empty(self.pool)
        return list(self.rows.values())


def upto(*ends: int) -> list[list[int]]:
    return [list(range(end)) for end in ends]


def plain(_: Fetch) -> dict[int, Part]:
    return {}


def nothing(end: int) -> Surprise:
    return lambda fetch: {each.partition: Part(end=end) for each in fetch.wanted}


def waiting(clock: ManualClock, answer: Surprise = plain, wait_ms: int = 500) -> Surprise:
    """A long poll: the answer takes a while."""

    def surprise(fetch: Fetch) -> Any:
        clock.advance(wait_ms)
        return answer(fetch)

    return surprise


def hang_up(after_bytes: int) -> Surprise:
    def surprise(_: Fetch) -> None:
        raise HangUp(after_bytes)

    return surprise


def fail_once(target: object, method: str, error: Exception, *, after: int) -> None:
    """Let a method fail once, after so many calls."""
    original = getattr(target, method)
    calls = iter(range(10_000))

    def failing(*args: Any) -> Any:
        if next(calls) == after:
            raise error
        return original(*args)

    setattr(target, method, failing)
