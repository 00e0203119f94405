"""Positions committed beside the query: what Kafka is told, and that nothing waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from headwater.core.clock import ManualClock
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.group_committer import GroupCommitter
from tests.enumerators.kafka.client.listeners import Listen, client
from tests.patience import PATIENCE_S
from tests.scripted_groups import (
    COORDINATOR_LOADING,
    GROUP_NOT_AUTHORIZED,
    NOT_COORDINATOR,
    UNKNOWN_MEMBER,
    Commit,
)
from tests.scripted_kafka import ScriptedKafka

A: Mapping[SplitPath, int] = {("orders", "0"): 3, ("orders", "1"): 0}
LATER: Mapping[SplitPath, int] = {("orders", "0"): 5, ("orders", "1"): 0}
Make = Callable[..., GroupCommitter]


@pytest.fixture
def scripted(listen: Listen) -> Iterator[ScriptedKafka]:
    made = ScriptedKafka(listen, nodes=(1, 2))
    yield made
    made.groups.speaks.set()


@pytest.fixture
def committer(scripted: ScriptedKafka) -> Iterator[Make]:
    made: list[GroupCommitter] = []

    def make(**settings: Any) -> GroupCommitter:
        made.append(GroupCommitter(client(scripted.bootstrap), "g", **settings))
        return made[-1]

    yield make
    scripted.groups.speaks.set()
    for each in made:
        each.close()


def arrived(scripted: ScriptedKafka) -> Commit:
    return scripted.groups.commits.get(timeout=PATIENCE_S)


def by_number(positions: Mapping[SplitPath, int]) -> dict[tuple[str, int], int]:
    return {(topic, int(index)): offset for (topic, index), offset in positions.items()}


def at(offset: int) -> Mapping[SplitPath, int]:
    return {("orders", "0"): offset}


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "headwater-group-commits"]


def test_positions_arrive_and_then_only_those_that_have_moved(
    scripted: ScriptedKafka, committer: Make
) -> None:
    committing = committer()
    committing.commit(A)
    committing.flush()
    assert scripted.groups.offsets == {"g": by_number(A)}
    committing.commit(LATER)
    committing.flush()
    assert scripted.groups.offsets == {"g": by_number(LATER)}
    assert [arrived(scripted).offsets for _ in range(2)] == [by_number(A), {("orders", 0): 5}]


def test_nothing_is_opened_or_started_before_the_first_positions(committer: Make) -> None:
    committing = committer()
    assert threads() == []
    committing.flush()
    committing.close()
    committing.commit(A)
    assert threads() == []


def test_newer_positions_take_the_place_of_those_that_wait(scripted: ScriptedKafka, committer: Make) -> None:
    scripted.groups.speaks.clear()
    committing = committer()
    committing.commit(A)
    assert arrived(scripted).offsets == by_number(A)
    for offset in range(6, 100):
        committing.commit(at(offset))
    scripted.groups.speaks.set()
    committing.flush()
    assert arrived(scripted).offsets == {("orders", 0): 99}
    assert scripted.groups.commits.empty()


def test_all_positions_are_renewed_before_kafka_forgets_them(
    scripted: ScriptedKafka, committer: Make
) -> None:
    committer(renew_ms=10).commit(A)
    assert [arrived(scripted).offsets for _ in range(2)] == [by_number(A)] * 2


def test_failures_that_pass_within_seconds_are_repeated_and_not_worth_a_warning(
    scripted: ScriptedKafka, committer: Make, caplog: pytest.LogCaptureFixture
) -> None:
    scripted.groups.errors.extend([COORDINATOR_LOADING, NOT_COORDINATOR])
    committing = committer()
    with caplog.at_level(logging.INFO):
        committing.commit(A)
        committing.flush()
    assert scripted.groups.offsets == {"g": by_number(A)}
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.INFO, "consumer group 'g': positions are committed again")
    ]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (UNKNOWN_MEMBER, "the consumer group 'g' has live members"),
        (GROUP_NOT_AUTHORIZED, "this user lacks the permission Read on group 'g'"),
    ],
)
def test_a_refusal_is_a_warning_once_a_minute_and_every_batch_is_tried(
    scripted: ScriptedKafka, committer: Make, caplog: pytest.LogCaptureFixture, code: int, message: str
) -> None:
    scripted.groups.errors.extend([code] * 3)
    clock = ManualClock()
    committing = committer(clock=clock)

    def warnings_after(positions: Mapping[SplitPath, int]) -> list[str]:
        caplog.clear()
        committing.commit(positions)
        committing.flush()
        return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]

    (warning,) = warnings_after(A)
    assert message in warning
    assert "the query goes on" in warning
    assert warnings_after(LATER) == []
    clock.advance(60_000)
    assert len(warnings_after(A)) == 1
    assert scripted.groups.offsets == {"g": {}}
    assert warnings_after(LATER) == []
    assert scripted.groups.offsets == {"g": by_number(LATER)}


def test_flush_waits_for_a_silent_coordinator_once_and_not_for_long(
    scripted: ScriptedKafka, committer: Make, caplog: pytest.LogCaptureFixture
) -> None:
    scripted.groups.speaks.clear()
    committing = committer(patience_ms=300)
    committing.commit(A)
    began = time.monotonic()
    for _ in range(20):
        committing.flush()
    # Twenty times 300 ms would be 6 s.
    assert 0.3 <= time.monotonic() - began < 5
    assert "consumer group 'g': the last positions have not been committed in time" in caplog.text


def test_close_does_not_wait_for_a_silent_coordinator_and_leaves_no_connection(
    scripted: ScriptedKafka, committer: Make
) -> None:
    scripted.groups.speaks.clear()
    committing = committer()
    committing.commit(A)
    arrived(scripted)
    began = time.monotonic()
    committing.close()
    assert time.monotonic() - began < 5
    # The fixture `listen` joins the threads of the listener, which end when the connections are closed.


def test_a_coordinator_that_never_answers_leaves_the_caller_alone(
    scripted: ScriptedKafka, committer: Make
) -> None:
    scripted.groups.speaks.clear()
    committing = committer()
    committing.commit(A)
    arrived(scripted)
    took_s = []
    for offset in range(200):
        began = time.perf_counter()
        committing.commit(at(offset))
        took_s.append(time.perf_counter() - began)
    assert sorted(took_s)[100] < 0.001
    assert threads() == ["headwater-group-commits"]
