"""Claims: of all attempts at one task of an epoch, one decides the content of the epoch.

There are several attempts when Spark retries or speculates, and when a query scans the source twice. A claim
says which process its attempt runs in, so that others on its host can tell at once whether it still lives.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
from pathlib import Path
from typing import Final

from headwater.core.clock import Clock
from headwater.core.errors import FencedError, StateLocationError
from headwater.core.jsons import JsonObject, dumps
from headwater.core.redaction import logger_of
from headwater.readers.runtime.epoch.task_slot import SEALED, TaskSlot

BEAT_MS: Final = 2_000
"""How often an attempt gives a sign of life."""

STALE_MS: Final = 15_000
"""An attempt without a sign of life for this time counts as dead.

The time is measured on the watcher's own clock. Clocks of two hosts are never compared.
"""

_FIRST_POLL_MS: Final = 5
_MOST_POLL_MS: Final = 250
_PROC: Final = Path("/proc")
_SEAL: Final = b"sealed"
"""The first claim of a slot that nobody had claimed when the driver sealed it: the same from every driver."""

log = logger_of(__name__)


class ClaimWatch:
    """Follows the claims on one slot from outside: is an attempt at work there? Used by one thread."""

    def __init__(self, slot: TaskSlot, clock: Clock) -> None:
        self._slot = slot
        self._clock = clock
        self._number = 0
        self._claim = b""
        self._beat: bytes | None = None
        self._since_ms = clock.monotonic_ms()

    def newest(self) -> int:
        """Return the number of the newest claim, 0 if there is none."""
        while (claim := self._slot.claim(self._number + 1)) is not None:
            self._number += 1
            self._claim = claim
            self._beat = None
            self._since_ms = self._clock.monotonic_ms()
        return self._number

    def at_work(self) -> bool:
        """Whether the newest claim's attempt may still be reading.

        It has not given up, its process is not known to be dead, and it has not been silent for too long.
        """
        number = self.newest()
        if not number or self._slot.over(number) is not None:
            return False
        try:
            if is_dead(json.loads(self._claim)["process"]):
                return False
        except (ValueError, KeyError, TypeError):
            return False  # cut short by a loss of power, which ended its writer too
        beat = self._slot.beat(number)
        if beat != self._beat:
            self._beat = beat
            self._since_ms = self._clock.monotonic_ms()
        return self._clock.monotonic_ms() - self._since_ms < STALE_MS


class Claim:
    """The right to read a task and to decide the content of its epoch, until another attempt takes over.

    Args:
        slot: the slot that is claimed.
        number: 1 for the first claim, one more for each that took over.
        clock: time.
    """

    def __init__(self, slot: TaskSlot, number: int, clock: Clock) -> None:
        self.slot = slot
        self.number = number
        self._clock = clock
        self._beats = 0
        self._fenced = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def check(self) -> None:
        """Return if no other attempt has taken over, as far as the last beat knows.

        Called before each batch, so it asks the store nothing. An attempt that has not noticed yet is stopped
        when it publishes: the first manifest counts.

        Raises:
            FencedError: another attempt has taken over.
        """
        if self._fenced.is_set():
            raise FencedError(f"another attempt has taken over {self.slot}: this one gave no sign of life")

    def beat(self) -> None:
        """Give a sign of life, and look whether another attempt has taken over."""
        self._beats += 1
        self.slot.put_beat(self.number, b"%d" % self._beats)
        if self.slot.claim(self.number + 1) is not None:
            self._fenced.set()

    def keep_alive(self) -> None:
        """Go on beating on a thread of its own, until `end`."""
        self._thread = threading.Thread(
            target=self._beat_until_ended, name="headwater-heartbeat", daemon=True
        )
        self._thread.start()

    def end(self, reason: str | None = None) -> None:
        """Stop beating.

        Args:
            reason: why the attempt gives up without a manifest, so that others need not wait until it is
                stale; None if it published one.
        """
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        # After the last beat: a later sign of life would contradict it.
        if reason is not None:
            self.slot.put_over(self.number, reason.encode())

    def _beat_until_ended(self) -> None:
        while not self._clock.wait(self._ended, BEAT_MS) and not self._fenced.is_set():
            try:
                self.beat()
            except StateLocationError as error:
                # A store that is away for a while makes the attempt stale at worst.
                log.warning("no sign of life this time: %s", error)


class ClaimProtocol:
    """How an attempt comes to read a task.

    It claims the slot, waits for the attempt that did, or follows a manifest. Used by one thread.

    Args:
        slot: the slot.
        clock: time.
        may_be_first: whether to claim it before any look at it.
    """

    def __init__(self, slot: TaskSlot, clock: Clock, *, may_be_first: bool = True) -> None:
        self._slot = slot
        self._clock = clock
        self._watch = ClaimWatch(slot, clock)
        # Unlike the claim of every other attempt, so that put-if-absent tells whose claim counts.
        self._attempt = dumps({"attempt": secrets.token_hex(8), "process": this_process()}).encode()
        self._may_be_first = may_be_first

    def acquire(self) -> Claim | bytes:
        """Return the claim if this attempt is to read, or the manifest that it has to follow.

        Waits while another attempt reads.
        """
        never = threading.Event()
        poll_ms = _FIRST_POLL_MS
        while (acquired := self.try_acquire()) is None:
            self._clock.wait(never, poll_ms)
            poll_ms = min(2 * poll_ms, _MOST_POLL_MS)
        return acquired

    def try_acquire(self) -> Claim | bytes | None:
        """Look once. None: another attempt is at work, look again later."""
        # Mostly this is the first attempt: one write says so, without a look. There is a first claim wherever
        # there is a manifest: a driver that seals a slot which nobody claimed puts one there (`seal`).
        if self._may_be_first:
            self._may_be_first = False
            if self._slot.put_claim(1, self._attempt) == self._attempt:
                return Claim(self._slot, 1, self._clock)
        # The manifest first: once there is one, no claim counts any more.
        if (manifest := self._slot.manifest()) is not None:
            return manifest
        if self._watch.at_work():
            return None
        number = self._watch.newest() + 1
        # Of several attempts that come to this line at once, one finds its own claim stored.
        if self._slot.put_claim(number, self._attempt) != self._attempt:
            return None
        if number > 1:
            log.warning("attempt %d takes over %s", number, self._slot)
        return Claim(self._slot, number, self._clock)


def seal(slot: TaskSlot, watch: ClaimWatch) -> bytes | None:
    """Let no attempt at a task count any more; return the manifest that counts.

    None if an attempt has claimed the slot meanwhile: it is at work.
    """
    # An attempt looks at nothing before it puts the first claim: so that claim must be there before the seal.
    if not watch.newest() and slot.put_claim(1, _SEAL) != _SEAL:
        return None
    return slot.publish(SEALED)


def this_process() -> JsonObject:
    """Return an identifier of this process that no other one has.

    Its id, when it began, and the host and process namespace in which the id means something.
    """
    return {"host": _host(), "pid": os.getpid(), "started": _started(os.getpid())}


def is_dead(process: JsonObject) -> bool:
    """Whether a process is known to have ended. False for one of another host, of which nothing is known."""
    if process["host"] != _host() or process["started"] is None:
        return False
    # The id alone may be that of a later process.
    return _started(int(str(process["pid"]))) != process["started"]


def _host() -> str:
    """Name the host and process namespace.

    Two containers share a kernel, perhaps a host name too, and each counts its own processes.
    """
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()} {boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _started(pid: int) -> str | None:
    """Return when a living process began, in ticks since the host did.

    None if there is no such process, or if the system has no ``/proc``.
    """
    try:
        # The name of the program, in parentheses, may contain blanks: count from behind it.
        stat = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if stat[0] in "ZX" else stat[19]
