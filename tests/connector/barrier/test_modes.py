"""Driver, tasks and the real dataflow together, without Spark.

Epoch after epoch over a REST API, in each barrier mode, left early and read twice.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from examples.http_server import Api, serving
from headwater.connector.barrier.coordinator import BarrierCoordinator
from headwater.connector.sources.http.configure import configure_http
from headwater.connector.sources.http.source import HttpSource
from headwater.core.epoch import AlignmentMode, Barrier
from headwater.core.errors import OptionError
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.manifests import decode_manifest
from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.task import EpochTask

MOST_EPOCHS = 200


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api(0, items=600, page=10)
    serving(made)
    yield made
    made.shutdown()
    made.server_close()


def read(source: HttpSource, task: EpochTask, store: MemoryStateStore, most: int | None = None) -> list[Any]:
    """Return the items of a task; leave it after about so many."""
    rows = read_epoch(source, task, store, open_epoch_reader)
    found: list[Any] = []
    for batch in rows:
        found += batch.column("item").to_pylist()
        if most is not None and len(found) >= most:
            rows.close()
            break
    return found


@pytest.mark.parametrize("mode", AlignmentMode)
def test_every_item_comes_once_however_epochs_are_cut_left_and_read_again(
    api: Api, mode: AlignmentMode, rng: random.Random
) -> None:
    options = {"url": api.url, "childrenField": "comments", "connections": "2", "stateLocation": "/unused"}
    configured = configure_http(options, Boundedness.CONTINUOUS_UNBOUNDED)
    assert isinstance(configured.source, HttpSource)
    store, log, items, in_flight = MemoryStateStore(), [], [], 0
    epochs = replace(configured.epochs, store=store, barrier=Barrier(rows=25), mode=mode, parallelism=2)
    coordinator = BarrierCoordinator(configured.source, epochs, Backoff(deadline_ms=1_000))
    start = coordinator.initial_offset()
    coordinator.prepare_for_available_now()
    for _ in range(MOST_EPOCHS):
        end = coordinator.plan_next(start, limited=True)
        if end == start:
            break
        log.append(end)
        for task in coordinator.tasks(start, end):
            first = read(configured.source, task, store, rng.choice([None, None, 5]))
            again = read(configured.source, task, store)
            assert sorted(first) == sorted(again)
            items += first
        in_flight += sum(
            _in_flight(configured.source, store, name)
            for name in store._objects
            if name.endswith(".manifest")
        )
        start = end
    coordinator.close()
    assert len(items) == len(set(items))
    assert sorted(json.loads(item)["id"] for item in items if "id" in json.loads(item)) == list(range(600))
    assert len(items) == 600 + 6 * 3
    assert (in_flight > 0) == (mode is AlignmentMode.UNALIGNED)


def _in_flight(source: Any, store: MemoryStateStore, name: str) -> int:
    state = decode_manifest(store._objects[name], source, name).state
    return len(state.in_flight) if state else 0


def test_a_mode_that_is_gone_is_refused_with_what_takes_its_place() -> None:
    options = {"url": "http://localhost/a", "stateLocation": "/unused", "barrierMode": "at-least-once"}
    with pytest.raises(OptionError, match=r"at-least-once is gone.*aligned, which takes its place"):
        configure_http(options, Boundedness.CONTINUOUS_UNBOUNDED)
