"""Claims.

Of all attempts that read one place of an epoch (retries, speculation, the two scans of a self-join), one
decides what the epoch holds.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
from typing import Final

from headwater.core.clock import Clock
from headwater.core.errors import FencedError, StateLocationError
from headwater.core.jsons import dumps
from headwater.readers.runtime.epoch.places import Place
from headwater.readers.runtime.epoch.process_identity import is_dead, this_process

__all__ = ["BEAT_MS", "STALE_MS", "Claim", "ClaimWatch", "Entrance"]

BEAT_MS: Final = 2_000
"""How often an attempt gives a sign of life."""

STALE_MS: Final = 15_000
"""An attempt that gave none for so long, on the watcher's own clock, is taken for dead.

Hosts' clocks are never compared.
"""

_FIRST_POLL_MS, _MOST_POLL_MS = 5, 250

log = logging.getLogger(__name__)


class ClaimWatch:
    """Follows the claims on one place, from outside: is anybody at work there? One thread."""

    def __init__(self, place: Place, clock: Clock) -> None:
        self._place, self._clock = place, clock
        self._number = 0
        self._claim = b""
        self._beat: bytes | None = None
        self._since_ms = clock.monotonic_ms()

    def newest(self) -> int:
        """Return the number of the newest claim, 0 if there is none."""
        while (claim := self._place.claim(self._number + 1)) is not None:
            self._number, self._claim, self._beat = self._number + 1, claim, None
            self._since_ms = self._clock.monotonic_ms()
        return self._number

    def at_work(self) -> bool:
        """Whether the newest claim's attempt may still be reading.

        It has neither given up, nor is its process dead, nor silent for too long.
        """
        number = self.newest()
        if not number or self._place.over(number) is not None:
            return False
        try:
            if is_dead(json.loads(self._claim)["process"]):
                return False
        except (ValueError, KeyError, TypeError):
            return False  # cut short by a loss of power, which ended its writer too
        beat = self._place.beat(number)
        if beat != self._beat:
            self._beat, self._since_ms = beat, self._clock.monotonic_ms()
        return self._clock.monotonic_ms() - self._since_ms < STALE_MS


class Claim:
    """The right to read a place and to say what the epoch holds, until somebody takes over.

    Args:
        place: what is claimed.
        number: first claim 1, each take-over one more.
        clock: time.
    """

    def __init__(self, place: Place, number: int, clock: Clock) -> None:
        self.place, self.number = place, number
        self._clock = clock
        self._beats = 0
        self._fenced = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def check(self) -> None:
        """Return if nobody has taken over, as far as is known. Asks nobody: called before each batch.

        Raises:
            FencedError: somebody has.
        """
        if self._fenced.is_set():
            raise FencedError(
                f"another attempt has taken over place {self.place.number} of epoch {self.place.epoch}: this one gave no sign of life"
            )

    def beat(self) -> None:
        """Give a sign of life, and look whether somebody has taken over."""
        self._beats += 1
        self.place.put_beat(self.number, b"%d" % self._beats)
        if self.place.claim(self.number + 1) is not None:
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
            reason: why the attempt gives up without a manifest, so that nobody waits for it; None if it
                published one.
        """
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if reason is not None:
            self.place.put_over(self.number, reason.encode())

    def _beat_until_ended(self) -> None:
        while not self._clock.wait(self._ended, BEAT_MS) and not self._fenced.is_set():
            try:
                self.beat()
            except StateLocationError as error:
                log.warning("no sign of life this time: %s", error)


class Entrance:
    """How an attempt comes to a place.

    It reads first, or it waits for whoever does, or it follows a manifest. One thread.
    """

    def __init__(self, place: Place, clock: Clock) -> None:
        self._place, self._clock = place, clock
        self._watch = ClaimWatch(place, clock)
        self._attempt = dumps({"attempt": secrets.token_hex(8), "process": this_process()}).encode()

    def enter(self) -> Claim | bytes:
        """Return the claim if this attempt is to read, or the manifest that it has to follow.

        Waits while another attempt reads.
        """
        never, poll_ms = threading.Event(), _FIRST_POLL_MS
        while (entered := self.step()) is None:
            self._clock.wait(never, poll_ms)
            poll_ms = min(2 * poll_ms, _MOST_POLL_MS)
        return entered

    def step(self) -> Claim | bytes | None:
        """Look once; None means: another attempt is at work, look again later."""
        if (manifest := self._place.manifest()) is not None:
            return manifest
        if self._watch.at_work():
            return None
        number = self._watch.newest() + 1
        if number > 1 and (snapshot := self._place.snapshot()) is not None:
            return self._place.publish(snapshot)
        if self._place.put_claim(number, self._attempt) != self._attempt:
            return None
        if number > 1:
            log.warning(
                "attempt %d takes over place %d of epoch %s", number, self._place.number, self._place.epoch
            )
        return Claim(self._place, number, self._clock)
