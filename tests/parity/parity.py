"""Runs a scenario on both sources and compares what they gave, exactly."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from pprint import pformat
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from headwater.tools.commands.kafka_differences import DIFFERENCES
from local_kafka import LocalKafka
from tests.parity.golden.answers import Answers, Mode
from tests.parity.local_source import LocalSource
from tests.parity.recorded_kafka import recorded
from tests.parity.sources import Source

__all__ = ["Parity"]

T = TypeVar("T")


class Parity:
    """A scenario is a function of a `Source`; what it returns is compared.

    It makes topics, reads and runs queries through the source that it is given, so that it runs several times
    on topics of the same content. Ours runs in this process, on a broker; what Spark's source gives is stored
    (`Answers`), under what ours was asked for: topics, records, options. Where Spark is there to be asked,
    ours runs through Spark too.

    Attributes:
        kafka: the broker; it starts when a scenario needs it.

    Args:
        answers: what Spark's source gives.
        spark: returns the session; called only by what needs one.
        kafka: returns the broker.
        topic: begins the names of topics.
        folder: for checkpoints.
    """

    def __init__(
        self,
        answers: Answers,
        spark: Callable[[], SparkSession],
        kafka: Callable[[], LocalKafka],
        topic: str,
        folder: Path,
    ) -> None:
        self._answers = answers
        self._log: list[Any] = []

        def broker() -> LocalKafka:
            running = kafka()
            addresses = {running.bootstrap(each): f"<{each}>" for each in running.listeners}
            answers.names.update(addresses)
            return running

        self.kafka = recorded(broker, self._log)
        answers.names[topic] = "<topic>"
        self._ours = LocalSource("headwater", spark, self.kafka, f"{topic}.ours.", folder, self._log)
        other = recorded(broker, [])
        self._through_spark = Source("headwater", spark, other, f"{topic}.headwater.", folder)
        self._sparks = Source("kafka", spark, other, f"{topic}.kafka.", folder)

    def same(self, scenario: Callable[[Source], T], *, needs_spark: bool = False) -> T:
        """Return what both gave, which must be the same.

        Args:
            scenario: as above.
            needs_spark: it makes something of frames or streams that only Spark makes.
        """
        sparks, ours = self._both(scenario, needs_spark=needs_spark)
        if ours != sparks:
            raise AssertionError(_difference(sparks, ours))
        return ours

    def differs(
        self, difference: str, scenario: Callable[[Source], T], *, needs_spark: bool = False
    ) -> tuple[T, T]:
        """Return what Spark's source gave and what ours gave, where `DIFFERENCES` says that they differ."""
        assert difference in DIFFERENCES
        sparks, ours = self._both(scenario, needs_spark=needs_spark)
        assert ours != sparks, f"the difference {difference!r} is no more: take it off the list"
        return sparks, ours

    def _both(self, scenario: Callable[[Source], T], *, needs_spark: bool) -> tuple[T, T]:
        in_spark = needs_spark or self._answers.mode is Mode.FRESH
        self._through_spark.log = self._log if in_spark else []
        ours = scenario(self._through_spark if in_spark else self._ours)
        sparks = self._answers.ask(("scenario", tuple(self._log)), lambda: scenario(self._sparks))
        if not in_spark and self._answers.mode is Mode.CHECK:
            through_spark = scenario(self._through_spark)
            if through_spark != ours:
                raise AssertionError(_difference(through_spark, ours))
        return sparks, ours

    def close(self) -> None:
        """Stop all queries."""
        for source in (self._ours, self._through_spark, self._sparks):
            source.close()


def _difference(sparks: object, ours: object) -> str:
    lines = difflib.unified_diff(
        _shown(sparks), _shown(ours), "Spark's source", "headwater", lineterm="", n=1
    )
    return "\n".join(["headwater's result is not that of Spark's source.", *lines])


def _shown(result: object) -> list[str]:
    return pformat(result, width=110, compact=True).splitlines()
