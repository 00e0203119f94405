"""Of all attempts that come to a place, one reads; the others wait, follow, or take over from the dead."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import FencedError
from headwater.core.jsons import dumps
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.claims import BEAT_MS, STALE_MS, Claim, ClaimWatch, Entrance
from headwater.readers.runtime.epoch.places import Place
from headwater.readers.runtime.epoch.process_identity import is_dead, this_process


@pytest.fixture
def place() -> Place:
    return Place(MemoryStateStore(), "q/epoch-1-x", 0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def claimed(entered: Claim | bytes | None) -> Claim:
    assert isinstance(entered, Claim)
    return entered


def test_the_first_attempt_gets_the_claim_and_the_second_waits(place: Place, clock: ManualClock) -> None:
    assert claimed(Entrance(place, clock).step()).number == 1
    assert Entrance(place, clock).step() is None


def test_whoever_finds_a_manifest_follows_it(place: Place, clock: ManualClock) -> None:
    first, second = Entrance(place, clock), Entrance(place, clock)
    claimed(first.step())
    assert second.step() is None
    place.publish(b"manifest")
    assert second.step() == b"manifest"


def test_a_claim_that_beats_is_never_taken_over(place: Place, clock: ManualClock) -> None:
    claim, other = claimed(Entrance(place, clock).step()), Entrance(place, clock)
    for _ in range(20):
        claim.beat()
        assert other.step() is None
        clock.advance(BEAT_MS)
    claim.check()


def test_a_silent_claim_is_taken_over_and_the_old_attempt_is_fenced(place: Place, clock: ManualClock) -> None:
    old, other = claimed(Entrance(place, clock).step()), Entrance(place, clock)
    assert other.step() is None
    clock.advance(STALE_MS - 1)
    assert other.step() is None
    clock.advance(1)
    assert claimed(other.step()).number == 2
    old.check()
    old.beat()
    with pytest.raises(FencedError, match="taken over place 0"):
        old.check()


def test_an_attempt_that_gave_up_is_taken_over_at_once(place: Place, clock: ManualClock) -> None:
    claimed(Entrance(place, clock).step()).end("SourceError: no")
    assert claimed(Entrance(place, clock).step()).number == 2
    assert place.over(1) == b"SourceError: no"


def test_an_attempt_whose_process_is_dead_is_taken_over_at_once(place: Place, clock: ManualClock) -> None:
    program = "from headwater.readers.runtime.epoch.process_identity import this_process; from headwater.core.jsons import dumps; print(dumps(this_process()))"
    gone = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    ).stdout.strip()
    place.put_claim(1, b'{"attempt":"a","process":%s}' % gone.encode())
    assert claimed(Entrance(place, clock).step()).number == 2


def test_an_attempt_on_another_host_is_waited_for(place: Place, clock: ManualClock) -> None:
    elsewhere = {**this_process(), "host": "elsewhere", "pid": 1}
    assert not is_dead(elsewhere)
    place.put_claim(1, dumps({"attempt": "a", "process": elsewhere}).encode())
    watch = ClaimWatch(place, clock)
    assert watch.at_work()
    clock.advance(STALE_MS)
    assert not watch.at_work()


def test_a_claim_cut_short_by_a_loss_of_power_is_taken_over(place: Place, clock: ManualClock) -> None:
    place.put_claim(1, b'{"attem')
    assert claimed(Entrance(place, clock).step()).number == 2


def test_of_two_that_take_over_at_once_one_gets_the_claim(place: Place, clock: ManualClock) -> None:
    claimed(Entrance(place, clock).step())
    entrances = [Entrance(place, clock) for _ in range(5)]
    assert [entrance.step() for entrance in entrances] == [None] * 5
    clock.advance(STALE_MS)
    assert sum(isinstance(entrance.step(), Claim) for entrance in entrances) == 1


def test_who_takes_over_from_the_dead_follows_its_early_snapshot(place: Place, clock: ManualClock) -> None:
    claimed(Entrance(place, clock).step()).end("killed")
    place.put_snapshot(b"snapshot")
    assert Entrance(place, clock).step() == b"snapshot"
    assert place.manifest() == b"snapshot"
