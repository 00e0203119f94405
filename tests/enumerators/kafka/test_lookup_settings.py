from __future__ import annotations

import pickle

import pytest

from headwater.enumerators.kafka.lookup_settings import (
    AssignedPartitions,
    Subscription,
    TopicNames,
    TopicPattern,
)

NAMED = TopicNames(frozenset({"orders", "audit"}))
PATTERN = TopicPattern("order.*")
ASSIGNED = AssignedPartitions(frozenset({("orders", 2), ("orders", 0), ("audit", 1)}))


@pytest.mark.parametrize(
    ("subscription", "topic", "partition", "selected"),
    [
        (NAMED, "orders", 7, True),
        (NAMED, "order", 0, False),
        (PATTERN, "orders", 0, True),
        (PATTERN, "my-orders", 0, True),
        (TopicPattern("order"), "orders", 0, True),
        (TopicPattern("X"), "X-a1", 0, True),
        (TopicPattern("^order$"), "orders", 0, False),
        (TopicPattern("^[^b]"), "b", 0, False),
        (TopicPattern("^[^b]"), "c", 0, True),
        (TopicPattern("(?i)ORDERS|audit"), "orders", 0, True),
        (ASSIGNED, "orders", 2, True),
        (ASSIGNED, "orders", 1, False),
        (ASSIGNED, "other", 0, False),
    ],
)
def test_what_is_selected(subscription: Subscription, topic: str, partition: int, *, selected: bool) -> None:
    assert subscription.selects(topic, partition) is selected


def test_which_topics_are_asked_for() -> None:
    assert (NAMED.topics, PATTERN.topics, ASSIGNED.topics) == (["audit", "orders"], None, ["audit", "orders"])


def test_only_an_assignment_needs_certain_partitions() -> None:
    assert [subscription.required("orders") for subscription in (NAMED, PATTERN, ASSIGNED)] == [
        (),
        (),
        [0, 2],
    ]


@pytest.mark.parametrize("subscription", [NAMED, PATTERN, ASSIGNED])
def test_it_travels(subscription: Subscription) -> None:
    assert pickle.loads(pickle.dumps(subscription)) == subscription
