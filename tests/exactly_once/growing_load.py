"""Entries that keep coming, in more and more streams, at a server that is killed now and then."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import Protocol, Self

__all__ = ["GrowingLoad"]

STREAMS = 3


class Mortal(Protocol):
    """A server that can be killed, and goes on with what it has stored."""

    def kill(self) -> None: ...

    def start(self) -> None: ...


class GrowingLoad:
    """Adds entries until it is stopped, and kills the server every few seconds. A context manager.

    Attributes:
        streams: those that there are.
        kills: of the server.

    Args:
        server: that is killed.
        create: makes a stream.
        add: adds entries, each to a stream; an OSError if the server does not answer.
        rng: decides where and when.
    """

    def __init__(
        self,
        server: Mortal,
        create: Callable[[str], object],
        add: Callable[[Sequence[tuple[str, bytes]]], object],
        rng: random.Random,
    ) -> None:
        self._server = server
        self._create = create
        self._add = add
        self._rng = rng
        self._stopped = threading.Event()
        self._running = threading.Event()
        self._running.set()
        self.streams = [f"load-{number}" for number in range(STREAMS)]
        for stream in self.streams:
            create(stream)
        self.kills = 0
        self._threads = [threading.Thread(target=each) for each in (self._fill, self._kill)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _fill(self) -> None:
        number = 0
        while not self._stopped.wait(0.05):
            self._running.wait()
            try:
                if number % 40 == 39:
                    stream = f"load-{len(self.streams)}"
                    self._create(stream)
                    self.streams.append(stream)
                self._add(
                    [
                        (self._rng.choice(self.streams), b"%d" % self._rng.randrange(1 << 40))
                        for _ in range(50)
                    ]
                )
            except OSError:
                continue  # killed meanwhile: what it had taken, it has
            number += 1

    def _kill(self) -> None:
        """Kill the server now and then: what it has not answered, it may have or not."""
        while not self._stopped.wait(self._rng.uniform(4, 8)):
            self._running.clear()
            self._server.kill()
            self._server.start()
            self.kills += 1
            self._running.set()
