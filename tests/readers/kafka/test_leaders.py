"""What a worker process remembers of who leads what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import TransientSourceError
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka.leaders import Leaders, NoLeader
from local_kafka import LocalKafka
from tests.enumerators.kafka.client.listeners import Listen, client
from tests.scripted_kafka import NOT_LEADER, ScriptedKafka


@pytest.fixture
def scripted(listen: Listen) -> ScriptedKafka:
    return ScriptedKafka(listen, nodes=(1, 2))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def leaders(scripted: ScriptedKafka, clock: ManualClock) -> Iterator[Leaders]:
    opened = Leaders(client(scripted.bootstrap), clock)
    yield opened
    opened.close()


def test_partitions_have_a_leader_or_a_reason_why_not(scripted: ScriptedKafka, leaders: Leaders) -> None:
    topic = scripted.topic("t", 2)
    topic.logs[1].leader = -1
    replaced = KafkaPartitionSplit("t", 0, "5d9d4c2e-9f5f-4a0b-8d0e-0a6c7f2f8f11")
    unknown = KafkaPartitionSplit("u", 0, None)
    by_name = KafkaPartitionSplit("t", 0)
    missing = KafkaPartitionSplit("t", 7)
    led = scripted.range("t", 0).split
    electing = scripted.range("t", 1).split
    assert leaders.locate([led, by_name, electing, replaced, unknown, missing]) == {
        led: 1,
        by_name: 1,
        electing: NoLeader.ELECTING,
        replaced: NoLeader.REPLACED,
        unknown: NoLeader.GONE,
        missing: NoLeader.GONE,
    }
    assert leaders.address(2) == scripted.nodes[2]
    assert leaders.address(3) is None


def test_each_topic_is_remembered_by_itself_and_by_all_tasks_of_the_process(
    scripted: ScriptedKafka, leaders: Leaders, clock: ManualClock
) -> None:
    scripted.topic("t")
    scripted.topic("u")
    t = scripted.range("t").split
    u = scripted.range("u").split
    leaders.locate([t])
    leaders.locate([t, u])
    later = Leaders(client(scripted.bootstrap), clock)
    assert later.locate([t, u]) == {t: 1, u: 1}
    assert scripted.metadata_asked == 2


def test_what_is_forgotten_or_old_is_asked_again(
    scripted: ScriptedKafka, leaders: Leaders, clock: ManualClock
) -> None:
    log = scripted.topic("t").logs[0]
    split = scripted.range("t").split
    assert leaders.locate([split]) == {split: 1}
    log.leader = 2
    assert leaders.locate([split]) == {split: 1}
    leaders.forget(["t"])
    assert leaders.locate([split]) == {split: 2}
    log.leader = 1
    clock.advance(300_001)
    assert leaders.locate([split]) == {split: 1}


def test_a_topic_that_does_not_exist_is_asked_for_every_time(
    scripted: ScriptedKafka, leaders: Leaders
) -> None:
    split = KafkaPartitionSplit("t", 0)
    assert leaders.locate([split]) == {split: NoLeader.GONE}
    scripted.topic("t")
    assert leaders.locate([split]) == {split: 1}


def test_the_latest_offset_counts_open_transactions(kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic)
    transaction = kafka.begin(topic)
    transaction.produce([b"open"] * 3)
    leaders = Leaders(client(kafka.bootstrap_servers, isolation_level="read_committed"), ManualClock())
    assert (
        leaders.offset(KafkaPartitionSplit(topic, 0), EARLIEST),
        leaders.offset(KafkaPartitionSplit(topic, 0), LATEST),
    ) == (0, 3)
    leaders.close()
    transaction.abort()


def test_a_partition_that_has_just_gone_is_a_passing_failure_when_its_offsets_are_asked_for(
    scripted: ScriptedKafka, leaders: Leaders
) -> None:
    scripted.topic("t")
    split = scripted.range("t").split
    leaders.locate([split])
    del scripted.topics["t"]
    with pytest.raises(TransientSourceError, match="does not exist"):
        leaders.offset(split, LATEST)
    assert leaders.locate([split]) == {split: NoLeader.GONE}


def test_so_is_a_leader_that_is_not_one(scripted: ScriptedKafka, leaders: Leaders) -> None:
    scripted.topic("t", 1, [3])
    scripted.offset_errors[0] = [NOT_LEADER, NOT_LEADER]
    with pytest.raises(TransientSourceError):
        leaders.offset(scripted.range("t").split, LATEST)
    assert leaders.offset(scripted.range("t").split, LATEST) == 3


def test_what_is_to_be_forgotten_is_also_if_another_clock_stamped_it(
    scripted: ScriptedKafka, leaders: Leaders, clock: ManualClock
) -> None:
    scripted.topic("t")
    clock.advance(5_000)
    leaders.locate([scripted.range("t").split])
    with closing(Leaders(client(scripted.bootstrap), ManualClock())) as other:
        other.forget(["t"])
        assert other.locate([scripted.range("t").split]) == {scripted.range("t").split: 1}
    assert scripted.metadata_asked == 2
