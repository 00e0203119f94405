"""What the tests of exactly-once share: a pipeline per test, and a broker that may be killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_kafka import LocalKafka
from tests.exactly_once.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def pipeline(spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path) -> Callable[..., Pipeline]:
    """Make the test's pipeline: from its topic, from the earliest record on, unless it says otherwise."""

    def make(**options: Any) -> Pipeline:
        return Pipeline(
            spark,
            kafka.bootstrap_servers,
            tmp_path,
            {"subscribe": topic, "startingOffsets": "earliest", **options},
        )

    return make


@pytest.fixture(scope="module")
def fragile_kafka() -> Iterator[LocalKafka]:
    """A broker for tests that pause, stop or kill it."""
    with LocalKafka() as running:
        yield running
