"""Topics and options at random: both sources give the same rows, or both refuse."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from local_kafka import LocalKafka
from tests.parity.generated import batch_options, stream_options, write_logs, write_some
from tests.parity.golden.answers import Answers, Mode
from tests.parity.parity import Parity
from tests.parity.results import Failure, Row, Step
from tests.parity.sources import ANY_TIME, Source

REFUSED = "refused"
QUICK = {"kafkaConsumer_pollTimeoutMs": 20_000}
DIVIDE = ("minPartitions", "maxRecordsPerPartition")


def outcome(found: Any) -> Any:
    """Rows with long values cut short; of an error only that it is one: one read may have several reasons."""
    match found:
        case Failure(kind):
            assert not kind.startswith("unknown: "), kind
            print(kind)  # shown where the other source does not refuse
            return REFUSED
        case Step(rows, positions):
            return [short(row) for row in rows], positions
        case rows:
            return [short(row) for row in rows]


def short(row: Row) -> Row:
    return tuple(
        (len(cell), hashlib.sha256(cell).hexdigest()) if isinstance(cell, bytes) and len(cell) > 100 else cell
        for cell in row
    )


def compare(
    parity: Parity, draws: list[dict[str, Any]], read: Callable[[Source, dict[str, Any]], Any]
) -> None:
    """Read with each of the options, and fail with all differences that there are."""
    differences = []
    for given in draws:
        try:
            parity.same(lambda source: outcome(read(source, given)))  # noqa: B023 - called in this round
        except AssertionError as error:
            differences.append(f"{given}\n{error}")
    assert not differences, "\n\n".join(differences)


def batch(source: Source, given: dict[str, Any]) -> Any:
    """Read; undivided if tasks of Spark's source have got hold of the same consumer, which is chance."""
    found = source.batch(**QUICK, **given)
    if isinstance(found, Failure) and "ConcurrentModificationException" in found.kind:
        undivided = {name: value for name, value in given.items() if name not in DIVIDE}
        return source.batch(**QUICK, **undivided)
    return found


@pytest.mark.timeout(6 * 600)
def test_batch_reads(live_parity: Parity, topic: str, seed: int, *, at_length: bool) -> None:
    rounds, appends, reads = (10, 40, 40) if at_length else (1, 12, 6)
    for number in range(rounds):
        rng = random.Random(seed * 100 + number)
        logs = write_logs(live_parity.kafka, rng, f"{topic}-{number}", appends)
        options = [batch_options(rng, logs, beyond_the_end=at_length) for _ in range(reads)]
        compare(live_parity, options, batch)


# What is written is not in the questions that answers are stored under: compressed records are others with
# another version of a codec. With other records, the stored answers are not those to them: the tests fail.
def test_streams_of_what_is_there(
    parity: Parity, answers: Answers, kafka: LocalKafka, topic: str, seed: int, *, at_length: bool
) -> None:
    rounds, appends, streams = (5, 30, 6) if at_length else (1, 8, 3)
    answers.names[re.escape(topic)] = "<topic in a pattern>"

    def read(source: Source, given: dict[str, Any]) -> Any:
        return source.stream(kafkaConsumer_pollTimeoutMs=20_000, **given).available_now()

    for number in range(rounds):
        rng = random.Random(seed * 100 + number)
        logs = write_logs(
            kafka, rng, f"{topic}-{number}", appends, always_alike=answers.mode is not Mode.FRESH
        )
        compare(parity, [stream_options(rng, logs) for _ in range(streams)], read)


@pytest.mark.parametrize("number", range(2))
def test_streams_of_what_is_being_written(
    parity: Parity, kafka: LocalKafka, seed: int, number: int, *, at_length: bool
) -> None:
    steps, appends = (8, 4) if at_length else (3, 3)

    def scenario(source: Source, number: int) -> list[Any]:
        rng = random.Random(seed * 100 + number)  # the same for both sources
        topic = source.topic(f"t{number}", 3, ANY_TIME)
        query = source.stream(
            subscribe=topic,
            startingOffsets="earliest",
            includeHeaders="true",
            maxOffsetsPerTrigger=rng.choice((None, 30)),
            kafka_isolation_level=rng.choice(("read_committed", "read_uncommitted")),
            kafkaConsumer_pollTimeoutMs=20_000,
        )
        found = [outcome(query.step())]
        for _ in range(steps):
            write_some(kafka, rng, topic, range(3), appends)
            if rng.random() < 0.3:
                query.stop()
            found.append(outcome(query.step()))
        query.stop()
        return found

    for each in range(number, 6 if at_length else number + 1, 2):
        parity.same(partial(scenario, number=each))
