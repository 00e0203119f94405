"""A stream over transactions that are open, committed and aborted: eighteen steps of three offsets."""

from __future__ import annotations

import pytest

from local_kafka_client import Transaction
from tests.parity.parity import Parity
from tests.parity.results import Failure, Step
from tests.parity.sources import Source

READ = {
    "read_committed": [[], [], [0, 1, 2, 3, 4], [], [12, 13, 14, 15, 16], [18, 20, 22, 23]],
    "read_uncommitted": [
        [],
        [0, 1, 2, 3, 4],
        [],
        [6, 7, 8, 9, 10],
        [12, 13, 14, 15, 16],
        [18, 20, 22, 23],
    ],
}
"""Offsets of records, by isolation level and step. Each value is its offset; markers take one too."""
BATCHES = {
    "read_committed": [[0, 1, 2], [3, 4], [12, 13, 14], [15, 16], [18, 20], [22, 23]],
    "read_uncommitted": [[0, 1, 2], [3, 4], [6, 7, 8], [9, 10], [12, 13, 14], [15, 16], [18, 20], [22, 23]],
}


@pytest.mark.parametrize("level", READ)
def test_what_a_stream_sees_of_transactions(parity: Parity, level: str) -> None:
    def scenario(source: Source) -> list[Step | Failure | list[list[int]]]:
        topic = source.topic()
        query = source.stream(
            subscribe=topic,
            startingOffsets="earliest",
            maxOffsetsPerTrigger=3,
            kafka_isolation_level=level,
            kafkaConsumer_pollTimeoutMs=5000,
        )
        found: list[Step | Failure] = [query.step()]

        def written(*offsets: int) -> Transaction:
            transaction = source.kafka.begin(topic)
            transaction.produce([b"%d" % offset for offset in offsets])
            return transaction

        transaction = written(0, 1, 2, 3, 4)
        found.append(query.step())
        transaction.commit()
        found.append(query.step())
        written(6, 7, 8, 9, 10).abort()
        found.append(query.step())
        written(12, 13, 14, 15, 16).commit()
        found.append(query.step())
        query.stop()  # its next batch is cut when all of these are there
        for offsets in ((18,), (20,), (22, 23)):
            written(*offsets).commit()
        found.append(query.step())
        steps = [step if isinstance(step, Failure) else _untimed(step) for step in found]
        return [*steps, [[row[4] for row in rows] for rows in query.batches]]

    *steps, batches = parity.same(scenario)
    assert [[row[4] for row in step.rows] for step in steps if isinstance(step, Step)] == READ[level]
    assert batches == BATCHES[level]


def _untimed(step: Step) -> Step:
    """The step without timestamps: transactions are made at their own time."""
    return Step([row[:5] for row in step.rows], step.positions)
