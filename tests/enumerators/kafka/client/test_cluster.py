from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    NoConnectionError,
    SourceError,
    TransientSourceError,
    UnknownSplitError,
)
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST, TopicPartition
from local_kafka import LocalKafka
from local_kafka_config import free_port
from tests.enumerators.kafka.client.listeners import Listen, client, drain
from tests.enumerators.kafka.conftest import PASSWORDS

LOGIN = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "alice"}
UNTIL_S = 30


@pytest.fixture
def cluster(kafka: LocalKafka) -> Iterator[Cluster]:
    opened = Cluster(client(kafka.bootstrap_servers))
    yield opened
    opened.close()


@pytest.fixture
def as_alice(secure_kafka: LocalKafka) -> Iterator[Cluster]:
    """A user without any permission, until the test grants one."""
    opened = Cluster(
        client(secure_kafka.bootstrap("SASL_PLAINTEXT"), **LOGIN, sasl_password=PASSWORDS["alice"])
    )
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def three() -> Iterator[LocalKafka]:
    with LocalKafka(3, racks=["a", "b", "c"], heap_mb=256) as running:
        yield running


def partitions(topic: str, count: int) -> list[TopicPartition]:
    return [TopicPartition(topic, index) for index in range(count)]


class TestMetadata:
    def test_topics_partitions_leaders_and_ids(self, kafka: LocalKafka, topic: str, cluster: Cluster) -> None:
        kafka.create_topic(topic, 3)
        found = cluster.metadata([topic])
        assert list(found.topics) == [topic]
        assert found.topics[topic].topic_id == str(kafka.topic_id(topic))
        assert {
            index: partition.leader for index, partition in found.topics[topic].partitions.items()
        } == kafka.leaders(topic)
        assert str(found.brokers[1].address) == kafka.bootstrap_servers

    def test_a_topic_that_does_not_exist_is_left_out_and_not_created(
        self, kafka: LocalKafka, topic: str, cluster: Cluster
    ) -> None:
        assert cluster.metadata([topic]).topics == {}
        assert topic not in kafka.topics()

    def test_no_topics_are_no_topics_and_not_all(
        self, kafka: LocalKafka, topic: str, cluster: Cluster
    ) -> None:
        kafka.create_topic(topic)
        assert cluster.metadata([]).topics == {}
        assert topic in cluster.metadata(None).topics

    def test_internal_topics_are_told_from_the_others(
        self, kafka: LocalKafka, topic: str, cluster: Cluster
    ) -> None:
        kafka.create_topic(topic)
        kafka.produce_transaction(topic, [b"x"], commit=True)
        assert cluster.metadata(None).topics["__transaction_state"].is_internal
        assert not cluster.metadata(None).topics[topic].is_internal

    def test_a_name_that_cannot_be_a_topics_is_an_error(self, cluster: Cluster) -> None:
        with pytest.raises(UnknownSplitError, match="'no/slash'"):
            cluster.metadata(["no/slash"])


class TestOffsets:
    def test_earliest_latest_and_by_time(self, kafka: LocalKafka, topic: str, cluster: Cluster) -> None:
        kafka.create_topic(topic, 2, {"retention.ms": "-1"})  # the records are of 1970
        kafka.produce(topic, [b"a", b"b", b"c"], partition=0, timestamps_ms=[1_000, 2_000, 3_000])
        kafka.delete_records(topic, {0: 1})
        first, second = partitions(topic, 2)
        assert cluster.list_offsets({first: EARLIEST, second: EARLIEST}) == {first: 1, second: 0}
        assert cluster.list_offsets({first: LATEST, second: LATEST}) == {first: 3, second: 0}
        assert cluster.list_offsets({first: 2_001, second: 0}) == {first: 2, second: None}
        assert cluster.list_offsets({first: 3_001, second: LATEST}) == {first: None, second: 0}
        assert cluster.list_offsets({}) == {}

    def test_read_committed_ends_at_the_last_stable_offset(
        self, kafka: LocalKafka, topic: str, cluster: Cluster
    ) -> None:
        kafka.create_topic(topic)
        kafka.produce(topic, [b"a"])
        where = TopicPartition(topic, 0)
        committed = Cluster(client(kafka.bootstrap_servers, isolation_level="read_committed"))
        transaction = kafka.begin(topic)
        transaction.produce([b"b", b"c"])
        assert cluster.list_offsets({where: LATEST}) == {where: 3}
        assert cluster.list_offsets({where: LATEST}, read_committed=True) == {where: 1}
        assert committed.list_offsets({where: LATEST}) == {where: 1}
        assert committed.list_offsets({where: LATEST}, read_committed=False) == {where: 3}
        transaction.abort()
        until(lambda: committed.list_offsets({where: LATEST}) == {where: 4})
        committed.close()

    def test_a_partition_that_does_not_exist_is_named(
        self, kafka: LocalKafka, topic: str, cluster: Cluster
    ) -> None:
        with pytest.raises(UnknownSplitError, match=f"partition 0 of topic '{topic}' does not exist"):
            cluster.list_offsets({TopicPartition(topic, 0): LATEST})
        kafka.create_topic(topic)
        with pytest.raises(UnknownSplitError) as caught:
            cluster.list_offsets({TopicPartition(topic, 7): LATEST})
        assert caught.value.split == f"{topic}-7"

    def test_a_partition_that_was_added_is_found_without_being_told(
        self, kafka: LocalKafka, topic: str, cluster: Cluster
    ) -> None:
        kafka.create_topic(topic)
        cluster.list_offsets({TopicPartition(topic, 0): LATEST})
        kafka.add_partitions(topic, 3)
        assert cluster.list_offsets({TopicPartition(topic, 2): LATEST}) == {TopicPartition(topic, 2): 0}

    def test_what_is_known_is_not_asked_for_again_until_it_is_old(
        self, kafka: LocalKafka, topic: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kafka.create_topic(topic)
        clock = ManualClock()
        cluster = Cluster(client(kafka.bootstrap_servers, metadata_max_age_ms="1000"), clock)
        asked = requests_of(monkeypatch)
        specs = {TopicPartition(topic, 0): LATEST}
        for advance_ms in (0, 0, 999, 1):
            clock.advance(advance_ms)
            cluster.list_offsets(specs)
        assert asked == [
            "MetadataRequest",
            *["ListOffsetsRequest"] * 3,
            "MetadataRequest",
            "ListOffsetsRequest",
        ]
        cluster.close()

    def test_thousands_of_partitions_are_one_request_to_each_leader(
        self, kafka: LocalKafka, topic: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kafka.create_topic(topic, 200)
        until(lambda: answered(cluster, *partitions(topic, 200)))
        asked = requests_of(monkeypatch)
        assert cluster.list_offsets(dict.fromkeys(partitions(topic, 200), LATEST)) == dict.fromkeys(
            partitions(topic, 200), 0
        )
        assert asked == ["ListOffsetsRequest"]


class TestSizes:
    def test_bytes_of_each_partition_on_its_leader(
        self, kafka: LocalKafka, topic: str, cluster: Cluster
    ) -> None:
        kafka.create_topic(topic, 2)
        kafka.produce(topic, [b"x" * 5_000] * 4, partition=1)
        sizes = cluster.log_sizes([topic])
        assert sizes.keys() == set(partitions(topic, 2))
        assert sizes[TopicPartition(topic, 0)] == 0
        assert 20_000 < sizes[TopicPartition(topic, 1)] < 25_000
        assert cluster.log_sizes([f"{topic}-that-does-not-exist"]) == {}


class TestPermissions:
    def test_no_permission_to_describe_a_topic_names_it_and_the_command(
        self, secure_kafka: LocalKafka, topic: str, as_alice: Cluster
    ) -> None:
        secure_kafka.create_topic(topic)
        for ask in (
            lambda: as_alice.metadata([topic]),
            lambda: as_alice.list_offsets({TopicPartition(topic, 0): LATEST}),
        ):
            with pytest.raises(AuthorizationError) as caught:
                ask()
            assert f"lacks the permission Describe on topic '{topic}'" in str(caught.value)
            assert f"--operation Describe --topic {topic}" in str(caught.value)
        assert as_alice.metadata(None).topics == {}

    def test_sizes_need_a_permission_that_few_have(
        self, secure_kafka: LocalKafka, topic: str, as_alice: Cluster
    ) -> None:
        secure_kafka.create_topic(topic)
        secure_kafka.allow("alice", "DESCRIBE", topic=topic)
        until(lambda: list(as_alice.metadata(None).topics) == [topic])
        assert as_alice.list_offsets({TopicPartition(topic, 0): LATEST}) == {TopicPartition(topic, 0): 0}
        with pytest.raises(AuthorizationError, match="lacks the permission Describe on the cluster"):
            as_alice.log_sizes([topic])

    def test_a_password_may_be_in_the_environment_or_in_a_file(
        self, secure_kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KAFKA_PASSWORD", PASSWORDS["alice"])
        (tmp_path / "password").write_text(PASSWORDS["alice"] + "\n")
        servers = secure_kafka.bootstrap("SASL_PLAINTEXT")
        for written in ("env:KAFKA_PASSWORD", f"file:{tmp_path}/password"):
            with closing(Cluster(client(servers, **LOGIN, sasl_password=written))) as cluster:
                cluster.metadata(None)
        with (
            closing(Cluster(client(servers, **LOGIN, sasl_password="env:NOBODY"))) as cluster,
            pytest.raises(SourceError, match=r"sasl\.password: the environment variable NOBODY is not set"),
        ):
            cluster.metadata(None)

    def test_a_wrong_password_is_told_at_once(self, secure_kafka: LocalKafka) -> None:
        cluster = Cluster(client(secure_kafka.bootstrap("SASL_PLAINTEXT"), **LOGIN, sasl_password="hunter2"))
        with pytest.raises(AuthenticationError, match="PLAIN log-in"):
            cluster.metadata(None)
        cluster.close()


class TestBrokersThatAreAway:
    def test_bootstrap_servers_are_asked_in_turn(self, kafka: LocalKafka) -> None:
        away = f"no-such-host.invalid:1,127.0.0.1:{free_port()},{kafka.bootstrap_servers}"
        cluster = Cluster(client(away))
        assert cluster.metadata([]).brokers
        cluster.close()

    def test_all_are_named_if_none_answers(self) -> None:
        port = free_port()
        cluster = Cluster(client(f"no-such-host.invalid:1,127.0.0.1:{port}"))
        with pytest.raises(NoConnectionError) as caught:
            cluster.metadata(None)
        message = str(caught.value)
        assert "no broker of the Kafka cluster answers" in message
        assert "no-such-host.invalid:1: its name cannot be resolved" in message
        assert f"127.0.0.1:{port}: nothing listens there; see kafka.bootstrap.servers" in message

    def test_a_look_up_ends_in_time_however_many_do_not_answer(self, listen: Listen) -> None:
        silent = ",".join(str(listen(drain)) for _ in range(3))
        cluster = Cluster(client(silent, request_timeout_ms="300", default_api_timeout_ms="500"))
        began = time.monotonic()
        with pytest.raises(TransientSourceError, match=r"kafka.default.api.timeout.ms"):
            cluster.metadata(None)
        assert time.monotonic() - began < UNTIL_S, "the deadline of the call counts, not its default"
        cluster.close()

    def test_a_broker_that_comes_back_is_asked_again(self, listen: Listen, kafka: LocalKafka) -> None:
        """The first connection is cut at every question; the caller asks again, and the answer is right."""
        host, port = kafka.bootstrap_servers.split(":")
        cuts = iter([True, True, False])

        def proxy(connection: socket.socket) -> None:
            if next(cuts):
                return
            with socket.create_connection((host, int(port))) as broker:
                relay(connection, broker)

        cluster = Cluster(client(listen(proxy)))
        for _ in range(2):
            with pytest.raises(TransientSourceError, match="it closed the connection"):
                cluster.metadata([])
        assert str(cluster.metadata([]).brokers[1].address) == kafka.bootstrap_servers
        cluster.close()

    def test_it_can_be_closed_any_number_of_times_and_goes_on(self, cluster: Cluster) -> None:
        cluster.close()
        cluster.metadata([])
        cluster.close()
        cluster.close()
        assert cluster.metadata([]).brokers


class TestLeadersThatMove:
    def test_partitions_are_asked_of_their_leaders_at_once(
        self, three: LocalKafka, topic: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        three.create_topic(topic, assignments={0: [1], 1: [2], 2: [3]})
        cluster = Cluster(client(three.bootstrap_servers))
        until(lambda: answered(cluster, *partitions(topic, 3)))
        assert sorted(cluster.metadata([topic]).brokers) == [1, 2, 3]
        asked = requests_of(monkeypatch)
        assert cluster.list_offsets(dict.fromkeys(partitions(topic, 3), LATEST)) == dict.fromkeys(
            partitions(topic, 3), 0
        )
        assert asked == ["ListOffsetsRequest"] * 3
        assert set(cluster.log_sizes([topic])) == set(partitions(topic, 3))
        cluster.close()

    def test_a_leader_that_moved_is_looked_up_anew(
        self, three: LocalKafka, topic: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        three.create_topic(topic, assignments={0: [2, 3]})
        where = TopicPartition(topic, 0)
        with closing(Cluster(client(three.bootstrap_servers))) as cluster:
            until(lambda: answered(cluster, where))
            three.move_leader(topic, 0, 3)
            asked = requests_of(monkeypatch)

            def looked_up() -> dict[TopicPartition, int | None] | None:
                # The old leader may answer for a moment longer: it has not heard yet.
                found = answered(cluster, where)
                return found if "MetadataRequest" in asked else None

            assert until(looked_up) == {where: 0}
            assert asked[0] == "ListOffsetsRequest"
            assert asked[-1] == "ListOffsetsRequest", "the new leader was asked"
            assert cluster.metadata([topic]).topics[topic].partitions[0].leader == 3

    def test_a_partition_without_a_leader_is_transient_and_named(self, three: LocalKafka, topic: str) -> None:
        three.create_topic(topic, assignments={0: [3], 1: [1]})
        cluster = Cluster(client(three.bootstrap_servers))
        where, other = partitions(topic, 2)
        until(lambda: answered(cluster, where, other))
        three.brokers[3].stop()
        with pytest.raises(TransientSourceError):
            cluster.list_offsets({where: LATEST})
        until(lambda: cluster.metadata([topic]).topics[topic].partitions[0].leader == -1)
        with pytest.raises(TransientSourceError, match="LEADER_NOT_AVAILABLE") as caught:
            cluster.list_offsets({where: LATEST, other: LATEST})
        assert caught.value.split == str(where)
        assert cluster.list_offsets({other: LATEST}) == {other: 0}
        three.brokers[3].start()
        assert until(lambda: answered(cluster, where)) == {where: 0}
        cluster.close()


def requests_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of all requests but those that open connections."""
    sent: list[str] = []
    versioned = BrokerConnection._versioned

    def recording(self: BrokerConnection, request: Any) -> Any:
        sent.append(type(request).__name__)
        return versioned(self, request)

    monkeypatch.setattr(BrokerConnection, "_versioned", recording)
    return sent


def answered(cluster: Cluster, *wanted: TopicPartition) -> dict[TopicPartition, int | None] | None:
    """Return where partitions end; None if a broker does not know the topic, or its leadership, yet."""
    try:
        return cluster.list_offsets(dict.fromkeys(wanted, LATEST))
    except (TransientSourceError, UnknownSplitError):
        return None


def until(ask: Any) -> Any:
    """Ask until the answer is neither None nor False."""
    deadline = time.monotonic() + UNTIL_S
    while (answer := ask()) is None or answer is False:
        assert time.monotonic() < deadline
    return answer


def relay(one: socket.socket, other: socket.socket) -> None:
    """Pass questions and answers on until one side hangs up."""
    while question := one.recv(1 << 16):
        other.sendall(question)
        one.sendall(other.recv(1 << 16))
