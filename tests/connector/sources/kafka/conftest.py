"""What tests of the Kafka source share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local_kafka import LocalKafka
from tests.connector.sources.kafka.kafka_queries import Query


@pytest.fixture
def query(kafka: LocalKafka) -> Iterator[Callable[..., Query]]:
    """Start queries of this broker, which end with the test."""
    queries: list[Query] = []

    def make(**options: Any) -> Query:
        queries.append(Query(kafka.bootstrap_servers, fetchOffset_retryIntervalMs="10", **options))
        return queries[-1]

    yield make
    for each in queries:
        each.close()
