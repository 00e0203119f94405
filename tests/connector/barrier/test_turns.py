"""Turns of the lists of a slow REST API, with the real dataflow: what each gets, and how long epochs are."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from headwater.connector.barrier.coordinator import BarrierCoordinator
from headwater.connector.sources.http.options import configure_http
from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import Barrier
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from tests.readers.http.scripted import Answer, Scripted, scripted_server

PAGE_MS = 20
CHILDREN = 1_500


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted_server() as made:
        yield made


def feed(path: str) -> Answer:
    """A page of a list that never ends, after a while."""
    threading.Event().wait(PAGE_MS / 1000)
    name, _, number = path.partition("?page=")
    following = f"{name}?page={int(number or 0) + 1}"
    return 200, [], json.dumps({"items": [1], "next": following}).encode()


def many(path: str) -> Answer:
    """One list that names many others, which are a page each."""
    threading.Event().wait(PAGE_MS / 1000)
    children = [{"more": f"/child/{number}"} for number in range(CHILDREN)]
    return 200, [], json.dumps({"items": children if path == "/all" else [1]}).encode()


def epochs(interval_ms: int, count: int, tasks: int | None = 1, **options: str) -> Iterator[float]:
    """Read so many epochs, task after task; yield how long each took, in seconds.

    Args:
        interval_ms: after which a task ends its epoch.
        count: of epochs.
        tasks: of an epoch; None: as the options say.
        **options: of the source.
    """
    configured = configure_http({"stateLocation": "/unused", **options}, Boundedness.CONTINUOUS_UNBOUNDED)
    source = configured.source
    assert isinstance(source, BarrierSource)
    store = MemoryStateStore()
    settings = replace(
        configured.epochs,
        store=store,
        barrier=Barrier(duration_ms=interval_ms),
        parallelism=tasks or configured.epochs.parallelism,
    )
    coordinator = BarrierCoordinator(source, settings, Backoff(deadline_ms=1_000))
    start = coordinator.initial_offset()
    for _ in range(count):
        end = coordinator.plan_next(start, limited=True)
        began = time.monotonic()
        for task in coordinator.tasks(start, end):
            for _ in read_epoch(source, task, store, open_epoch_reader):
                pass
        yield time.monotonic() - began
        start = end
    coordinator.close()


@pytest.mark.parametrize("connections", ["1", "2"])
def test_lists_of_one_task_get_about_the_same(server: Scripted, connections: str) -> None:
    server.answer = feed
    urls = ", ".join(f"{server.origin}/{name}" for name in "abc")
    count = 9
    for _ in epochs(3 * PAGE_MS, count, url=urls, connections=connections):
        pass
    pages = Counter(path.partition("?")[0] for path, _ in server.asked)
    assert set(pages) == {"/a", "/b", "/c"}
    if connections == "1":
        assert max(pages.values()) - min(pages.values()) <= 2
    # How far one connection comes while another one waits is the machine's. But a list that was not asked in
    # one epoch comes first in the next.
    assert min(pages.values()) >= count // len(pages)


def test_lists_that_have_nothing_more_leave_the_rate_to_those_that_have(server: Scripted) -> None:
    server.answer = lambda path: feed(path) if path.startswith("/a") else (200, [], b'{"items": []}')
    urls = ", ".join(f"{server.origin}/{name}" for name in "abcdefgh")
    for _ in epochs(2_000, 1, tasks=None, url=urls, requestsPerSecond="10", parallelism="8"):
        pass
    # A machine that is busy asks less often than it may.
    assert sum(path.startswith("/a") for path, _ in server.asked) > 5, "an eighth of it are 3"


def test_an_epoch_with_many_lists_ends_when_its_time_is_over(server: Scripted) -> None:
    server.answer = many
    interval_ms = 5 * PAGE_MS
    each = epochs(interval_ms, 6, url=f"{server.origin}/all", childrenField="more")
    asked = [0, *(len(server.asked) for _ in each)]
    in_epoch = [after - before for before, after in pairwise(asked)]
    # Each request takes as long as it takes: so many fit into the time, and one may have begun within it.
    assert all(1 <= requests <= interval_ms // PAGE_MS + 1 for requests in in_epoch)
    read = [path for path, _ in server.asked if path != "/all"]
    assert len(read) == len(set(read))


@pytest.mark.long
@pytest.mark.parametrize("connections", ["1", "4"])
def test_epochs_with_many_lists_last_no_longer_than_twice_the_interval(
    server: Scripted, connections: str
) -> None:
    server.answer = many
    all_lists = f"{server.origin}/all"
    assert max(epochs(1_000, 5, url=all_lists, childrenField="more", connections=connections)) < 2


def test_a_server_that_asks_one_task_to_leave_it_alone_is_left_alone_by_the_others(server: Scripted) -> None:
    def limited(path: str) -> Answer:
        return (429, [("Retry-After", "60")], b"") if path == "/a" else feed(path)

    server.answer = limited
    asked = []
    urls = f"{server.origin}/a, {server.origin}/b"
    for _ in epochs(3 * PAGE_MS, 2, url=urls, tasks=2):
        asked.append([path for path, _ in server.asked])
        server.asked.clear()
    first, second = asked
    assert first.count("/a") == 1
    assert any(path.startswith("/b") for path in first)
    assert second == []
