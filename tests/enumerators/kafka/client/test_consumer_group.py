"""A group's committed offsets, read and written without joining it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from headwater.core.errors import AuthorizationError, SourceError, TransientSourceError, UnknownSplitError
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.consumer_group import ConsumerGroup
from headwater.enumerators.kafka.client.metadata import TopicPartition
from local_kafka import LocalKafka
from local_kafka_admin import until
from tests.enumerators.kafka.client.listeners import Listen, client
from tests.enumerators.kafka.conftest import PASSWORDS
from tests.patience import PATIENCE_S
from tests.scripted_groups import (
    COORDINATOR_LOADING,
    GROUP_NOT_AUTHORIZED,
    NO_COORDINATOR,
    UNKNOWN_MEMBER,
    UNSTABLE_OFFSET,
)
from tests.scripted_kafka import NOT_AUTHORIZED, UNKNOWN_TOPIC, ScriptedKafka

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


@pytest.fixture
def scripted(listen: Listen) -> ScriptedKafka:
    return ScriptedKafka(listen, nodes=(1, 2))


@pytest.fixture
def group(scripted: ScriptedKafka) -> Iterator[ConsumerGroup]:
    cluster = Cluster(client(scripted.bootstrap))
    yield ConsumerGroup(cluster, "g")
    cluster.close()


def test_offsets_that_were_set_are_read_and_the_rest_is_none(
    scripted: ScriptedKafka, group: ConsumerGroup
) -> None:
    group.commit({A0: 5, B0: 0})
    assert scripted.groups.offsets == {"g": {A0: 5, B0: 0}}
    assert group.committed([A0, A1, B0]) == {A0: 5, A1: None, B0: 0}
    assert group.committed([]) == {}


def test_a_group_that_does_not_exist_has_no_offset_anywhere(group: ConsumerGroup) -> None:
    assert group.committed([A0, A1]) == {A0: None, A1: None}


def test_the_coordinator_is_asked_wherever_it_is_and_found_again_when_it_moves(
    scripted: ScriptedKafka, group: ConsumerGroup
) -> None:
    scripted.groups.node = 2
    group.commit({A0: 5})
    scripted.groups.node = 1
    with pytest.raises(
        TransientSourceError, match=r"consumer group 'g': the broker answered NOT_COORDINATOR"
    ):
        group.commit({A0: 6})
    group.commit({A0: 6})
    assert [scripted.groups.commits.get(timeout=PATIENCE_S).node for _ in range(3)] == [2, 2, 1]
    assert scripted.groups.offsets["g"] == {A0: 6}


@pytest.mark.parametrize("code", [COORDINATOR_LOADING, NO_COORDINATOR, UNSTABLE_OFFSET])
def test_what_passes_is_to_be_asked_again(scripted: ScriptedKafka, group: ConsumerGroup, code: int) -> None:
    scripted.groups.errors.append(code)
    with pytest.raises(TransientSourceError):
        group.committed([A0])
    assert group.committed([A0]) == {A0: None}
    scripted.groups.lookup_errors.append(NO_COORDINATOR)
    scripted.groups.errors.append(code)
    with pytest.raises(TransientSourceError):
        group.commit({A0: 1})
    with pytest.raises(TransientSourceError, match="coordinator of the consumer group 'g'"):
        group.commit({A0: 1})
    group.commit({A0: 1})


def test_a_group_with_live_members_takes_offsets_from_nobody_else(
    scripted: ScriptedKafka, group: ConsumerGroup
) -> None:
    scripted.groups.errors.append(UNKNOWN_MEMBER)
    with pytest.raises(
        SourceError, match=r"consumer group 'g' has live members, .*stop them, or name another"
    ):
        group.commit({A0: 1})


def test_a_missing_permission_is_named_with_the_command_that_grants_it(
    scripted: ScriptedKafka, group: ConsumerGroup
) -> None:
    scripted.groups.errors.append(GROUP_NOT_AUTHORIZED)
    with pytest.raises(
        AuthorizationError,
        match=r"the permission Read on group 'g'\. Grant it: .* --operation Read --group g",
    ):
        group.commit({A0: 1})
    scripted.groups.lookup_errors.append(GROUP_NOT_AUTHORIZED)
    with pytest.raises(AuthorizationError, match=r"--operation Describe --group g"):
        group.committed([A0])
    scripted.groups.topic_errors["a"] = NOT_AUTHORIZED
    with pytest.raises(AuthorizationError, match=r"topic 'a', partition 1: .*--operation Describe --topic a"):
        group.committed([A1])


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (NOT_AUTHORIZED, AuthorizationError, "--operation Read --topic a"),
        (UNKNOWN_TOPIC, UnknownSplitError, "topic 'a', partition 0"),
    ],
)
def test_a_partition_that_is_refused_keeps_no_other_from_being_set(
    scripted: ScriptedKafka, group: ConsumerGroup, code: int, error: type[SourceError], message: str
) -> None:
    scripted.groups.topic_errors["a"] = code
    with pytest.raises(error, match=re.escape(message)):
        group.commit({A0: 1, A1: 1, **{TopicPartition("b", i): i for i in range(1_500)}})
    assert len(scripted.groups.offsets["g"]) == 1_500


def test_a_commit_is_cut_so_that_the_coordinator_can_write_each_part_in_one_batch(
    scripted: ScriptedKafka, group: ConsumerGroup
) -> None:
    offsets = {TopicPartition("a", index): index for index in range(10_000)}
    group.commit(offsets)
    assert scripted.groups.offsets["g"] == offsets
    assert [len(scripted.groups.commits.get_nowait().offsets) for _ in range(10)] == [1_000] * 10
    assert group.committed(offsets) == offsets


def test_a_real_broker_wants_these_permissions(secure_kafka: LocalKafka, topic: str) -> None:
    secure_kafka.create_topic(topic)
    login = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "bob",
        "sasl_password": PASSWORDS["bob"],
    }
    cluster = Cluster(client(secure_kafka.bootstrap("SASL_PLAINTEXT"), **login))
    group = ConsumerGroup(cluster, topic)
    tp = TopicPartition(topic, 0)

    def answer() -> str:
        try:
            group.commit({tp: 3})
        except (AuthorizationError, TransientSourceError) as error:
            return error.message
        return "done"

    try:
        assert f"lacks the permission Read on group '{topic}'" in answer()
        secure_kafka.allow("bob", "READ", group=topic)
        until(
            lambda: f"lacks the permission Read on topic '{topic}'" in answer(), "an answer about the topic"
        )
        secure_kafka.allow("bob", "READ", topic=topic)
        until(lambda: answer() == "done", "the commit")
        assert group.committed([tp]) == {tp: 3}
    finally:
        cluster.close()
