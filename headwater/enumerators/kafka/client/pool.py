"""Connections that outlive tasks: a Python worker process keeps them from one micro-batch to the next."""

from __future__ import annotations

import os
import threading
from typing import NamedTuple

from headwater.core.clock import Clock, SystemClock
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.client.metadata import BrokerAddress

_MOST_IDLE = 64
_WATCH_MS = 30_000


class _Idle(NamedTuple):
    config: ClientConfig
    address: BrokerAddress
    connection: BrokerConnection
    until_ms: int


class ConnectionPool:
    """Lends connections, and keeps those that come back for the next task that wants the same broker.

    Only a task with the same settings gets a connection again. Thread-safe; a connection that is lent belongs
    to one thread. A connection that has been idle for ``connections.max.idle.ms`` is closed, also if no task
    comes any more: a daemon thread does it, and ends when there is nothing left to close. After a fork the
    child process begins without connections.

    Args:
        most_idle: how many are kept. If there are more, those that have been idle longest are closed.
        clock: time.
    """

    def __init__(self, most_idle: int = _MOST_IDLE, clock: Clock | None = None) -> None:
        self._most_idle = most_idle
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._idle: list[_Idle] = []
        self._watcher: threading.Thread | None = None

    def borrow(self, config: ClientConfig, address: BrokerAddress) -> BrokerConnection:
        """Return an idle connection, or a new one, which opens with its first request.

        It must come back through `give_back`.
        """
        with self._lock:
            # The one that came back last: it is the least likely to be closed by the broker.
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
        # Not under the lock: other threads need not wait for the system to close sockets.
        for idle in surplus:
            idle.connection.close()

    def close_idle(self) -> int | None:
        """Close the connections that have been idle for too long.

        Return the milliseconds until the next one is due, None if no idle connection is left.
        """
        now_ms = self._clock.monotonic_ms()
        with self._lock:
            expired = [idle for idle in self._idle if idle.until_ms <= now_ms]
            self._idle = [idle for idle in self._idle if idle.until_ms > now_ms]
            next_ms = min((idle.until_ms - now_ms for idle in self._idle), default=None)
            if next_ms is None:
                # The thread ends. It says so under the same lock, so that a connection that comes back from
                # now on starts another.
                self._watcher = None
        for idle in expired:
            idle.connection.close()
        return next_ms

    def _watch(self) -> None:
        """Start the thread that closes idle connections, if none runs. Called under the lock."""
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
        """Begin anew in a child process: connections belong to the parent, and no other thread was forked.

        Another thread of the parent may have held the lock at that moment. It does not exist in the child and
        would never release it, so the child needs a lock of its own.
        """
        abandoned = self._idle
        self._lock = threading.Lock()
        self._idle = []
        self._watcher = None
        # This closes the child's descriptors only. The parent's connections stay open.
        for idle in abandoned:
            idle.connection.close()


POOL = ConnectionPool()
"""The pool of this process."""

os.register_at_fork(after_in_child=POOL._forked)  # noqa: SLF001 - the module's own
