"""Kafka's split reader: record sets of partitions, from the brokers that lead them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ParamSpec, TypeVar

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import CorruptRecordError, TransientSourceError
from headwater.core.reader import RecordsWithSplitIds, SplitReader
from headwater.core.split import Path, SplitRange
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.errors import Permission, from_code, metadata_is_stale
from headwater.enumerators.kafka.client.pool import POOL, ConnectionPool
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka.fetch_session import Cursor, FetchedPartition
from headwater.readers.kafka.fetch_sessions import FetchSessions
from headwater.readers.kafka.leaders import Leaders, Nowhere
from headwater.readers.kafka.losses import Losses
from headwater.readers.kafka.patience import Patience
from headwater.readers.kafka.record_batch import first_batch_bytes, next_offset
from headwater.readers.kafka.record_set import RecordSet

__all__ = ["KafkaSplitReader"]

T = TypeVar("T")
P = ParamSpec("P")
_OFFSET_OUT_OF_RANGE = 1
_UNKNOWN_TOPIC = (3, 100, 103)
_LARGEST_FETCH_BYTES = 1 << 30


class KafkaSplitReader(SplitReader[RecordSet, KafkaPartitionSplit, int]):
    """Fetches from all leaders at once, one request in flight per broker, the next one sent before the last answer is handed out.

    A range is finished when its fetch position has reached its stop; how many records lay between is nobody's
    business: compaction, transaction markers and aborted records leave gaps. Leaders that move, brokers that
    restart and slow elections are waited for, while the other brokers go on; only when nothing at all has
    come for the poll time-out does the task fail.

    Args:
        config: how to reach the cluster.
        poll_timeout_ms: how long to wait without any progress.
        fail_on_data_loss: whether records that are gone are an error, or a warning and a smaller batch.
        clock: time.
        pool: lends connections.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        poll_timeout_ms: int,
        fail_on_data_loss: bool,
        clock: Clock | None = None,
        pool: ConnectionPool = POOL,
    ) -> None:
        # No single question takes longer than the task waits at all.
        self._config = replace(
            config,
            request_timeout_ms=min(config.request_timeout_ms, poll_timeout_ms),
            default_api_timeout_ms=min(config.default_api_timeout_ms, poll_timeout_ms),
        )
        self._clock = clock or SystemClock()
        self._leaders = Leaders(self._config, self._clock)
        self._losses = Losses(self._leaders, self._clock, fail_on_data_loss=fail_on_data_loss)
        self._sessions = FetchSessions(self._config, pool, self._clock)
        self._patience = Patience(self._config, poll_timeout_ms, self._clock)
        self._cursors: dict[Path, Cursor] = {}
        self._empty: set[Path] = set()

    def handle_splits_changes(self, added: Sequence[SplitRange[KafkaPartitionSplit, int]]) -> None:
        for piece in added:
            if piece.start >= piece.stop:
                self._empty.add(piece.split.path)
            else:
                self._cursors[piece.split.path] = Cursor(
                    piece.split, piece.start, piece.stop, self._config.max_partition_fetch_bytes
                )

    def fetch(self) -> RecordsWithSplitIds[RecordSet]:
        if self._empty or not self._cursors:
            finished, self._empty = frozenset(self._empty), set()
            return RecordsWithSplitIds(finished=finished)
        self._patience.begin()
        self._attempt(self._place)
        self._ask()
        fetched = self._attempt(self._sessions.receive, self._patience.left_ms)
        taken = self._take([part for part in fetched or () if self._is_current(part)])
        self._ask()  # the next answers are on their way while these records are decoded
        if taken.records or taken.finished:
            self._patience.end()
        else:
            self._patience.wait(next(iter(self._cursors.values())))
        return taken

    def close(self) -> None:
        self._sessions.close()
        self._leaders.close()

    def _attempt(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Try something that may fail for a passing reason.

        Records that are in hand already must not suffer from it.
        """
        try:
            return call(*args, **kwargs)
        except TransientSourceError as error:
            self._patience.failed(error)
            return None

    def _place(self) -> None:
        """Give every cursor without a broker to the one that leads its partition."""
        lost = self._without_broker()
        if not lost or not self._patience.is_due:
            return
        located = self._leaders.locate([cursor.split for cursor in lost])
        for cursor in lost:
            where = located[cursor.split]
            if isinstance(where, int):
                self._move(cursor, where)
            elif where is not Nowhere.ELECTING:
                self._losses.missing(cursor, where)
        waiting = [cursor for cursor in lost if cursor.broker is None and cursor.position < cursor.stop]
        if waiting:
            self._leaders.forget({cursor.split.topic for cursor in waiting})
            first = waiting[0].split
            why = located[first]
            raise TransientSourceError(
                why.value if isinstance(why, Nowhere) else f"node {why} has no address",
                source="kafka",
                split=first.split_id,
            )

    def _without_broker(self) -> list[Cursor]:
        """Return the cursors that have no broker, or none any more.

        It was dropped, or it is a replica whose time is over.
        """
        now_ms = self._clock.monotonic_ms()
        for cursor in self._cursors.values():
            if cursor.broker is not None and cursor.broker not in self._sessions:
                self._look_again(cursor)
            elif cursor.replica_until_ms is not None and now_ms >= cursor.replica_until_ms:
                cursor.broker = None
        return [cursor for cursor in self._cursors.values() if cursor.broker is None]

    def _move(self, cursor: Cursor, node: int, replica_until_ms: int | None = None) -> bool:
        """Let a broker serve a cursor, if its address is known."""
        address = self._leaders.address(node)
        if address is not None:
            self._sessions.open(node, address)
            cursor.broker, cursor.replica_until_ms = node, replica_until_ms
        return address is not None

    def _ask(self) -> None:
        """Send the next request to every broker that has none under way and something to ask for."""
        for node in self._sessions.idle():
            if wanted := [cursor for cursor in self._cursors.values() if cursor.broker == node]:
                self._attempt(self._sessions.send, node, wanted)

    def _is_current(self, part: FetchedPartition) -> bool:
        """Whether nobody else has served the partition since it was asked for."""
        return (
            self._cursors.get(part.cursor.split.path) is part.cursor and part.cursor.position == part.position
        )

    def _take(self, fetched: Sequence[FetchedPartition]) -> RecordsWithSplitIds[RecordSet]:
        """Move the cursors past what came, and hand it out."""
        records: dict[Path, list[RecordSet]] = {}
        for part in fetched:
            path = part.cursor.split.path
            self._cursors[path] = self._cursors.pop(path)  # who was served goes to the end of the queue
            part.cursor.end = part.cursor.end if part.error_code else part.end
            if record_set := self._advance(part):
                records[path] = [record_set]
        silent = not any(len(part.records) for part in fetched)
        for part in fetched:
            if part.cursor.split.path not in records:
                self._attempt(self._doubt, part, silent=silent)
        finished = frozenset(path for path, cursor in self._cursors.items() if cursor.position >= cursor.stop)
        for path in finished:
            del self._cursors[path]
        return RecordsWithSplitIds(records, finished)

    def _advance(self, part: FetchedPartition) -> RecordSet | None:
        """Return the records of a partition and move its cursor past them.

        None if there is no whole batch.
        """
        cursor = part.cursor
        if part.error_code or not len(part.records):
            return None
        record_set = RecordSet(part.records, part.aborted, self._config.read_committed, cursor.position)
        following = next_offset(record_set, cursor.split.split_id)
        if following is None:
            return None
        if following <= cursor.position:
            raise _corrupt(cursor, f"the broker sends records up to offset {following - 1} instead")
        cursor.position, cursor.doubt = following, None
        return record_set

    def _doubt(self, part: FetchedPartition, *, silent: bool) -> None:
        """Find out what it means that a partition gave no records."""
        cursor = part.cursor
        if part.error_code:
            self._refused(cursor, part.error_code)
        elif len(part.records):
            self._ask_for_more(part)
        elif part.preferred_replica not in (-1, cursor.broker):
            self._follow(cursor, part.preferred_replica)
        elif silent and cursor.replica_until_ms is None:
            self._losses.silence(cursor, part.end)
        elif silent:
            cursor.broker = None  # a replica may lag behind; the leader decides

    def _ask_for_more(self, part: FetchedPartition) -> None:
        """Not one whole batch fitted into what was asked for."""
        cursor, batch_bytes = part.cursor, first_batch_bytes(RecordSet(part.records)) or 0
        if cursor.max_bytes >= _LARGEST_FETCH_BYTES or batch_bytes > _LARGEST_FETCH_BYTES:
            raise _corrupt(
                cursor,
                f"a record batch is larger than {_LARGEST_FETCH_BYTES} bytes, or its length is not what was written",
            )
        cursor.max_bytes = min(max(cursor.max_bytes * 2, batch_bytes), _LARGEST_FETCH_BYTES)

    def _follow(self, cursor: Cursor, node: int) -> None:
        """Read from the nearest replica for a while (KIP-392)."""
        cursor.doubt = None
        if not self._move(cursor, node, self._clock.monotonic_ms() + self._config.metadata_max_age_ms):
            self._look_again(cursor)
            raise TransientSourceError(
                f"node {node} is the nearest replica, but has no address",
                source="kafka",
                split=cursor.split.split_id,
            )

    def _refused(self, cursor: Cursor, code: int) -> None:
        """A broker will not serve a partition: look elsewhere, skip what is gone, or fail."""
        split, at_leader = cursor.split, cursor.replica_until_ms is None
        if code == _OFFSET_OUT_OF_RANGE and at_leader:
            self._losses.out_of_range(cursor)
            return
        needs = Permission("Read", "topic", split.topic)
        error = from_code(
            code,
            what=f"fetching from topic {split.topic!r}",
            needs=needs,
            split=split.split_id,
            position=cursor.position,
        )
        cursor.doubt = None
        if at_leader and code not in _UNKNOWN_TOPIC and not metadata_is_stale(code):
            raise error
        self._look_again(cursor)
        raise TransientSourceError(
            error.message, source="kafka", split=split.split_id, position=cursor.position
        )

    def _look_again(self, cursor: Cursor) -> None:
        """Ask the cluster who leads the partition now. What its last broker said counts no more."""
        self._leaders.forget([cursor.split.topic])
        cursor.broker = cursor.doubt = None


def _corrupt(cursor: Cursor, what: str) -> CorruptRecordError:
    return CorruptRecordError(what, source="kafka", split=cursor.split.split_id, position=cursor.position)
