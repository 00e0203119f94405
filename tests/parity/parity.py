"""Runs a scenario on both sources and compares what they gave, exactly."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from pprint import pformat
from typing import Any, TypeVar

import pytest
from pyspark.sql import SparkSession

from local_kafka import LocalKafka
from tests.parity.differences import DIFFERENCES
from tests.parity.sources import Source

__all__ = ["Parity", "mostly_long"]

T = TypeVar("T")


def mostly_long(cases: Iterable[Any], *quick: Any) -> list[Any]:
    """Return the cases for ``parametrize``; all but the quick ones run with ``--long`` only."""
    return [case if case in quick else pytest.param(case, marks=pytest.mark.long) for case in cases]


class Parity:
    """A scenario is a function of a `Source`; what it returns is compared.

    It makes topics, reads and runs queries through the source that it is given, so that it runs twice on
    topics of the same content.
    """

    def __init__(self, spark: SparkSession, kafka: LocalKafka, topic: str, folder: Path) -> None:
        self.kafka = kafka
        self._sources = [
            Source(name, spark, kafka, f"{topic}.{name}.", folder) for name in ("kafka", "headwater")
        ]

    def same(self, scenario: Callable[[Source], T]) -> T:
        """Return what both gave, which must be the same."""
        ours, sparks = (scenario(source) for source in reversed(self._sources))
        if ours != sparks:
            raise AssertionError(_difference(sparks, ours))
        return ours

    def differs(self, difference: str, scenario: Callable[[Source], T]) -> tuple[T, T]:
        """Return what Spark's source gave and what ours gave, where `DIFFERENCES` says that they differ."""
        assert difference in DIFFERENCES
        ours, sparks = (scenario(source) for source in reversed(self._sources))
        assert ours != sparks, f"the difference {difference!r} is no more: take it off the list"
        return sparks, ours

    def close(self) -> None:
        """Stop all queries."""
        for source in self._sources:
            source.close()


def _difference(sparks: object, ours: object) -> str:
    lines = difflib.unified_diff(
        _shown(sparks), _shown(ours), "Spark's source", "headwater", lineterm="", n=1
    )
    return "\n".join(["headwater's result is not that of Spark's source.", *lines])


def _shown(result: object) -> list[str]:
    return pformat(result, width=110, compact=True).splitlines()
