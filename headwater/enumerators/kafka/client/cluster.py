"""A Kafka cluster as a client sees it: metadata, offsets and sizes of logs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import NoConnectionError, TransientSourceError, UnknownSplitError
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.client.errors import Permission, from_code, metadata_is_stale
from headwater.enumerators.kafka.client.metadata import (
    Broker,
    BrokerAddress,
    ClusterMetadata,
    TopicPartition,
)
from headwater.enumerators.kafka.client.pool import ConnectionPool
from headwater.enumerators.kafka.client.requests import (
    PartitionOffset,
    list_offsets_request,
    log_dirs_request,
    metadata_request,
    read_log_sizes,
    read_metadata,
    read_offsets,
)
from headwater.enumerators.kafka.client.transport import Deadline

T = TypeVar("T")
_LEADER_NOT_AVAILABLE = 5


class Cluster:
    """Asks the brokers of one cluster. Opens a connection with the first request to a broker, and keeps it.

    The enumerator has one on the driver, on its worker thread; a task has one for its `Leaders`. Not
    thread-safe. Every method blocks, for ``default.api.timeout.ms`` at the most. A request that any broker
    can answer goes to every broker that is known before it fails. There are no waits and no further attempts:
    after a `TransientSourceError` the caller asks again.

    Every method raises:
        TransientSourceError: no broker answers, or a partition is changing its leader.
        AuthenticationError: wrong credentials or certificates.
        AuthorizationError: a permission is missing; the message names it and the command that grants it.
        SourceError: see `BrokerConnection`.

    Args:
        config: where the cluster is and how to log in.
        clock: for the age of the metadata.
        pool: lends the connections, and takes them back when they are closed here; None to open its own.
    """

    def __init__(
        self, config: ClientConfig, clock: Clock | None = None, pool: ConnectionPool | None = None
    ) -> None:
        self._config = config
        self._clock = clock or SystemClock()
        self._pool = pool
        self._connections: dict[BrokerAddress, BrokerConnection] = {}
        self._known = ClusterMetadata({}, {})
        self._known_at_ms: int | None = None

    def metadata(self, topics: Collection[str] | None) -> ClusterMetadata:
        """Return a fresh snapshot of these topics, or of all topics that this user may see if None.

        A topic that does not exist is left out. For a moment after a broker has started, a snapshot of all
        topics may lack some of them: ask again before you believe that a topic is gone.

        Raises:
            UnknownSplitError: a name cannot be the name of a topic.
        """
        deadline = Deadline(self._config.default_api_timeout_ms)
        self._known = read_metadata(self._ask_any(lambda: metadata_request(topics), deadline))
        self._known_at_ms = self._clock.monotonic_ms()
        return self._known

    def begin_with(self, metadata: ClusterMetadata) -> None:
        """Take metadata that this process has asked for a moment ago, instead of asking again."""
        self._known = metadata
        self._known_at_ms = self._clock.monotonic_ms()

    def list_offsets(
        self, specs: Mapping[TopicPartition, int], *, read_committed: bool | None = None
    ) -> dict[TopicPartition, int | None]:
        """Return an offset for every partition; None where no record is at or after the timestamp.

        Sends one request to each leader, all before the first answer is awaited. If a leader has moved, it is
        looked up once more.

        Args:
            specs: `EARLIEST`, `LATEST`, or a timestamp in milliseconds since 1970 (at least 0).
            read_committed: whether `LATEST` means the last stable offset; None to follow
                ``isolation.level``.

        Raises:
            UnknownSplitError: a partition does not exist.
        """
        committed = self._config.read_committed if read_committed is None else read_committed
        offsets = self._offsets(specs, read_committed=committed)
        return {tp: each.offset for tp, each in offsets.items()}

    def list_times(self, specs: Mapping[TopicPartition, int]) -> dict[TopicPartition, tuple[int, int]]:
        """Return the offset and the time of a record of each partition, in one request to each leader.

        Args:
            specs: a timestamp in milliseconds since 1970, for the first record at or after it; or
                `MAX_TIMESTAMP`, for the one with the largest time (Kafka 3.0, KIP-734).

        Returns:
            Nothing for a partition without such a record.

        Raises:
            UnknownSplitError: a partition does not exist.
        """
        offsets = self._offsets(specs, read_committed=self._config.read_committed)
        return {
            tp: (each.offset, each.timestamp_ms) for tp, each in offsets.items() if each.offset is not None
        }

    def log_sizes(self, topics: Collection[str]) -> dict[TopicPartition, int]:
        """Return how many bytes each partition of these topics has on the disks of its leader.

        Segments in tiered storage do not count.

        Raises:
            AuthorizationError: this user may not describe the cluster. That is common; do without the sizes.
        """
        deadline = Deadline(self._config.default_api_timeout_ms)
        partitions = [
            TopicPartition(name, index)
            for name, topic in self.metadata(topics).topics.items()
            for index in topic.partitions
        ]
        led, _ = self._by_leader(partitions)
        answers = self._ask_each(
            {broker: log_dirs_request(tps) for broker, tps in led.items()}, read_log_sizes, deadline
        )
        return {tp: size for sizes in answers for tp, size in sizes.items()}

    def ask_any(self, request: Callable[[], Any]) -> Any:
        """Return the answer of any broker. The request is made anew for each broker that is tried."""
        return self._ask_any(request, Deadline(self._config.default_api_timeout_ms))

    def ask(self, address: BrokerAddress, request: Any) -> Any:
        """Return the answer of one broker."""
        deadline = Deadline(self._config.default_api_timeout_ms)
        return self._connection(address).call(request, self._timeout_ms(deadline))

    def close(self) -> None:
        """Close all connections. Any number of times; a later question opens them anew."""
        for connection in self._connections.values():
            if self._pool is None:
                connection.close()
            else:
                self._pool.give_back(connection)
        self._connections.clear()

    def _offsets(
        self, specs: Mapping[TopicPartition, int], *, read_committed: bool
    ) -> dict[TopicPartition, PartitionOffset]:
        """Ask the leaders; if one of them has moved, look it up once more."""
        deadline = Deadline(self._config.default_api_timeout_ms)
        offsets: dict[TopicPartition, PartitionOffset] = {}
        moved: dict[TopicPartition, int] = {}
        for _ in range(2):
            pending = {tp: specs[tp] for tp in moved} if moved else specs
            answers = self._list_offsets(pending, deadline, read_committed=read_committed)
            offsets.update((each.partition, each) for each in answers if not each.error_code)
            moved = {each.partition: each.error_code for each in answers if each.error_code}
            if not moved:
                return offsets
            self._known_at_ms = None
        tp, code = min(moved.items())
        error = from_code(code, what=f"offsets of topic {tp.topic!r}, partition {tp.partition}")
        # The metadata is fresh, and yet the broker that it names refuses. Metadata reaches the brokers one by
        # one, so they will agree in a moment: a transient error.
        raise TransientSourceError(error.message, source="kafka", split=str(tp))

    def _list_offsets(
        self, specs: Mapping[TopicPartition, int], deadline: Deadline, *, read_committed: bool
    ) -> list[PartitionOffset]:
        self._refresh(specs)
        led, leaderless = self._by_leader(specs)
        requests = {
            broker: list_offsets_request(
                {tp: specs[tp] for tp in epochs},
                epochs,
                read_committed=read_committed,
                timeout_ms=self._config.request_timeout_ms,
            )
            for broker, epochs in led.items()
        }
        offsets = [each for answer in self._ask_each(requests, read_offsets, deadline) for each in answer]
        for tp, code, _, _ in offsets:
            if code and not metadata_is_stale(code):
                what = f"offsets of topic {tp.topic!r}, partition {tp.partition}"
                raise from_code(
                    code, what=what, needs=Permission("Describe", "topic", tp.topic), split=str(tp)
                )
        return [*offsets, *(PartitionOffset(tp, _LEADER_NOT_AVAILABLE, None) for tp in leaderless)]

    def _refresh(self, partitions: Collection[TopicPartition]) -> None:
        """Ask for the metadata if the known one lacks one of these partitions, or is too old."""
        age_ms = None if self._known_at_ms is None else self._clock.monotonic_ms() - self._known_at_ms
        stale = age_ms is None or age_ms >= self._config.metadata_max_age_ms
        if stale or any(self._known.partition(tp) is None for tp in partitions):
            self.metadata({tp.topic for tp in partitions})

    def _by_leader(
        self, partitions: Iterable[TopicPartition]
    ) -> tuple[dict[Broker, dict[TopicPartition, int]], list[TopicPartition]]:
        """Return each leader's partitions with their leader epochs, and the partitions without a leader."""
        led: dict[Broker, dict[TopicPartition, int]] = {}
        leaderless: list[TopicPartition] = []
        for tp in partitions:
            metadata = self._known.partition(tp)
            if metadata is None:
                what = f"partition {tp.partition} of topic {tp.topic!r} does not exist in the Kafka cluster"
                raise UnknownSplitError(what, source="kafka", split=str(tp))
            leader = self._known.brokers.get(metadata.leader)
            if leader is None:
                leaderless.append(tp)
            else:
                led.setdefault(leader, {})[tp] = metadata.leader_epoch
        return led, leaderless

    def _ask_any(self, request: Callable[[], Any], deadline: Deadline) -> Any:
        """Ask one broker after the other until one answers.

        First those that are connected, then those in the metadata, then those that the user named.
        """
        addresses = [broker.address for broker in self._known.brokers.values()]
        failures = []
        for address in dict.fromkeys([*self._connections, *addresses, *self._config.bootstrap_servers]):
            try:
                return self._connection(address).call(request(), self._timeout_ms(deadline))
            except TransientSourceError as error:
                self._connections.pop(address).close()
                failures.append(error)
        if len(failures) == 1:
            raise failures[0]
        reasons = "; ".join(error.message for error in failures)
        is_nobody_there = all(isinstance(error, NoConnectionError) for error in failures)
        kind = NoConnectionError if is_nobody_there else TransientSourceError
        raise kind(f"no broker of the Kafka cluster answers: {reasons}", source="kafka") from failures[-1]

    def _ask_each(
        self, requests: Mapping[Broker, Any], read: Callable[[Any], T], deadline: Deadline
    ) -> list[T]:
        """Send all requests, then take the answers. If one fails, all fail."""
        connections = [self._connection(broker.address) for broker in requests]
        try:
            for connection, request in zip(connections, requests.values(), strict=True):
                connection.send(request, self._timeout_ms(deadline))
            return [
                read(connection.receive(timeout_ms=self._timeout_ms(deadline)).decode())
                for connection in connections
            ]
        except BaseException:
            # The leaders may have moved. And answers that are still in flight belong to requests that have
            # failed: on these connections the next request would be given a stale answer.
            self._known_at_ms = None
            for connection in connections:
                if connection.in_flight:
                    connection.close()
            raise

    def _connection(self, address: BrokerAddress) -> BrokerConnection:
        if address not in self._connections:
            self._connections[address] = (
                BrokerConnection(address, self._config, self._clock)
                if self._pool is None
                else self._pool.borrow(self._config, address)
            )
        return self._connections[address]

    def _timeout_ms(self, deadline: Deadline) -> int:
        try:
            left_ms = int(deadline.left_s() * 1000)
        except TimeoutError as error:
            reason = f"the Kafka cluster has not answered within kafka.default.api.timeout.ms: {error}"
            raise TransientSourceError(reason, source="kafka") from None
        return max(1, min(self._config.request_timeout_ms, left_ms))
