from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_kinesis import LocalKinesis
from local_nats import LocalNats
from local_rabbitmq import LocalRabbitMq
from local_redis import LocalRedis


@pytest.fixture(scope="session")
def kinesis() -> Iterator[LocalKinesis]:
    with LocalKinesis() as running:
        yield running


@pytest.fixture(scope="session")
def nats() -> Iterator[LocalNats]:
    with LocalNats() as running:
        yield running


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[LocalRabbitMq]:
    with LocalRabbitMq() as running:
        yield running


@pytest.fixture(scope="session")
def redis() -> Iterator[LocalRedis]:
    with LocalRedis() as running:
        yield running
