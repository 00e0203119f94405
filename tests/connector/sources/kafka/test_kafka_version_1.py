"""A checkpoint whose offsets an earlier version wrote, without kept positions and losses, goes on.

``version_1/offsets.jsonl`` is the offset log that that version left of a query on the two topics below.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.connector.coordination.coordinator import SourceCoordinator
from headwater.connector.sources.kafka.configure import configure_kafka
from headwater.core.jsons import JsonObject
from headwater.core.source import Boundedness
from tests.enumerators.kafka.client.listeners import listening
from tests.scripted_kafka import ScriptedKafka

SAMPLE = Path(__file__).parent / "version_1" / "offsets.jsonl"


@pytest.fixture
def kafka() -> Iterator[ScriptedKafka]:
    with listening() as listen:
        cluster = ScriptedKafka(listen)
        cluster.topic("orders", 2, [3, 4, 2]).topic_id = uuid.UUID(int=0x11111111111141118111111111111111)
        cluster.topic("payments", 1, [5]).topic_id = uuid.UUID(int=0x22222222222242228222222222222222)
        yield cluster


def read(
    coordinator: SourceCoordinator[object], start: JsonObject, end: JsonObject
) -> dict[tuple[str, ...], tuple[int, int]]:
    tasks = coordinator.tasks(start, end)
    ranges: list[Any] = [piece for task in tasks for piece in task.ranges]  # type: ignore[attr-defined]
    return {piece.split.path: (piece.start, piece.stop) for piece in ranges}


def test_it_goes_on_where_it_stood_and_its_last_batch_is_read_again_as_it_was(kafka: ScriptedKafka) -> None:
    options = {"kafka.bootstrap.servers": str(kafka.bootstrap), "subscribepattern": ".*"}
    configured = configure_kafka(options, Boundedness.CONTINUOUS_UNBOUNDED)
    first, second = map(json.loads, SAMPLE.read_text().splitlines())
    with closing(configured.create_coordinator()) as coordinator:
        assert read(coordinator, coordinator.initial_offset(), first) == {
            ("orders", "0"): (0, 5),
            ("orders", "1"): (0, 5),
        }
        assert read(coordinator, first, second) == {
            ("orders", "0"): (5, 7),
            ("orders", "1"): (5, 7),
            ("payments", "0"): (0, 5),
        }
        third = coordinator.plan_next(second, limited=True)
        assert third["version"] == 2
        assert read(coordinator, second, third) == {("orders", "0"): (7, 9), ("orders", "1"): (7, 9)}
        assert coordinator.plan_next(third, limited=True) is third
