"""A schema registry that goes away and comes back at random moments."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from local_registry import LocalRegistry
from tests.exactly_once.forwarder import Forwarder
from tests.patience import PATIENCE_S

__all__ = ["RegistryOutages"]

UP_S = (0.5, 6.0)
REFUSES_S = (0.1, 6.0)
HANGS_S = (0.1, 13.0)
"""Longer than ten seconds the client does not wait for an answer: it asks again then."""


class RegistryOutages:
    """Lets a registry go away, in two ways: connections are refused, or it hangs (SIGSTOP).

    What it holds stays: the process lives on. Stopped, this registry would forget its schemas.

    Args:
        registry: a running one.
        port: what is in front of it.
        rng: for moments and lengths.

    Attributes:
        refused: how often connections were refused.
        hung: how often it hung.
        up: who holds it has a registry that is there, and does not go away.
    """

    def __init__(self, registry: LocalRegistry, port: Forwarder, rng: random.Random) -> None:
        self._registry = registry
        self._port = port
        self._rng = random.Random(rng.random())  # of its own thread
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        self.refused = 0
        self.hung = 0
        self.up = threading.Lock()

    @property
    def url(self) -> str:
        """Where the registry is, while it is there."""
        return self._registry.url.replace(f":{self._registry.port}/", f":{self._port.port}/")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let it go away from time to time until the end of the block, where it is there again."""
        thread = threading.Thread(target=self._run, name="outages", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join(PATIENCE_S)
        assert not thread.is_alive(), "the registry does not come back"
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._stopped.wait(self._rng.uniform(*UP_S)):
                with self.up:
                    self._rng.choice([self._refuse, self._hang])()
        except BaseException as error:  # noqa: BLE001 - raised by `running`
            self._failure = error

    def _refuse(self) -> None:
        self._port.close()
        self._stopped.wait(self._rng.uniform(*REFUSES_S))
        self._port.open()
        self.refused += 1

    def _hang(self) -> None:
        self._registry.pause()
        try:
            self._stopped.wait(self._rng.uniform(*HANGS_S))
        finally:
            self._registry.resume()
        self.hung += 1

    def __str__(self) -> str:
        return f"{self.refused} times refused, {self.hung} times hung"
