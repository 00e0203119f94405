"""Two live drivers on one state location, and clocks that are an hour off."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import cast

import pytest

from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.task_slot import decode_manifest, encode_manifest
from tests.connector.barrier.epoch_queries import POLL_MS, WALL_MS, Query
from tests.epoch_doubles import Logs

HOUR_MS = 3_600_000


def test_a_driver_that_was_given_up_and_goes_on_takes_nothing_from_the_one_in_its_place(
    rng: random.Random,
) -> None:
    """Both hold the same log when they part. Each sees every row once, whoever does what when."""
    outside = Logs({"a": 40, "b": 23})
    first = Query(outside)
    first.batch()
    second = Query(outside, first.store)
    second.log = list(first.log)
    second.rows = list(first.rows)
    live = [first, second]
    while live:
        query = rng.choice(live)
        if query.batch() is None:
            live.remove(query)
    assert sorted(first.rows) == sorted(second.rows) == outside.everything()


def test_of_two_drivers_that_run_the_same_epoch_both_see_the_same_rows() -> None:
    outside = Logs({"a": 9})
    first = Query(outside)
    first.plan()
    second = Query(outside, first.store)
    second.log = list(first.log)
    [one] = [first.read(task) for task in first.tasks()]
    outside.lengths["a"] = 30
    [other] = [second.read(task) for task in second.tasks()]
    assert one == other


@pytest.mark.parametrize("off_ms", [-HOUR_MS, HOUR_MS])
def test_a_delay_is_never_longer_than_the_source_said_though_an_executors_clock_is_an_hour_off(
    off_ms: int,
) -> None:
    """Of an executor whose clock is behind, the delay may seem to be over: then the outside says it again."""
    delay_ms = 5 * POLL_MS
    query = Query(Logs({"a": 2}, not_before_ms={"a": delay_ms}))
    query.batch()
    _written_at(query.store, query, WALL_MS + off_ms)
    query.batch()
    is_read = any(["a"] in paths for paths in _places(query))
    assert is_read == (off_ms < 0)
    query.clock.advance(delay_ms)
    query.outside.lengths["a"] = 4
    query.outside.not_before_ms.clear()
    query.drain()
    assert sorted(query.rows) == query.outside.everything()


def _places(query: Query) -> list[list[list[str]]]:
    return cast("list[list[list[str]]]", query.log[-1]["places"])


def _written_at(store: MemoryStateStore, query: Query, at_ms: int) -> None:
    """Let every manifest say that it was written at another time."""
    for name, data in list(store._objects.items()):
        if name.endswith(".manifest"):
            manifest = decode_manifest(data, query.source, name)
            metrics = {**manifest.metrics, "written_ms": at_ms}
            store._objects[name] = encode_manifest(replace(manifest, metrics=metrics), query.source)
