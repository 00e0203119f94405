"""Topics and options at random: both sources give the same rows, or both refuse."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.generated import batch_options, stream_options, write_logs, write_some
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
    live_parity: Parity, draws: list[dict[str, Any]], read: Callable[[Source, dict[str, Any]], Any]
) -> None:
    """Read with each of the options, and fail with all differences that there are."""
    differences = []
    for given in draws:
        try:
            live_parity.same(lambda source: outcome(read(source, given)))  # noqa: B023 - called in this round
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


def test_batch_reads(live_parity: Parity, topic: str, rng: random.Random) -> None:
    logs = write_logs(live_parity.kafka, rng, topic, 12)
    compare(live_parity, [batch_options(rng, logs, beyond_the_end=False) for _ in range(6)], batch)


@pytest.mark.long
@pytest.mark.parametrize("number", range(10))
def test_many_batch_reads(live_parity: Parity, topic: str, seed: int, number: int) -> None:
    rng = random.Random(seed * 100 + number)
    logs = write_logs(live_parity.kafka, rng, topic, 40)
    compare(live_parity, [batch_options(rng, logs, beyond_the_end=True) for _ in range(40)], batch)


@pytest.mark.long
@pytest.mark.parametrize("number", range(5))
def test_streams_of_what_is_there(live_parity: Parity, topic: str, seed: int, number: int) -> None:
    rng = random.Random(seed * 100 + number)
    logs = write_logs(live_parity.kafka, rng, topic, 30)

    def read(source: Source, given: dict[str, Any]) -> Any:
        return source.stream(kafkaConsumer_pollTimeoutMs=20_000, **given).available_now()

    compare(live_parity, [stream_options(rng, logs) for _ in range(6)], read)


@pytest.mark.long
@pytest.mark.parametrize("number", range(5))
def test_streams_of_what_is_being_written(live_parity: Parity, seed: int, number: int) -> None:
    def scenario(source: Source) -> list[Any]:
        rng = random.Random(seed * 100 + number)  # the same for both sources
        topic = source.topic("t", 3, ANY_TIME)
        query = source.stream(
            subscribe=topic,
            startingOffsets="earliest",
            includeHeaders="true",
            maxOffsetsPerTrigger=rng.choice((None, 30)),
            kafka_isolation_level=rng.choice(("read_committed", "read_uncommitted")),
            kafkaConsumer_pollTimeoutMs=20_000,
        )
        found = [outcome(query.step())]
        for _ in range(8):
            write_some(source.kafka, rng, topic, range(3), 4)
            if rng.random() < 0.3:
                query.stop()
            found.append(outcome(query.step()))
        return found

    live_parity.same(scenario)
