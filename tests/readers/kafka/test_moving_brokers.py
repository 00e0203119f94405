"""Leaders that move, and replicas that are nearer: the same records, from the broker that has them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tests.enumerators.kafka.client.listeners import Listen
from tests.patience import PATIENCE_S
from tests.readers.kafka.split_reading import Task, upto
from tests.scripted_kafka import NOT_AUTHORIZED, NOT_LEADER, OUT_OF_RANGE, Fetch, Part, ScriptedKafka


@pytest.fixture
def kafka(listen: Listen) -> ScriptedKafka:
    return ScriptedKafka(listen, nodes=(1, 2))


class TestBrokersThatMove:
    def test_a_new_leader_is_found_and_goes_on_where_the_old_one_ended(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        log = kafka.topic("t", 1, [2, 2, 2]).logs[0]
        reading = task().take(kafka.range("t"))
        reading.step()
        log.leader = 2
        assert reading.finish() == upto(6)
        assert kafka.metadata_asked == 2

    def test_what_the_others_sent_in_the_same_answer_is_kept(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 3, [2, 2])
        kafka.surprises.append(lambda _: {1: Part(error=NOT_LEADER)})
        assert task().take(*(kafka.range("t", partition) for partition in range(3))).finish() == upto(4, 4, 4)

    def test_as_long_as_nobody_leads_it_waits_longer_each_time(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        log = kafka.topic("t", 1, [2]).logs[0]
        log.leader = -1
        reading = task().take(kafka.range("t"))
        for _ in range(4):
            reading.step()
        assert reading.clock.monotonic_ms() == 50 + 100 + 200 + 400
        log.leader = 2
        assert reading.finish() == upto(2)

    def test_a_partition_without_a_leader_does_not_hold_up_the_others(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        topic = kafka.topic("t", 2, [2, 2])
        topic.logs[0].leader = -1
        reading = task().take(kafka.range("t", 0), kafka.range("t", 1))
        while reading.rows["t", "1"] != [0, 1, 2, 3]:
            reading.step()
        topic.logs[0].leader = 2
        assert reading.finish() == upto(4, 4)

    def test_metadata_that_lags_behind_does_not_make_it_hammer_the_brokers(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 1, [2])
        kafka.surprises.extend([lambda _: {0: Part(error=NOT_LEADER)}] * 5)
        reading = task().take(kafka.range("t"))
        assert reading.finish() == upto(2)
        assert reading.clock.monotonic_ms() >= 50 + 100 + 200 + 400 + 800

    def test_a_leader_without_an_address_is_looked_up_again(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        log = kafka.topic("t", 1, [2]).logs[0]
        log.leader = 7
        reading = task().take(kafka.range("t"))
        reading.step()
        log.leader = 2
        assert reading.finish() == upto(2)

    def test_a_broker_that_hangs_does_not_hold_up_the_others(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.topic("t", 2, [1] * 5).logs[1].leader = 2
        reading = task().take(kafka.range("t", 0), kafka.range("t", 1))
        let_go = threading.Event()

        def hang(fetch: Fetch) -> dict[int, Part]:
            assert fetch.node == 1 or let_go.wait(PATIENCE_S)
            return {}

        kafka.surprises.extend([hang] * 20)
        while len(reading.states) == 2:
            reading.step()
        assert reading.rows["t", "0"] == [0, 1, 2, 3, 4]
        let_go.set()
        assert reading.finish() == upto(5, 5)


class TestReplicas:
    def follow(self, fetch: Fetch) -> dict[int, Part]:
        return (
            {0: Part(end=6, replica=2)}
            if fetch.node == 1
            else {0: Part(self.log.read(fetch.wanted[0].offset, 1).records, end=6)}
        )

    @pytest.fixture(autouse=True)
    def _one_partition(self, kafka: ScriptedKafka) -> None:
        self.log = kafka.topic("t", 1, [2, 2, 2]).logs[0]

    def test_the_leader_names_the_nearest_and_that_one_is_read(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        """The answer that names it holds no records, which means nothing else."""
        kafka.surprises.extend([self.follow] * 10)
        assert task(client_rack="b").take(kafka.range("t")).finish() == upto(6)
        asked = kafka.asked(4)
        assert [(fetch.node, fetch.wanted[0].offset, fetch.rack) for fetch in asked] == [
            (1, 0, "b"),
            (2, 0, "b"),
            (2, 2, "b"),
            (2, 4, "b"),
        ]

    @pytest.mark.parametrize("code", [OUT_OF_RANGE, 78, NOT_LEADER, NOT_AUTHORIZED])
    def test_what_a_replica_refuses_the_leader_decides(
        self, kafka: ScriptedKafka, task: Callable[..., Task], code: int
    ) -> None:
        kafka.surprises.extend([self.follow, self.follow, lambda _: {0: Part(error=code)}])
        assert task().take(kafka.range("t")).finish() == upto(6)
        assert [fetch.node for fetch in kafka.asked(4)] == [1, 2, 2, 1]

    def test_a_replica_that_falls_silent_is_left(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.surprises.extend([self.follow, lambda _: {0: Part(end=6)}])
        assert task().take(kafka.range("t")).finish() == upto(6)
        assert [fetch.node for fetch in kafka.asked(3)] == [1, 2, 1]

    def test_after_a_while_the_leader_is_asked_who_is_nearest_now(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        """The replica has been sent one request ahead by then.

        Which broker notes down its own first is chance.
        """
        kafka.surprises.extend([self.follow] * 10)
        reading = task(metadata_max_age_ms="60000").take(kafka.range("t"))
        reading.step()  # the leader names the replica
        reading.step()  # the replica gives two records, and is asked for the next two
        reading.clock.advance(60_000)
        assert reading.finish() == upto(6)
        assert [fetch.wanted[0].offset for fetch in kafka.asked(4) if fetch.node == 1] == [0, 2]

    def test_a_replica_without_an_address_is_not_waited_for(
        self, kafka: ScriptedKafka, task: Callable[..., Task]
    ) -> None:
        kafka.surprises.append(lambda _: {0: Part(end=6, replica=9)})
        assert task().take(kafka.range("t")).finish() == upto(6)
