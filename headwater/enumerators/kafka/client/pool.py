"""Connections that outlive tasks.

A Python worker process keeps those to the brokers from one micro-batch to the next.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import NamedTuple

from headwater.core.clock import Clock, SystemClock
from headwater.enumerators.kafka.client.client_config import BrokerAddress, ClientConfig
from headwater.enumerators.kafka.client.connection import BrokerConnection

__all__ = ["POOL", "ConnectionPool"]

_MOST_IDLE = 64
_WATCH_MS = 30_000


class _Idle(NamedTuple):
    config: ClientConfig
    address: BrokerAddress
    connection: BrokerConnection
    until_ms: int


class ConnectionPool:
    """Lends connections, and keeps those that come back for whoever wants the same broker with the same settings.

    Thread-safe; a connection that is lent belongs to one thread. One that nobody has wanted for
    ``connections.max.idle.ms`` is closed, also when no task comes again: a daemon thread sees to that for as
    long as there is something to close. After a fork the child begins with none.

    Args:
        most_idle: how many are kept; the longest idle are closed beyond that.
        clock: time.
    """

    def __init__(self, most_idle: int = _MOST_IDLE, clock: Clock | None = None) -> None:
        self._most_idle, self._clock = most_idle, clock or SystemClock()
        self._lock = threading.Lock()
        self._idle: list[_Idle] = []
        self._watcher: threading.Thread | None = None

    def __len__(self) -> int:
        """How many connections are kept and idle."""
        return len(self._idle)

    def borrow(self, config: ClientConfig, address: BrokerAddress) -> BrokerConnection:
        """Return a connection that is idle, or a new one, which opens with its first question.

        It must come back through `give_back`.
        """
        with self._lock:
            for i in reversed(range(len(self._idle))):
                if (self._idle[i].config, self._idle[i].address) == (config, address):
                    return self._idle.pop(i).connection
        return BrokerConnection(address, config, self._clock)

    def give_back(self, connection: BrokerConnection) -> None:
        """Take a connection back. One that is closed, or still has answers in flight, is not kept."""
        if not connection.is_open or connection.in_flight:
            connection.close()
            return
        until_ms = self._clock.monotonic_ms() + connection.config.connections_max_idle_ms
        with self._lock:
            self._idle.append(_Idle(connection.config, connection.address, connection, until_ms))
            surplus = [self._idle.pop(0) for _ in range(len(self._idle) - self._most_idle)]
            self._watch()
        for idle in surplus:
            idle.connection.close()

    @contextlib.contextmanager
    def lent(self, config: ClientConfig, address: BrokerAddress) -> Iterator[BrokerConnection]:
        """Lend a connection for a ``with`` block."""
        connection = self.borrow(config, address)
        try:
            yield connection
        finally:
            self.give_back(connection)

    def close_idle(self) -> int | None:
        """Close what has been idle for too long.

        Return the milliseconds until there is something to close again, None if nothing is left.
        """
        now_ms = self._clock.monotonic_ms()
        with self._lock:
            expired = [idle for idle in self._idle if idle.until_ms <= now_ms]
            self._idle = [idle for idle in self._idle if idle.until_ms > now_ms]
            next_ms = min((idle.until_ms - now_ms for idle in self._idle), default=None)
            if next_ms is None:
                self._watcher = None
        for idle in expired:
            idle.connection.close()
        return next_ms

    def clear(self) -> None:
        """Close all that are idle. Those that are lent are not touched."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.connection.close()

    def _watch(self) -> None:
        """Start the thread that closes idle connections, if none runs. Under the lock."""
        if self._watcher is None:
            self._watcher = threading.Thread(
                target=self._close_in_time, name="kafka-idle-connections", daemon=True
            )
            self._watcher.start()

    def _close_in_time(self) -> None:
        never = threading.Event()
        while (wait_ms := self.close_idle()) is not None:
            self._clock.wait(never, min(wait_ms, _WATCH_MS))

    def _forked(self) -> None:
        """Forget, in the child, what belongs to the parent.

        The lock may be held by a thread that the child does not have.
        """
        abandoned = self._idle
        self._lock, self._idle, self._watcher = threading.Lock(), [], None
        for idle in abandoned:
            idle.connection.close()


POOL = ConnectionPool()
"""The process's own."""

os.register_at_fork(after_in_child=POOL._forked)  # noqa: SLF001 - the module's own
