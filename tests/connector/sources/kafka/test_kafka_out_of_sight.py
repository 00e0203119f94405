"""Real brokers that hide topics, and a cluster of which half is dead: nothing twice, nothing lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from headwater.core.errors import DataLossError, HeadwaterError
from local_kafka import LocalKafka
from local_kafka_admin import until
from tests.connector.sources.kafka.kafka_queries import Query, values
from tests.connector.sources.kafka.permissions import PASSWORD, Ann

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def guarded() -> Iterator[LocalKafka]:
    with LocalKafka(users={"ann": PASSWORD}, authorize=True) as running:
        yield running


class AnnWithQueries(Ann):
    """What she reads, and what there is to be read."""

    def __init__(self, kafka: LocalKafka, topic: str, stack: ExitStack) -> None:
        super().__init__(kafka, [f"{topic}-{letter}" for letter in "abc"])
        self._stack = stack
        for name in self.topics:
            kafka.produce(name, [b"%s %d" % (name.encode(), i) for i in range(10)])

    def query(self, **options: str) -> Query:
        given: dict[str, Any] = {**self.options, **options}
        made = Query(self.kafka.bootstrap("SASL_PLAINTEXT"), **given)
        self._stack.enter_context(closing(made))
        return made

    def everything(self, more: int = 0) -> list[bytes]:
        return sorted(b"%s %d" % (name.encode(), i) for name in self.topics for i in range(10 + more))

    def produce(self, number: int) -> None:
        for name in self.topics:
            self.kafka.produce(name, [b"%s %d" % (name.encode(), number)])


@pytest.fixture
def ann(guarded: LocalKafka, topic: str) -> Iterator[AnnWithQueries]:
    with ExitStack() as stack:
        made = AnnWithQueries(guarded, topic, stack)
        stack.callback(made.close)
        yield made


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
@pytest.mark.parametrize("killed", [False, True])
def test_a_permission_that_is_gone_for_a_while_brings_nothing_twice(
    ann: AnnWithQueries, fail_on_data_loss: str, *, killed: bool
) -> None:
    reading = ann.query(failOnDataLoss=fail_on_data_loss)
    rows = values(reading.step())
    assert sorted(rows) == ann.everything()
    for name in ann.topics:
        ann.sees_no_more(name)
    ann.produce(10)
    assert reading.step() is None
    if killed:
        reading.restart()
    assert reading.step() is None
    for name in ann.topics:
        ann.sees(name)
    rows += read_all(reading)
    assert sorted(rows) == ann.everything(1)
    assert "losses" not in reading.log[-1]


@pytest.mark.parametrize("killed", [False, True])
def test_topics_that_vanish_one_by_one_go_on_where_they_were(ann: AnnWithQueries, *, killed: bool) -> None:
    reading = ann.query(failOnDataLoss="false")
    rows = values(reading.step())
    for number, name in enumerate(ann.topics):
        ann.sees_no_more(name)
        ann.produce(10 + number)
        rows += read_all(reading)
        if killed:
            reading.restart()
    for name in reversed(ann.topics):
        ann.sees(name)
        rows += read_all(reading)
    assert sorted(rows) == ann.everything(3)
    assert "losses" not in reading.log[-1]


def test_a_topic_that_vanishes_beside_others_fails_until_it_is_back(ann: AnnWithQueries) -> None:
    reading = ann.query()
    rows = values(reading.step())
    ann.sees_no_more(ann.topics[1])
    ann.produce(10)
    for _ in range(2):
        with pytest.raises(DataLossError, match=r"not in sight \(2: .*A restart goes on at their positions"):
            reading.step()
        reading.restart()
    ann.sees(ann.topics[1])
    rows += read_all(reading)
    assert sorted(rows) == ann.everything(1)


def test_a_permission_that_goes_between_plan_and_read_fails_the_batch_which_is_read_again_whole(
    ann: AnnWithQueries,
) -> None:
    reading = ann.query()
    rows = values(reading.step())
    ann.produce(10)
    end = reading._coordinator.plan_next(reading.log[-1], limited=True)
    reading.log.append(end)
    ann.sees_no_more(ann.topics[0])
    with pytest.raises(HeadwaterError):
        reading.replay()
    reading.restart()
    ann.sees(ann.topics[0])
    rows += values(reading.replay())
    rows += read_all(reading)
    assert sorted(rows) == ann.everything(1)


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
def test_a_half_dead_cluster_is_waited_for_and_loses_nothing(topic: str, fail_on_data_loss: str) -> None:
    with LocalKafka(2, heap_mb=256) as kafka:
        kafka.create_topic(topic, 4)
        kafka.produce(topic, [b"%d" % i for i in range(40)])
        query = Query(
            kafka.bootstrap_servers,
            subscribePattern=f"^{topic}$",
            startingOffsets="earliest",
            failOnDataLoss=fail_on_data_loss,
            kafka_request_timeout_ms="1000",
            kafka_default_api_timeout_ms="2000",
            **{"fetchOffset.numRetries": "1", "fetchOffset.retryIntervalMs": "100"},  # type: ignore[arg-type]
        )
        with closing(query):
            rows = values(query.step())
            kafka.brokers[2].kill()
            with pytest.raises(HeadwaterError):
                query.step()
            query.restart()
            with pytest.raises(HeadwaterError):
                query.step()
            kafka.brokers[2].restart()
            until(lambda: min(kafka.leaders(topic).values()) > 0, "all partitions to have a leader")
            kafka.produce(topic, [b"%d" % i for i in range(40, 44)])
            query.restart()
            rows += read_all(query)
        assert sorted(rows) == sorted(b"%d" % i for i in range(44))
        assert "losses" not in query.log[-1]


def read_all(reading: Query) -> list[bytes]:
    """Step until there is nothing to do."""
    rows: list[bytes] = []
    while (more := reading.step()) is not None:
        rows += values(more)
    return rows
