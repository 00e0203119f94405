"""Of all attempts at a task one reads; the others wait, follow, or take over from the dead."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headwater.core.clock import ManualClock
from headwater.core.epoch import EpochState, SplitProgress
from headwater.core.errors import FencedError
from headwater.core.jsons import dumps
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.claims import (
    BEAT_MS,
    STALE_MS,
    Claim,
    ClaimProtocol,
    ClaimWatch,
    is_dead,
    this_process,
)
from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.task_slot import Manifest, TaskSlot, encode_manifest
from tests.doubles import NumberSplit
from tests.pages import Library, PageSource, pages, start_of
from tests.readings import epoch_task


@pytest.fixture
def slot() -> TaskSlot:
    return TaskSlot(MemoryStateStore(), "q/epoch-1-x", 0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def claimed(acquired: Claim | bytes | None) -> Claim:
    assert isinstance(acquired, Claim)
    return acquired


def test_the_first_attempt_gets_the_claim_and_the_second_waits(slot: TaskSlot, clock: ManualClock) -> None:
    assert claimed(ClaimProtocol(slot, clock).try_acquire()).number == 1
    assert ClaimProtocol(slot, clock).try_acquire() is None


def test_an_attempt_that_finds_a_manifest_follows_it(slot: TaskSlot, clock: ManualClock) -> None:
    first = ClaimProtocol(slot, clock)
    second = ClaimProtocol(slot, clock)
    claimed(first.try_acquire())
    assert second.try_acquire() is None
    slot.publish(b"manifest")
    assert second.try_acquire() == b"manifest"


def test_a_claim_that_beats_is_never_taken_over(slot: TaskSlot, clock: ManualClock) -> None:
    claim = claimed(ClaimProtocol(slot, clock).try_acquire())
    other = ClaimProtocol(slot, clock)
    for _ in range(20):
        claim.beat()
        assert other.try_acquire() is None
        clock.advance(BEAT_MS)
    claim.check()


def test_a_silent_claim_is_taken_over_and_the_old_attempt_is_fenced(
    slot: TaskSlot, clock: ManualClock
) -> None:
    old = claimed(ClaimProtocol(slot, clock).try_acquire())
    other = ClaimProtocol(slot, clock)
    assert other.try_acquire() is None
    clock.advance(STALE_MS - 1)
    assert other.try_acquire() is None
    clock.advance(1)
    assert claimed(other.try_acquire()).number == 2
    old.check()
    old.beat()
    with pytest.raises(FencedError, match="taken over task 0"):
        old.check()


def test_an_attempt_that_gave_up_is_taken_over_at_once(slot: TaskSlot, clock: ManualClock) -> None:
    claimed(ClaimProtocol(slot, clock).try_acquire()).end("SourceError: no")
    assert claimed(ClaimProtocol(slot, clock).try_acquire()).number == 2
    assert slot.over(1) == b"SourceError: no"


def test_an_attempt_whose_process_is_dead_is_taken_over_at_once(slot: TaskSlot, clock: ManualClock) -> None:
    program = (
        "from headwater.readers.runtime.epoch.claims import this_process;"
        "from headwater.core.jsons import dumps; print(dumps(this_process()))"
    )
    gone = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    ).stdout.strip()
    slot.put_claim(1, b'{"attempt":"a","process":%s}' % gone.encode())
    assert claimed(ClaimProtocol(slot, clock).try_acquire()).number == 2


def test_an_attempt_on_another_host_is_waited_for(slot: TaskSlot, clock: ManualClock) -> None:
    elsewhere = {**this_process(), "host": "elsewhere", "pid": 1}
    assert not is_dead(elsewhere)
    slot.put_claim(1, dumps({"attempt": "a", "process": elsewhere}).encode())
    watch = ClaimWatch(slot, clock)
    assert watch.at_work()
    clock.advance(STALE_MS)
    assert not watch.at_work()


def test_a_claim_cut_short_by_a_loss_of_power_is_taken_over(slot: TaskSlot, clock: ManualClock) -> None:
    slot.put_claim(1, b'{"attem')
    assert claimed(ClaimProtocol(slot, clock).try_acquire()).number == 2


def test_of_two_that_claim_between_each_others_look_and_put_one_gets_the_claim(clock: ManualClock) -> None:
    class Overtaken(MemoryStateStore):
        def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
            super().put_if_absent(name, b'{"attempt":"other"}', durable=durable)
            return super().put_if_absent(name, data, durable=durable)

    assert ClaimProtocol(TaskSlot(Overtaken(), "q/epoch-1-x", 0), clock).try_acquire() is None


def test_an_attempt_that_publishes_other_positions_than_the_first_is_fenced(clock: ManualClock) -> None:
    store = MemoryStateStore()
    source = PageSource(Library({"a": pages(3)}))
    task = epoch_task([start_of("a")])
    late = read_epoch(source, task, store, open_epoch_reader, clock)
    next(late)
    first = EpochState((SplitProgress(NumberSplit("a"), 1),))
    TaskSlot(store, task.folder, 0).publish(encode_manifest(Manifest(first), source))
    with pytest.raises(FencedError, match=r"published task 0 of .* first, with other positions"):
        list(late)


def test_of_two_that_take_over_at_once_one_gets_the_claim(slot: TaskSlot, clock: ManualClock) -> None:
    claimed(ClaimProtocol(slot, clock).try_acquire())
    protocols = [ClaimProtocol(slot, clock) for _ in range(5)]
    assert [protocol.try_acquire() for protocol in protocols] == [None] * 5
    clock.advance(STALE_MS)
    assert sum(isinstance(protocol.try_acquire(), Claim) for protocol in protocols) == 1
