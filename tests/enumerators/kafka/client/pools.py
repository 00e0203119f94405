"""What tests do with a pool of connections, and tasks do not: look into it, and empty it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.client.metadata import BrokerAddress
from headwater.enumerators.kafka.client.pool import ConnectionPool


@contextlib.contextmanager
def lent(pool: ConnectionPool, config: ClientConfig, address: BrokerAddress) -> Iterator[BrokerConnection]:
    """Borrow a connection for a ``with`` block."""
    connection = pool.borrow(config, address)
    try:
        yield connection
    finally:
        pool.give_back(connection)


def idle(pool: ConnectionPool) -> int:
    """Return how many connections the pool keeps."""
    return len(pool._idle)


def empty(pool: ConnectionPool) -> None:
    """Close the connections that the pool keeps."""
    with pool._lock:
        kept = pool._idle
        pool._idle = []
    for each in kept:
        each.connection.close()
