from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
from kafka.protocol.metadata import MetadataRequest

from headwater.core.clock import ManualClock
from headwater.core.errors import TransientSourceError
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.client.pool import POOL, ConnectionPool
from local_kafka import LocalKafka
from tests.enumerators.kafka.client.listeners import API_VERSIONS, Listen, client, speaking
from tests.enumerators.kafka.client.pools import empty, idle, lent
from tests.patience import PATIENCE_S


class NeverAlone(ManualClock):
    """A clock that only tests move: the thread that closes idle connections waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_ms: list[int] = []
        self.waiting = threading.Semaphore(0)
        self.let_go = threading.Semaphore(0)

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        self.waited_ms.append(timeout_ms)
        self.waiting.release()
        self.let_go.acquire()
        return event.is_set()


@pytest.fixture
def clock() -> NeverAlone:
    return NeverAlone()


@pytest.fixture
def pool(clock: NeverAlone) -> Iterator[ConnectionPool]:
    made = ConnectionPool(most_idle=3, clock=clock)
    yield made
    empty(made)
    watcher = made._watcher
    clock.let_go.release(100)
    if watcher is not None:
        watcher.join()


@pytest.fixture
def config(kafka: LocalKafka) -> ClientConfig:
    return client(kafka.bootstrap_servers, connections_max_idle_ms="1000")


def use(connection: BrokerConnection) -> BrokerConnection:
    connection.call(MetadataRequest(topics=[], min_version=1))
    return connection


def test_a_connection_is_kept_for_the_next_task(pool: ConnectionPool, config: ClientConfig) -> None:
    address = config.bootstrap_servers[0]
    with lent(pool, config, address) as first:
        use(first)
    assert first.is_open
    assert idle(pool) == 1
    with lent(pool, config, address) as second:
        assert second is first
        assert idle(pool) == 0
        assert pool.borrow(config, address) is not first


def test_only_equal_settings_and_addresses_share(
    pool: ConnectionPool, config: ClientConfig, kafka: LocalKafka
) -> None:
    address = config.bootstrap_servers[0]
    with lent(pool, config, address) as kept:
        use(kept)
    assert pool.borrow(client(kafka.bootstrap_servers, client_id="other"), address) is not kept
    assert pool.borrow(config, type(address)("localhost", address.port)) is not kept
    assert pool.borrow(client(kafka.bootstrap_servers, connections_max_idle_ms="1000"), address) is kept
    kept.close()


def test_one_that_failed_or_was_never_opened_is_not_kept(
    pool: ConnectionPool, config: ClientConfig, listen: Listen
) -> None:
    address = listen(speaking(API_VERSIONS, lambda connection, *_: connection.close()))
    connection = pool.borrow(config, address)
    with pytest.raises(TransientSourceError):
        use(connection)
    pool.give_back(connection)
    pool.give_back(pool.borrow(config, address))
    assert idle(pool) == 0


def test_one_with_answers_in_flight_is_closed(pool: ConnectionPool, config: ClientConfig) -> None:
    connection = pool.borrow(config, config.bootstrap_servers[0])
    connection.send(MetadataRequest(topics=[], min_version=1))
    pool.give_back(connection)
    assert not connection.is_open
    assert idle(pool) == 0


def test_the_longest_idle_make_room(pool: ConnectionPool, config: ClientConfig) -> None:
    lent = [use(pool.borrow(config, config.bootstrap_servers[0])) for _ in range(5)]
    for connection in lent:
        pool.give_back(connection)
    assert [connection.is_open for connection in lent] == [False, False, True, True, True]
    assert pool.borrow(config, config.bootstrap_servers[0]) is lent[-1], (
        "the one used last is the least likely to have been closed"
    )
    lent[-1].close()


def test_idle_connections_are_closed_in_time_though_no_task_comes(
    pool: ConnectionPool, config: ClientConfig, clock: NeverAlone
) -> None:
    early, late = (use(pool.borrow(config, config.bootstrap_servers[0])) for _ in range(2))
    pool.give_back(early)
    assert clock.waiting.acquire(timeout=PATIENCE_S)
    clock.advance(400)
    pool.give_back(late)
    watcher = pool._watcher
    clock.advance(600)
    clock.let_go.release()
    assert clock.waiting.acquire(timeout=PATIENCE_S)
    assert (early.is_open, late.is_open) == (False, True)
    clock.advance(400)
    clock.let_go.release()
    assert watcher is not None
    watcher.join(PATIENCE_S)
    assert not late.is_open
    assert not watcher.is_alive(), "nothing to close, nothing to wait for"
    assert clock.waited_ms == [1000, 400]


def test_many_threads_never_share_a_connection(kafka: LocalKafka, config: ClientConfig) -> None:
    shared = ConnectionPool()
    in_use: set[int] = set()
    guard = threading.Lock()
    clashes = []

    def work() -> None:
        for _ in range(50):
            with lent(shared, config, config.bootstrap_servers[0]) as connection:
                with guard:
                    clashes.extend([id(connection)] * (id(connection) in in_use))
                    in_use.add(id(connection))
                use(connection)
                with guard:
                    in_use.discard(id(connection))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not clashes
    assert 1 <= idle(shared) <= 8
    empty(shared)
    assert idle(shared) == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_begins_with_none_and_leaves_the_parents_alone(config: ClientConfig) -> None:
    empty(POOL)
    address = config.bootstrap_servers[0]
    with lent(POOL, config, address) as connection:
        use(connection)
    assert idle(POOL) == 1
    with POOL._lock:  # a lock that another thread holds at the fork must not be held for ever in the child
        child = os.fork()
        if child == 0:
            fresh = POOL.borrow(config, address)
            works = idle(POOL) == 0 and not connection.is_open and use(fresh).is_open
            os._exit(0 if works else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    with lent(POOL, config, address) as again:
        assert again is connection
        use(again)
    empty(POOL)
