"""Many splits that were found: offsets stay small, the driver reads none of them, and each is read once."""

from __future__ import annotations

import json
import time
import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from headwater.connector.barrier.coordinator import BarrierCoordinator
from headwater.connector.sources.http.options import configure_http
from headwater.core.epoch import EpochState, FoundSplit, InFlight, SplitProgress, SplitStatus
from headwater.core.errors import StateLocationError
from headwater.core.jsons import JsonObject, dumps
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.state_store import MemoryStateStore
from headwater.enumerators.http.split import HttpSplit, PagePosition
from headwater.readers.runtime.epoch.state_parts import SplitSegments, StateParts, WaitingQueue
from headwater.readers.runtime.epoch.task import EpochTask
from headwater.readers.runtime.epoch.task_slot import Manifest, TaskSlot, decode_manifest, encode_manifest
from tests.connector.barrier.epoch_queries import OPEN, Query
from tests.epoch_doubles import Logs

URL = "https://api.example/v1/orders"
FOUND = 100_000
MOST_OFFSET_BYTES = 64 << 10
MOST_PLAN_S = 0.3


def child(number: int) -> FoundSplit:
    split = HttpSplit(URL).child(f"{URL}/{number:08d}/lines?expand=all", number // 100, number % 100)
    assert split is not None
    return FoundSplit(split, PagePosition.first_of(split).to_json())


class Crawl:
    """A query over a list whose items name lists; what tasks do is told by the test."""

    def __init__(self) -> None:
        options = {"url": URL, "childrenField": "lines", "stateLocation": "/unused"}
        configured = configure_http(options, Boundedness.CONTINUOUS_UNBOUNDED)
        self.source: Any = configured.source
        self.store = MemoryStateStore()
        epochs = replace(configured.epochs, store=self.store, parallelism=2)
        self.coordinator = BarrierCoordinator(self.source, epochs, Backoff(deadline_ms=1_000))
        OPEN.append(self.coordinator)
        self.start = self.coordinator.initial_offset()
        self.end = self.start

    def plan(self) -> JsonObject:
        self.start = self.end
        self.end = self.coordinator.plan_next(json.loads(dumps(self.start)), limited=True)
        return self.end

    def tasks(self) -> list[EpochTask]:
        return list(self.coordinator.tasks(self.start, self.end))

    def publish(self, task: EpochTask, state: EpochState) -> None:
        named = StateParts(self.source, task.folder, task.number).put_aside(state, self.store)
        TaskSlot(self.store, task.folder, task.number).publish(encode_manifest(Manifest(named), self.source))

    def queue(self, task: EpochTask) -> WaitingQueue:
        return WaitingQueue(task.waiting, SplitSegments(self.source, task.query, self.store).read)

    def find(self, splits: int) -> None:
        """Run an epoch that reads the list and finds so many splits."""
        self.plan()
        [task] = self.tasks()
        root = task.ranges[0].split
        progress = SplitProgress(root, PagePosition.first_of(HttpSplit(URL)).to_json(), SplitStatus.FINISHED)
        self.publish(task, EpochState((progress,), tuple(child(number) for number in range(splits))))


def test_an_offset_stays_small_and_is_planned_at_once_however_many_splits_were_found() -> None:
    crawl = Crawl()
    crawl.find(FOUND)
    tracemalloc.start()
    began = time.process_time()
    crawl.plan()
    took_s = time.process_time() - began
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(dumps(crawl.end)) < MOST_OFFSET_BYTES
    assert took_s < MOST_PLAN_S
    # Of the splits themselves, compressed in their segments, nothing comes to the driver.
    assert peak_bytes < 1 << 20
    assert sum(len(piece) for task in crawl.tasks() for piece in task.waiting) == FOUND


def test_an_offset_stays_small_from_epoch_to_epoch_and_each_split_is_taken_once() -> None:
    crawl = Crawl()
    crawl.find(3_000)
    seen: list[str] = []
    for epoch in range(40):
        end = crawl.plan()
        assert len(dumps(end)) < MOST_OFFSET_BYTES
        for task in crawl.tasks():
            queue = crawl.queue(task)
            taken = queue.take(10 + task.number)
            seen += [found.split.path[1] for found in taken]
            # As many are begun and not finished as are ready in an epoch, and as many are found as taken.
            progress = [SplitProgress(piece.split, piece.start) for piece in task.ranges][-5:]
            done = [SplitProgress(piece.split, piece.start, SplitStatus.FINISHED) for piece in task.ranges][
                :-5
            ]
            begun = [SplitProgress(found.split, found.start) for found in taken[:2]]
            new = tuple(child(10_000 + 100 * epoch + 10 * task.number + at) for at in range(3))
            state = EpochState((*progress, *done, *begun), new, taken=queue.taken)
            crawl.publish(task, state)
    assert len(seen) == len(set(seen)) == 40 * 21


def test_small_pieces_are_merged_and_each_of_their_splits_stays_once() -> None:
    crawl = Crawl()
    crawl.find(50)
    found = set(range(50))
    for epoch in range(100):
        crawl.plan()
        for task in crawl.tasks():
            new = [1_000 * (epoch + 1) + 10 * task.number + at for at in range(3)]
            crawl.publish(task, EpochState(found=tuple(map(child, new))))
            found.update(new)
    crawl.plan()
    assert sum(len(task.waiting) for task in crawl.tasks()) < 100
    waiting = [split for task in crawl.tasks() for split in crawl.queue(task).take(10_000)]
    assert sorted(split.split.path for split in waiting) == sorted(child(at).split.path for at in found)


def test_the_driver_names_rows_in_flight_and_found_splits_and_reads_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = Crawl()
    crawl.plan()
    [task] = crawl.tasks()
    [root] = task.ranges
    held = InFlight(root.split.path, root.start, b"rows of the epoch")
    crawl.publish(task, EpochState((SplitProgress(root.split, root.start),), (child(1),), (held,)))
    read: list[str] = []
    get = crawl.store.get

    def counted(name: str) -> Any:
        read.append(name)
        return get(name)

    monkeypatch.setattr(crawl.store, "get", counted)
    crawl.plan()
    assert sum(name.endswith(".manifest") for name in read) == 1
    assert [name for name in read if ".rows-" in name or "/found/" in name] == []
    # A task of the next epoch finds the rows.
    [slot] = [slot for task in crawl.tasks() for slot in task.restored]
    manifest = TaskSlot(crawl.store, *slot).manifest()
    assert manifest is not None
    state = decode_manifest(manifest, crawl.source, "here").state
    assert state is not None
    assert StateParts(crawl.source, *slot).rows(state, crawl.store) == (held,)
    # So does one of the epoch after it, where no task of that one was run.
    crawl.plan()
    assert [later for task in crawl.tasks() for later in task.restored] == [slot]


def test_a_segment_that_is_gone_is_an_error_that_says_what_to_restore() -> None:
    crawl = Crawl()
    crawl.find(3)
    crawl.plan()
    crawl.store.delete_folder(f"{crawl.end['query']}/found")
    with pytest.raises(StateLocationError, match=r"is gone, and with it .* restore stateLocation"):
        crawl.queue(crawl.tasks()[0]).take(1)


def test_a_segment_that_was_changed_is_an_error() -> None:
    crawl = Crawl()
    crawl.find(3)
    crawl.plan()
    name = next(name for name in crawl.store._objects if "/found/" in name)
    crawl.store._objects[name] = crawl.store._objects[name][:-1]
    with pytest.raises(StateLocationError, match="is cut short or was changed"):
        crawl.queue(crawl.tasks()[0]).take(1)


def test_an_offset_and_manifests_of_the_earlier_version_go_on() -> None:
    """Version 1 named every found split in the offset; a query that was stopped with it reads each once."""
    query = Query(Logs({"a": 12}))
    query.batch()
    query.batch()
    logged: dict[str, Any] = query.log[-1]
    # As version 1 wrote it: what waits now was live then.
    waiting = [
        found
        for task in query.tasks()
        for found in WaitingQueue(
            task.waiting, SplitSegments(query.source, task.query, query.store).read
        ).take(99)
    ]
    assert waiting
    paths = [found.split.path for found in waiting]
    starts = {**logged["starts"], **{path[0]: 0 for path in paths}}
    places = [[*logged["places"][0], *map(list, paths)], *logged["places"][1:]]
    earlier = {name: part for name, part in logged.items() if name != "waiting"}
    query.log[-1] = {**earlier, "version": 1, "starts": starts, "places": places}
    for name in [name for name in query.store._objects if str(logged["nonce"]) in name]:
        if "opened" not in name:
            del query.store._objects[name]
    query.rows = query.rows[:4]
    query.restart()
    query.rows += [row for task in query.tasks() for row in query.read(task)]
    query.drain()
    assert sorted(query.rows) == query.outside.everything()
