"""Driver, tasks and the real dataflow together, without Spark.

Epoch after epoch over a REST API, in each barrier mode, left early and read twice.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from examples.http_server import Api, serving
from headwater.connector.barrier.coordinator import BarrierCoordinator
from headwater.connector.sources.http.options import configure_http
from headwater.connector.sources.http.source import HttpSource
from headwater.core.epoch import AlignmentMode, Barrier
from headwater.core.errors import OptionError
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.task import EpochTask
from headwater.readers.runtime.epoch.task_slot import decode_manifest
from tests.readers.http.scripted import Answer, scripted_server

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
            if task.number and rng.random() < 0.3:
                continue  # it was not run: a LIMIT was reached in another task
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


@pytest.mark.parametrize("paging", ["page", "offset"])
@pytest.mark.parametrize("mode", AlignmentMode)
def test_counted_lists_and_those_that_they_name_come_once_though_each_epoch_ends_after_a_turn(
    paging: str, mode: AlignmentMode, rng: random.Random
) -> None:
    def answer(path: str) -> Answer:
        if rng.random() < 0.1:
            return rng.choice([(500, [], b""), (429, [("Retry-After", "0")], b"")])
        parts = urlsplit(path)
        raw = dict(parse_qsl(parts.query)).get(paging)
        first = 2 * (int(raw or 1) - 1) if paging == "page" else int(raw or 0)
        # The lists that are named have 0, 2, 4 or 6 items.
        length = 12 if parts.path == "/all" else int(parts.path.removeprefix("/")) % 4 * 2
        found = [
            {"of": parts.path, "id": number, "more": f"/{number}" if parts.path == "/all" else None}
            for number in range(first, min(first + 2, length))
        ]
        return 200, [], json.dumps({"items": found}).encode()

    store, items = MemoryStateStore(), []
    with scripted_server() as server:
        server.answer = answer
        options = {"url": f"{server.origin}/all", "childrenField": "more", "paging": paging}
        configured = configure_http({**options, "stateLocation": "/unused"}, Boundedness.CONTINUOUS_UNBOUNDED)
        source = configured.source
        assert isinstance(source, HttpSource)
        barrier = Barrier(duration_ms=1)
        epochs = replace(configured.epochs, store=store, barrier=barrier, mode=mode, parallelism=2)
        coordinator = BarrierCoordinator(source, epochs, Backoff(deadline_ms=10_000))
        coordinator.prepare_for_available_now()
        start = coordinator.initial_offset()
        for _ in range(MOST_EPOCHS):
            end = coordinator.plan_next(start, limited=True)
            if end == start:
                break
            for task in coordinator.tasks(start, end):
                first, again = read(source, task, store), read(source, task, store)
                assert sorted(first) == sorted(again)
                items += first
            start = end
        coordinator.close()
    assert len(items) == len(set(items)) == 12 + 3 * (2 + 4 + 6)


def _in_flight(source: Any, store: MemoryStateStore, name: str) -> int:
    state = decode_manifest(store._objects[name], source, name).state
    return len(state.in_flight) if state else 0


def test_a_mode_that_is_gone_is_refused_with_what_takes_its_place() -> None:
    options = {"url": "http://localhost/a", "stateLocation": "/unused", "barrierMode": "at-least-once"}
    with pytest.raises(OptionError, match=r"at-least-once is gone.*aligned, which takes its place"):
        configure_http(options, Boundedness.CONTINUOUS_UNBOUNDED)
