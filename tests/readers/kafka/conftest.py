"""Readers of scripted brokers: a module says which, by a fixture ``kafka``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headwater.readers.kafka import leaders
from tests.enumerators.kafka.client.listeners import Listen, listening
from tests.enumerators.kafka.client.pools import empty
from tests.readers.kafka.split_reading import Task
from tests.scripted_kafka import ScriptedKafka


@pytest.fixture
def listen() -> Iterator[Listen]:
    with listening() as start:
        yield start


@pytest.fixture
def task(kafka: ScriptedKafka, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Task]]:
    monkeypatch.setattr(leaders, "_clusters", {})  # a port that the system gives out again is another cluster
    made: list[Task] = []

    def make(**options: Any) -> Task:
        made.append(Task(kafka, **options))
        return made[-1]

    yield make
    for each in made:
        each.reader.close()
        empty(each.pool)
