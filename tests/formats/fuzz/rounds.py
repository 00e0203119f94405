"""Rounds: each has a random schema of one format, and batches of mutated values for it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

import numpy as np

from tests.formats.fuzz import (
    avro_subjects,
    blocks,
    copy_blocks,
    csv_subjects,
    pgoutput_blocks,
    plugin_blocks,
    protobuf_subjects,
    text_subjects,
)
from tests.formats.fuzz.checks import BatchChecker
from tests.formats.fuzz.mutation import COMMON_TOKENS, Values, mutated
from tests.formats.fuzz.record_sets import RecordSetChecker, record_sets
from tests.formats.fuzz.subject import Subject
from tests.readers.formats.scripted_registry import ScriptedRegistry

BATCHES: Final = 10
CHECKERS: Final = {
    **blocks.CHECKERS,
    **copy_blocks.CHECKERS,
    **pgoutput_blocks.CHECKERS,
    **plugin_blocks.CHECKERS,
}
RECORD_SETS: Final = "kafka"
"""Beside the formats: record sets as brokers send them."""
_RECORD_SETS_SHARE: Final = 1 / 20
"""One record set takes as long as very many values."""
_LARGE: Final = frozenset({RECORD_SETS, "postgres-copy", "postgres-changes", "rabbitmq-chunks"})
"""Each value of these is many."""


class Checker(Protocol):
    """Checks a batch."""

    def check(self, values: Values) -> int: ...


def subjects(registry: ScriptedRegistry) -> Mapping[str, Callable[[random.Random], Subject]]:
    """Return what makes a subject of each format."""
    return {
        "json": text_subjects.json,
        "csv": csv_subjects.csv,
        "avro": avro_subjects.avro,
        "protobuf": protobuf_subjects.protobuf,
        "confluent-json": text_subjects.confluent_json,
        "glue-json": text_subjects.glue_json,
        "confluent-avro": partial(avro_subjects.confluent_avro, registry=registry),
        "confluent-protobuf": partial(protobuf_subjects.confluent_protobuf, registry=registry),
        "text": text_subjects.text,
    }


NAMES: Final = (
    *("json", "csv", "avro", "protobuf", "text"),
    *("confluent-json", "confluent-avro", "confluent-protobuf", "glue-json"),
    *CHECKERS,
    RECORD_SETS,
)


class Tally:
    """What was checked of one format."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rounds = 0
        self.values = 0
        self.bad = 0
        self.seconds = 0.0

    def wants(self, values: int) -> bool:
        """Whether it has fewer values than its share of so many."""
        share = _RECORD_SETS_SHARE if self.name == RECORD_SETS else 1
        return self.values < share * values

    def __str__(self) -> str:
        rate = self.values / self.seconds if self.seconds else 0
        bad = 100 * self.bad / max(self.values, 1)
        return (
            f"{self.name:20} {self.values:>13,} values, {bad:5.1f} % bad, {self.rounds:>6,} schemas, "
            f"{self.seconds:>8,.0f} s, {rate:>9,.0f} values/s"
        )


def check_round(tally: Tally, seed: int, registry: ScriptedRegistry, most_rows: int) -> None:
    """Check one more round. The same seed, name and number make the same values.

    Raises:
        AssertionError: something does not hold.
    """
    began = time.monotonic()
    rng = random.Random(f"{seed}/{tally.name}/{tally.rounds}")
    numbers = np.random.default_rng(rng.getrandbits(64))
    checker: Checker
    good: Sequence[bytes]
    tokens: Sequence[bytes] = ()
    if tally.name == RECORD_SETS:
        checker = RecordSetChecker(numbers)
        good = record_sets(rng)
    elif tally.name in CHECKERS:
        block = CHECKERS[tally.name](rng, numbers)
        checker, (_, good, tokens, _) = block, block.subject
    else:
        subject = subjects(registry)[tally.name](rng)
        checker = BatchChecker(subject, numbers)
        good = subject.good
        tokens = subject.tokens
    if tally.name in _LARGE:
        most_rows //= 20
    for _ in range(BATCHES):
        rows = rng.choice([1, rng.randrange(1, 300), *[rng.randrange(1, most_rows + 1)] * 6])
        tally.bad += checker.check(mutated(numbers, good, [*tokens, *COMMON_TOKENS], rows))
        tally.values += rows
    tally.rounds += 1
    tally.seconds += time.monotonic() - began
