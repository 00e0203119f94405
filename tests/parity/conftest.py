"""Each scenario on both sources, compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from local_kafka import LocalKafka
from tests.parity.parity import Parity


@pytest.fixture
def parity(spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path) -> Iterator[Parity]:
    comparing = Parity(spark, kafka, topic, tmp_path)
    yield comparing
    comparing.close()
