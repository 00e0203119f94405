"""The suite for staged sources accepts the example, and finds each promise that is broken."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from examples.work_queue_source import QueueClient, WorkQueues, put
from headwater import contracts
from headwater.core.simple_source import NamedSplit
from headwater.testing import BrokenContractError, SourceTests, StagedTests


def some_jobs() -> Mapping[str, str]:
    database = f"{tempfile.mkdtemp()}/queues.db"
    put(database, "mail", *(f"job {number}" for number in range(9)))
    return {"database": database, "idleTimeout": "20ms", "receiverIdleTimeout": "10s"}


class TestWorkQueues(SourceTests, StagedTests):
    source = WorkQueues

    def options(self) -> Mapping[str, str]:
        self.put = [("mail", f"job {number}") for number in range(9)]
        return some_jobs()

    def grow(self, options: Mapping[str, str]) -> None:
        for queue, body in (("mail", "one more"), ("later", "first")):
            put(options["database"], queue, body)
            self.put.append((queue, body))

    def due(self, options: Mapping[str, str]) -> list[dict[str, Any]]:
        return [{"queue": queue, "body": body} for queue, body in self.put]


class Small(WorkQueues):
    """Takes a few messages at a time, so that receivers die between them."""

    @property
    def segment_rows(self) -> int:
        return 2


class TestSmall(StagedTests):
    source = Small
    options = staticmethod(some_jobs)


class Eager(QueueClient):
    """Acknowledges what nobody has staged."""

    def poll(self, timeout_ms: int, most: int) -> contracts.Delivery[int] | None:
        delivery = super().poll(timeout_ms, most)
        if delivery is not None:
            self.acknowledge(delivery.tokens)
        return delivery


class Unfenced(QueueClient):
    """Acknowledges though another connection has the queue."""

    def acknowledge(self, tokens: Sequence[int]) -> None:
        with self._database:
            self._database.executemany("DELETE FROM messages WHERE id = ?", [(token,) for token in tokens])


class Forgetful(QueueClient):
    """Acknowledges nothing."""

    def acknowledge(self, tokens: Sequence[int]) -> None:
        pass


class Renaming(QueueClient):
    """Gives a message another key each time."""

    numbers = itertools.count()

    def poll(self, timeout_ms: int, most: int) -> contracts.Delivery[int] | None:
        delivery = super().poll(timeout_ms, most)
        if delivery is None:
            return None
        keys = [str(next(self.numbers)).encode() for _ in delivery.keys]
        return contracts.Delivery(delivery.rows, keys, delivery.tokens)


class Greedy(QueueClient):
    """Takes no notice of how many messages are wanted."""

    def poll(self, timeout_ms: int, most: int) -> contracts.Delivery[int] | None:
        return super().poll(timeout_ms, 100)


class Deaf(QueueClient):
    """Is not woken."""

    def wake_up(self) -> None:
        pass


DYING = "test_however_receivers_die_and_replace_each_other_each_message_is_staged_once"


@pytest.mark.parametrize(
    ("client", "test", "said"),
    [
        (
            Eager,
            "test_what_was_not_acknowledged_is_delivered_again_under_the_same_keys",
            "StagedClient: messages that were not acknowledged are delivered again",
        ),
        (Eager, DYING, "StagedClient: a message that is not durable is delivered again; .* are lost"),
        (
            Unfenced,
            "test_an_older_connection_can_acknowledge_nothing",
            "StagedClient.open: an earlier connection loses its right to the queue",
        ),
        (
            Forgetful,
            "test_what_was_acknowledged_is_not_delivered_again",
            "StagedClient.acknowledge: lets the outside forget messages; 9 came again",
        ),
        (
            Renaming,
            "test_what_was_not_acknowledged_is_delivered_again_under_the_same_keys",
            "with the same rows and keys; 9 of 9 were not",
        ),
        (Greedy, "test_a_poll_brings_no_more_than_it_is_asked_for", "StagedClient.poll: returns at most"),
    ],
)
def test_a_client_that_breaks_its_contract_is_found(
    client: Callable[[str], QueueClient], test: str, said: str
) -> None:
    with pytest.raises(BrokenContractError, match=f"{said}.* The contract is written in headwater/readers"):
        getattr(suite_of(client)(), test)()


def test_a_client_that_is_not_woken_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.testing.driving._PATIENCE_S", 1)
    monkeypatch.setattr("headwater.testing.staged_tests._LONG_MS", 3_000)
    with pytest.raises(BrokenContractError, match=r"StagedClient.wake_up: a poll .* did not return"):
        suite_of(Deaf)().test_a_wake_up_ends_a_poll()


def test_a_source_that_remembers_too_few_keys_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WorkQueues, "remembered_keys", 0)
    with pytest.raises(BrokenContractError, match=r"StagedSource.remembered_keys: .* staged twice"):
        getattr(suite_of(QueueClient)(), DYING)()


def test_a_source_whose_settings_cannot_be_compared_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WorkQueues, "__eq__", object.__eq__)
    with pytest.raises(BrokenContractError, match="StagedSource: a frozen dataclass"):
        TestWorkQueues().test_equal_sources_make_equal_receivers()


def suite_of(client: Callable[[str], QueueClient]) -> type[StagedTests]:
    @dataclass(frozen=True, kw_only=True)
    class Broken(Small):
        def create_client(self, split: NamedSplit) -> QueueClient:
            return client(self.database)

    class Suite(StagedTests):
        source = Broken
        options = staticmethod(some_jobs)

        def configure(self, *args: Any, **more: Any) -> Any:
            # The class has no name by which a receiver could import it; none is started here.
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("headwater.connector.sources.user_sources.is_importable", lambda _: True)
                return super().configure(*args, **more)

    return Suite
