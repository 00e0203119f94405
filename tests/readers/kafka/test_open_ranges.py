"""Ranges that were left open: the reader binds them when it opens them, and reads what is there then."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace

import pytest

from headwater.core.errors import DataLossError, TransientSourceError, UnknownSplitError
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, BrokerAddress
from headwater.enumerators.kafka.split import OpenRange
from headwater.readers.kafka.settings import KafkaReadSettings
from headwater.readers.kafka.split_reader import KafkaSplitReader
from tests.enumerators.kafka.client.listeners import Listen, client
from tests.enumerators.kafka.client.pools import empty, idle
from tests.readers.kafka.split_reading import Task, upto
from tests.scripted_kafka import NOT_LEADER, Part, ScriptedKafka


@pytest.fixture
def kafka(listen: Listen) -> ScriptedKafka:
    return ScriptedKafka(listen)


def whole(kafka: ScriptedKafka, partition: int = 0) -> OpenRange:
    split = replace(kafka.range("t", partition).split, topic_id=None)
    return OpenRange(split, EARLIEST, LATEST, from_earliest=True, to_latest=True)


def test_a_range_reads_what_came_after_it_was_planned(
    kafka: ScriptedKafka, task: Callable[..., Task]
) -> None:
    log = kafka.topic("t", 1, [3, 1]).logs[0]
    planned = whole(kafka)
    assert task().take(planned).finish() == upto(4)
    log.append(b"late", b"later")
    assert task().take(planned).finish() == upto(6)


def test_what_is_gone_before_its_beginning_is_no_loss(
    kafka: ScriptedKafka, task: Callable[..., Task]
) -> None:
    log = kafka.topic("t", 1, [3, 2]).logs[0]
    planned = whole(kafka)
    log.start = 3
    assert task().take(planned).finish() == [[3, 4]]


def test_what_is_gone_after_an_offset_that_the_user_gave_is_one(
    kafka: ScriptedKafka, task: Callable[..., Task]
) -> None:
    log = kafka.topic("t", 1, [3, 2]).logs[0]
    planned = OpenRange(kafka.range("t").split, 1, LATEST, from_earliest=False, to_latest=True)
    log.start = 3
    with pytest.raises(DataLossError, match="offsets 1 to 2 were lost"):
        task().take(planned).finish()
    assert task(loss=False).take(planned).finish() == [[3, 4]]


def test_a_log_that_ends_before_the_offset_that_the_user_gave_has_nothing_to_read(
    kafka: ScriptedKafka, task: Callable[..., Task], caplog: pytest.LogCaptureFixture
) -> None:
    kafka.topic("t", 1, [3])
    planned = OpenRange(kafka.range("t").split, 5, LATEST, from_earliest=False, to_latest=True)
    assert task().take(planned).finish() == [[]]
    assert "t-0: the log now ends at offset 3, before offset 5" in caplog.text


def test_an_empty_partition_is_read_when_it_has_records_and_costs_no_fetch_before(
    kafka: ScriptedKafka, task: Callable[..., Task]
) -> None:
    kafka.topic("t", 2)
    planned = [whole(kafka, 0), whole(kafka, 1)]
    assert task().take(*planned).finish() == [[], []]
    assert kafka.fetches.empty()
    kafka.topics["t"].logs[1].append(b"x")
    assert task().take(*planned).finish() == [[], [0]]


def test_pieces_meet_at_their_borders(kafka: ScriptedKafka, task: Callable[..., Task]) -> None:
    log = kafka.topic("t", 1, [3, 3, 3]).logs[0]
    first = replace(whole(kafka), stop=4)
    last = replace(whole(kafka), start=4)
    log.append(b"late")
    assert [task().take(piece).finish() for piece in (first, last)] == [[[0, 1, 2, 3]], [[4, 5, 6, 7, 8, 9]]]


def test_a_topic_that_was_created_anew_is_read_as_it_is(
    kafka: ScriptedKafka, task: Callable[..., Task]
) -> None:
    kafka.topic("t", 1, [5])
    planned = whole(kafka)
    assert task().take(planned).finish() == upto(5)
    kafka.topic("t", 1, [2])
    later = task()
    later.clock.advance(1_000)
    assert later.take(planned).finish() == upto(2)
    assert all(fetch.wanted[0].topic == "t" for fetch in kafka.asked(2))


@pytest.mark.parametrize("loss", [True, False])
def test_a_topic_that_is_not_there_any_more_is_an_error(
    kafka: ScriptedKafka, task: Callable[..., Task], *, loss: bool
) -> None:
    kafka.topic("t", 1, [5])
    planned = whole(kafka)
    del kafka.topics["t"]
    with pytest.raises(
        UnknownSplitError,
        match="topic 't', partition 0 is not there any more: the topic or partition was deleted",
    ):
        task(loss=loss).take(planned).finish()


def test_a_leader_that_has_just_moved_is_looked_for_and_then_asked_for_the_ends(
    kafka: ScriptedKafka, task: Callable[..., Task]
) -> None:
    kafka.topic("t", 1, [5])
    kafka.offset_errors[0] = [NOT_LEADER, NOT_LEADER]
    assert task().take(whole(kafka)).finish() == upto(5)


def test_a_leader_that_is_dead_when_its_ends_are_asked_for_is_looked_for_anew(
    kafka: ScriptedKafka, task: Callable[..., Task]
) -> None:
    log = kafka.topic("t", 1, [5]).logs[0]
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and listens not
        kafka.nodes[2] = BrokerAddress(*nobody.getsockname())
        log.leader = 2
        reading = task().take(whole(kafka))
        assert reading.step()
        log.leader = 1
        assert reading.finish() == upto(5)


def test_a_cluster_that_never_tells_the_ends_is_an_error_after_the_poll_timeout(
    kafka: ScriptedKafka, task: Callable[..., Task]
) -> None:
    kafka.topic("t", 1, [5])
    kafka.offset_errors[0] = [NOT_LEADER] * 1_000
    with pytest.raises(TransientSourceError, match="nothing could be fetched"):
        task().take(whole(kafka)).finish()


def test_an_end_is_not_passed_by_records_that_arrive_while_it_is_read(
    kafka: ScriptedKafka, task: Callable[..., Task]
) -> None:
    log = kafka.topic("t", 1, [2]).logs[0]

    def grow(_: object) -> dict[int, Part]:
        log.append(b"late")
        return {}

    kafka.surprises.append(grow)
    assert task(max_partition_fetch_bytes="10000").take(whole(kafka)).finish() == upto(2)


def test_many_tasks_one_after_the_other_ask_for_metadata_once_and_connect_once(
    kafka: ScriptedKafka, task: Callable[..., Task]
) -> None:
    kafka.topic("t", 3, [2])
    first = task()
    for partition in range(3):
        each = task()
        each.reader = KafkaSplitReader(
            client(kafka.bootstrap),
            KafkaReadSettings(poll_timeout_ms=1_000),
            clock=each.clock,
            pool=first.pool,
        )
        each.take(whole(kafka, partition))
        while each.step():
            pass
        each.reader.close()
    assert kafka.metadata_asked == 1
    assert idle(first.pool) == 1
    empty(first.pool)
