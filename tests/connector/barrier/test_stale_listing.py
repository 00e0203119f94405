"""A store whose listings are ten seconds old: nothing is lost, and nothing deleted early."""

from __future__ import annotations

from bisect import bisect_right

from headwater.core.clock import Clock
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.state_parts import SPLITS_FOLDER
from tests.connector.barrier.epoch_queries import Query
from tests.epoch_doubles import Logs

STALE_MS = 10_000


class StaleStore(MemoryStateStore):
    """Objects are there at once; names come into listings, and leave them, ten seconds later.

    Args:
        clock: time.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._times: list[int] = []
        self._listed: list[tuple[str, ...]] = []

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        try:
            return super().put_if_absent(name, data, durable=durable)
        finally:
            self._note()

    def delete_folder(self, folder: str) -> None:
        super().delete_folder(folder)
        self._note()

    def delete(self, name: str) -> None:
        super().delete(name)
        self._note()

    def list(self, folder: str) -> list[str]:
        at = bisect_right(self._times, self._clock.monotonic_ms() - STALE_MS)
        names = self._listed[at - 1] if at else ()
        below = [name.removeprefix(f"{folder}/") for name in names if name.startswith(f"{folder}/")]
        return sorted({name.partition("/")[0] for name in below})

    def _note(self) -> None:
        self._times.append(self._clock.monotonic_ms())
        self._listed.append(tuple(self._objects))


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
