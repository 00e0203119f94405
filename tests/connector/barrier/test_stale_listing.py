"""A store whose listings are ten seconds old: nothing is lost, and nothing deleted early."""

from __future__ import annotations

from headwater.readers.runtime.epoch.state_parts import SPLITS_FOLDER
from tests.connector.barrier.epoch_queries import Query
from tests.epoch_doubles import Logs
from tests.stale_store import STALE_MS, StaleStore


def test_every_row_comes_once_and_old_epochs_go_a_little_later() -> None:
    query = Query(Logs({"a": 40, "b": 15}), retained_epochs=1)
    query.store = StaleStore(query.clock)
    query.restart()
    query.coordinator.prepare_for_available_now()
    most = 0
    for step in range(200):
        # Each epoch takes half a second; after each third one there is a new driver.
        query.clock.advance(500)
        if step % 3 == 2:
            query.restart()
            query.coordinator.prepare_for_available_now()
        if query.batch() is None:
            break
        folder = str(query.log[0]["query"])
        there = {name.split("/")[1] for name in query.store._objects if name.startswith(folder)}
        most = max(most, len([name for name in there if name.startswith("epoch-")]))
        segments = {piece.segment for task in query.tasks() for piece in task.waiting}
        # What the epoch names is there, whatever listings show.
        assert all(f"{folder}/{SPLITS_FOLDER}/{name}" in query.store._objects for name in segments)
    assert sorted(query.rows) == query.outside.everything()
    # Those of ten seconds, and the ones that are kept anyway.
    assert most <= STALE_MS // 500 + 5
