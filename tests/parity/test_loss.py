"""Records, partitions and topics that are gone before they were read, with failOnDataLoss true and false."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from local_kafka import LocalKafka
from tests.parity.golden.answers import Answers
from tests.parity.parity import Parity
from tests.parity.results import Failure, Row, Step, rows, values
from tests.parity.sources import Query, Source

Found = list[Step | Failure]
LOSS = Failure("data loss")
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="secret";'
EITHER = pytest.mark.parametrize("fail", ["true", "false"])


def pattern(source: Source) -> str:
    return "^" + source.prefix.replace(".", r"\.")


def read_three_of_twenty(source: Source, **options: Any) -> tuple[str, Query]:
    """Return a topic, and a stopped query that has read its first three records."""
    topic = source.filled(3)
    query = source.stream(subscribe=topic, startingOffsets="earliest", **options)
    first = query.step()
    assert len(rows(first)) == 3
    query.stop()
    source.produce(topic, [b"%d" % i for i in range(3, 20)])
    return topic, query


@EITHER
def test_records_that_retention_deleted(parity: Parity, fail: str) -> None:
    def scenario(source: Source) -> Step | Failure:
        topic, query = read_three_of_twenty(source, failOnDataLoss=fail)
        source.kafka.delete_records(topic, {0: 10})
        return query.step()

    found = parity.same(scenario)
    if fail == "true":
        assert found == LOSS
    else:
        assert [row[4] for row in rows(found)] == list(range(10, 20))


@EITHER
def test_a_batch_read_of_records_that_are_gone(parity: Parity, fail: str) -> None:
    def scenario(source: Source) -> list[Row] | Failure:
        topic = source.filled(50)
        source.kafka.delete_records(topic, {0: 30})
        return source.batch(subscribe=topic, startingOffsets=f'{{"{topic}":{{"0":0}}}}', failOnDataLoss=fail)

    found = parity.same(scenario)
    assert found == LOSS if fail == "true" else len(found) == 20  # type: ignore[arg-type]


@EITHER
def test_a_batch_that_ends_beyond_the_log(parity: Parity, fail: str) -> None:
    def scenario(source: Source) -> list[Row] | Failure:
        topic = source.filled(3)
        return source.batch(
            subscribe=topic,
            endingOffsets=f'{{"{topic}":{{"0":50}}}}',
            failOnDataLoss=fail,
            kafkaConsumer_pollTimeoutMs=2000,
        )

    found = parity.same(scenario)
    assert found == LOSS if fail == "true" else len(found) == 3  # type: ignore[arg-type]


@EITHER
def test_a_partition_that_was_added_and_has_lost_its_first_records(parity: Parity, fail: str) -> None:
    def scenario(source: Source) -> Step | Failure:
        topic = source.filled(3)
        query = source.stream(subscribe=topic, startingOffsets="earliest", failOnDataLoss=fail)
        query.step()
        query.stop()
        source.kafka.add_partitions(topic, 2)
        source.produce(topic, [b"%d" % i for i in range(10)], partition=1)
        source.kafka.delete_records(topic, {1: 7})
        return query.step()

    found = parity.same(scenario)
    if fail == "true":
        assert found == LOSS
    else:
        assert [row[4] for row in rows(found)] == [7, 8, 9]


@EITHER
def test_a_topic_that_was_deleted_while_the_query_rested(parity: Parity, fail: str) -> None:
    def scenario(source: Source) -> Found:
        source.filled(3, short="stays")
        gone = source.filled(3, short="goes")
        query = source.stream(
            subscribePattern=pattern(source),
            startingOffsets="earliest",
            failOnDataLoss=fail,
        )
        found = [query.step()]
        query.stop()
        source.kafka.delete_topic(gone)
        source.produce(source.called("stays"), [b"more"])
        return [*found, query.step()]

    _, found = parity.same(scenario)
    assert found == LOSS if fail == "true" else values(rows(found)) == [b"more"]


def read_three_then_anew(source: Source, records: int, fail: str) -> int | Failure:
    """Return how many rows a query gives of a topic that was created anew after it had read three records."""
    topic = source.filled(3)
    query = source.stream(subscribe=topic, startingOffsets="earliest", failOnDataLoss=fail)
    query.step()
    query.stop()
    source.kafka.delete_topic(topic)
    source.produce(source.topic(), [b"new"] * records)
    step = query.step()
    return len(step.rows) if isinstance(step, Step) else step


def test_a_topic_that_was_created_anew_and_is_shorter(parity: Parity) -> None:
    assert parity.same(lambda source: read_three_then_anew(source, 1, "true")) == LOSS


def test_a_topic_that_was_created_anew_and_is_shorter_without_failing(parity: Parity) -> None:
    found = parity.differs(
        "shorter-topic-created-anew", lambda source: read_three_then_anew(source, 1, "false")
    )
    assert found == (0, 1)


@EITHER
def test_a_topic_that_was_created_anew_and_is_longer(parity: Parity, fail: str) -> None:
    found = parity.differs("longer-topic-created-anew", lambda source: read_three_then_anew(source, 10, fail))
    assert found == (7, LOSS if fail == "true" else 10)


def test_a_topic_of_a_pattern_goes_and_another_comes(parity: Parity) -> None:
    def scenario(source: Source) -> Found:
        gone = source.filled(0, 0, short="seems")
        query = source.stream(subscribePattern=pattern(source), failOnDataLoss="false")
        found = [query.step()]
        source.produce(gone, [b"1", b"2", b"3"])
        found.append(query.step())
        source.kafka.delete_topic(gone)
        other = source.filled(0, 0, short="other")
        source.produce(other, [b"4", b"5"])
        found.append(query.until(lambda positions: "other" in positions))
        return [*found[:2], found[2] if isinstance(found[2], Failure) else Step(found[2].rows, {})]

    assert [values(rows(step)) for step in parity.same(scenario)] == [[], [b"1", b"2", b"3"], [b"4", b"5"]]


def test_a_pattern_whose_only_topic_is_deleted(parity: Parity) -> None:
    """SPARK-41375: no offset without partitions is logged."""

    def scenario(source: Source) -> Found:
        topic = source.filled(0, 0)
        query = source.stream(subscribePattern=pattern(source), failOnDataLoss="false")
        query.step()
        source.produce(topic, [b"1", b"2", b"3"])
        found = [query.step()]
        source.kafka.delete_topic(topic)
        return [*found, query.step()]

    before, after = parity.same(scenario)
    assert isinstance(before, Step)
    assert isinstance(after, Step)
    assert after.rows == []
    assert after.positions == before.positions == {"t": {"0": 3, "1": 0}}


def test_a_task_whose_topic_is_created_anew_before_it_reads(parity: Parity) -> None:
    def scenario(source: Source) -> bool:
        topic = source.filled(10)
        query = source.stream(
            subscribe=topic,
            startingOffsets="earliest",
            failOnDataLoss="false",
            kafkaConsumer_pollTimeoutMs=1000,
        )

        def anew(batch_id: int) -> None:
            if batch_id == 0:
                source.kafka.delete_topic(topic)
                source.topic()

        query.before_batch = anew
        return isinstance(query.step(), Step)

    assert parity.same(scenario) is True


@pytest.mark.parametrize("partitions", [3, 5])
def test_available_now_over_a_topic_that_is_created_anew(parity: Parity, partitions: int) -> None:
    def scenario(source: Source) -> Step | Failure:
        topic = source.filled(15, 0, 0, 0, 0)
        query = source.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=5)

        def anew(batch_id: int) -> None:
            source.kafka.delete_topic(topic)
            source.topic("t", partitions)
            source.produce(topic, [b"new"] * (15 if partitions == 3 else 10))

        query.before_batch = anew
        return query.available_now()

    assert parity.same(scenario) == LOSS


def fail_in_the_sink(batch_id: int) -> None:
    raise ValueError("error of the sink")


def test_available_now_again_after_a_failed_batch_and_a_new_partition(parity: Parity) -> None:
    """SPARK-53560."""

    def scenario(source: Source) -> list[Any]:
        topic = source.filled(7)
        query = source.stream(subscribe=topic, startingOffsets="earliest")
        works = query.before_batch
        query.before_batch = fail_in_the_sink
        found: list[Any] = [query.available_now()]
        source.kafka.add_partitions(topic, 2)
        source.produce(topic, [b"added"], partition=1)
        found.append(query.available_now())
        query.before_batch = works
        return [*found, query.available_now()]

    *failures, last = parity.same(scenario)
    assert failures == [Failure("the sink")] * 2
    assert len(last.rows) == 8


@EITHER
def test_a_stream_that_begins_beyond_the_end(parity: Parity, fail: str) -> None:
    def scenario(source: Source) -> Step | Failure:
        topic = source.filled(3)
        given = {"startingOffsets": f'{{"{topic}":{{"0":50}}}}', "failOnDataLoss": fail}
        return source.stream(subscribe=topic, **given).step()

    found = parity.same(scenario)
    assert found == LOSS if fail == "true" else rows(found) == []


def test_a_subscription_that_was_narrowed(parity: Parity) -> None:
    def scenario(source: Source) -> list[bytes | None] | Failure:
        topics = [source.filled(3, short=short) for short in ("kept", "left")]
        query = source.stream(subscribe=",".join(topics), startingOffsets="earliest")
        assert len(rows(query.step())) == 6
        query.stop()
        query.options["subscribe"] = topics[0]
        source.produce(topics[0], [b"more"])
        step = query.step()
        return step if isinstance(step, Failure) else values(step.rows)

    assert parity.differs("narrowed-subscription", scenario) == (LOSS, [b"more"])


@EITHER
def test_a_topic_that_is_new_and_has_lost_its_first_records(parity: Parity, fail: str) -> None:
    def scenario(source: Source) -> Step | Failure:
        source.filled(3, short="old")
        query = source.stream(
            subscribePattern=pattern(source), startingOffsets="earliest", failOnDataLoss=fail
        )
        query.step()
        query.stop()
        aged = source.filled(10, short="aged")
        source.kafka.delete_records(aged, {0: 7})
        return query.step()

    if fail == "false":
        assert [row[4] for row in rows(parity.same(scenario))] == [7, 8, 9]
    else:
        sparks, ours = parity.differs("aged-topic", scenario)
        assert sparks == LOSS
        assert [row[4] for row in rows(ours)] == [7, 8, 9]


def test_available_now_again_after_a_failed_batch_and_an_empty_new_partition(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(7)
        query = source.stream(subscribe=topic, startingOffsets="earliest")
        works = query.before_batch
        query.before_batch = fail_in_the_sink
        found: list[Any] = [query.available_now(), query.positions]
        source.kafka.add_partitions(topic, 2)
        query.before_batch = works
        found.append(query.available_now())
        source.produce(topic, [b"later"], partition=1)
        return [*found, query.available_now()]

    first, positions, second, third = parity.same(scenario)
    assert first == Failure("the sink")
    assert positions == {"t": {"0": 7}}
    assert len(rows(second)) == 7
    assert values(rows(third)) == [b"later"]


@EITHER
def test_a_permission_that_goes_and_comes_back(
    request: pytest.FixtureRequest, answers: Answers, topic: str, tmp_path: Path, fail: str
) -> None:
    """SPARK-41375: what was read is not read again."""
    listener = "SASL_PLAINTEXT"
    with LocalKafka(users={"ann": "secret"}, authorize=True) as kafka:
        spark = partial(request.getfixturevalue, "spark")
        parity = Parity(answers, spark, lambda: kafka, topic, tmp_path)

        def scenario(source: Source) -> list[Any]:
            name = source.filled(5)
            source.kafka.allow("ann", "READ", topic=name)
            source.kafka.allow("ann", "DESCRIBE", topic=name)
            query = source.stream(
                subscribePattern=pattern(source),
                startingOffsets="earliest",
                failOnDataLoss=fail,
                kafka_bootstrap_servers=kafka.bootstrap(listener),
                kafka_security_protocol=listener,
                kafka_sasl_mechanism="PLAIN",
                kafka_sasl_jaas_config=JAAS,
            )
            found: list[Any] = [query.step()]
            for operation in ("READ", "DESCRIBE"):
                source.kafka.disallow("ann", operation, topic=name)
            found.append(query.step())
            for operation in ("READ", "DESCRIBE"):
                source.kafka.allow("ann", operation, topic=name)
            source.produce(name, [b"later"])
            found.append(query.until(lambda positions: positions["t"]["0"] == 6))
            return found

        before, away, after = parity.same(scenario)
        parity.close()
    assert (len(rows(before)), rows(away), values(rows(after))) == (5, [], [b"later"])
