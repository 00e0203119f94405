from __future__ import annotations

from collections.abc import Iterator

import pytest

import newer_rabbitmq
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


@pytest.fixture
def rabbitmq(request: pytest.FixtureRequest) -> LocalRabbitMq:
    """A broker: ``older``, if a test does not say ``newer``."""
    broker: LocalRabbitMq = request.getfixturevalue(f"{getattr(request, 'param', 'older')}_rabbit")
    return broker


@pytest.fixture(scope="session")
def older_rabbit() -> Iterator[LocalRabbitMq]:
    """A broker that does not tell where streams end."""
    with LocalRabbitMq() as running:
        yield running


@pytest.fixture(scope="session")
def newer_rabbit() -> Iterator[LocalRabbitMq]:
    """A broker that does."""
    if newer_rabbitmq.programs() is None:
        pytest.skip("scripts/newer_rabbitmq.py could not fetch a newer RabbitMQ")
    with LocalRabbitMq(is_newer=True) as running:
        yield running


@pytest.fixture(scope="session")
def redis() -> Iterator[LocalRedis]:
    with LocalRedis() as running:
        yield running
