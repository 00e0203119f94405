"""Kafka's split reader: record sets of partitions, from the brokers that lead them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ParamSpec, TypeVar

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import CorruptRecordError, TransientSourceError
from headwater.core.reader import LossReporter, RecordsWithSplitIds, SplitReader
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.errors import Permission, from_code, metadata_is_stale
from headwater.enumerators.kafka.client.pool import POOL, ConnectionPool
from headwater.enumerators.kafka.split import KafkaPartitionSplit, OpenRange
from headwater.readers.kafka.cursor import Cursor
from headwater.readers.kafka.fetching import BrokerFetchers, FetchedPartition
from headwater.readers.kafka.leaders import Leaders, NoLeader
from headwater.readers.kafka.loss_detector import LossDetector, PollTimer
from headwater.readers.kafka.record_set import RecordSet, first_batch_bytes, next_offset
from headwater.readers.kafka.settings import KafkaReadSettings

log = logger_of(__name__)

T = TypeVar("T")
P = ParamSpec("P")
_OFFSET_OUT_OF_RANGE = 1
_UNKNOWN_TOPIC = (3, 100, 103)
_FRESH_MS = 1_000
_LARGEST_FETCH_BYTES = 1 << 30


class KafkaSplitReader(SplitReader[RecordSet, KafkaPartitionSplit, int]):
    """Fetches from all leaders at once, with one request in flight per broker.

    The next request is sent before the last answer is handed out, so that the broker works while the records
    are decoded.

    A range is finished when its fetch position has reached its stop. Records are not counted, because
    compaction, transaction markers and aborted records leave gaps between offsets.

    Leaders that move, brokers that restart and slow elections are waited for, while the other brokers go on.
    The task fails only when there has been no progress at all for the poll time-out.

    The ends of an `OpenRange` are asked for in the first `fetch`, and told with its answer.

    Args:
        config: how to reach the cluster.
        settings: how tasks read.
        clock: time.
        pool: lends connections.
    """

    def __init__(
        self,
        config: ClientConfig,
        settings: KafkaReadSettings,
        *,
        clock: Clock | None = None,
        pool: ConnectionPool = POOL,
    ) -> None:
        poll_timeout_ms = settings.poll_timeout_ms
        # No single request may take longer than the task waits for progress. A broker that has nothing must
        # say so within that time: its silence is what tells of a loss.
        self._config = replace(
            config,
            fetch_max_wait_ms=min(config.fetch_max_wait_ms, poll_timeout_ms // 2),
            request_timeout_ms=min(config.request_timeout_ms, poll_timeout_ms),
            default_api_timeout_ms=min(config.default_api_timeout_ms, poll_timeout_ms),
        )
        self._clock = clock or SystemClock()
        self._leaders = Leaders(self._config, self._clock, pool)
        self._fetchers = BrokerFetchers(self._config, pool, self._clock)
        self._timer = PollTimer(self._config, poll_timeout_ms, self._clock)
        self._losses = LossDetector(
            self._leaders, self._timer, self._clock, fail_on_data_loss=settings.fail_on_data_loss
        )
        self._cursors: dict[SplitPath, Cursor] = {}
        self._empty: set[SplitPath] = set()
        self._bound: dict[SplitPath, SplitRange[KafkaPartitionSplit, int]] = {}

    def report_losses_to(self, report: LossReporter) -> None:
        self._losses.report = report

    def handle_splits_changes(self, added: Sequence[SplitRange[KafkaPartitionSplit, int]]) -> None:
        for each in added:
            left_open = each if isinstance(each, OpenRange) else None
            if each.start >= each.stop and left_open is None:
                self._empty.add(each.split.path)
                continue
            self._cursors[each.split.path] = Cursor(
                each.split,
                each.start,
                each.stop,
                self._config.max_partition_fetch_bytes,
                open=left_open,
            )
        # What this process remembers of a topic may be of an earlier incarnation of it. But many tasks may
        # run one after the other, and the metadata of a topic with thousands of partitions is large.
        self._leaders.forget(
            {each.split.topic for each in added if isinstance(each, OpenRange)}, older_than_ms=_FRESH_MS
        )

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        # An answer that is on its way finds no cursor, and is dropped (`_is_current`).
        for path in removed:
            self._cursors.pop(path, None)

    def fetch(self) -> RecordsWithSplitIds[RecordSet]:
        if self._empty or not self._cursors:
            finished = frozenset(self._empty)
            self._empty.clear()
            return RecordsWithSplitIds(finished=finished)
        self._timer.begin()
        self._attempt(self._find_brokers)
        result = self._hand_out({})
        self._send()
        if result.bound or result.finished:
            self._timer.end()
            return result
        fetched = self._attempt(self._fetchers.receive, self._timer.left_ms)
        result = self._take([part for part in fetched or () if self._is_current(part)])
        self._send()  # the next answers are on their way while these records are decoded
        if result.records or result.finished:
            self._timer.end()
        else:
            self._timer.wait(next(iter(self._cursors.values())))
        return result

    def close(self) -> None:
        self._fetchers.close()
        self._leaders.close()

    def _attempt(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Call something that may fail for a passing reason; return None if it does.

        The timer remembers the failure. It is not raised here, because the other brokers go on, and records
        that have arrived already must be handed out.
        """
        try:
            return call(*args, **kwargs)
        except TransientSourceError as error:
            self._timer.failed(error)
            return None

    def _find_brokers(self) -> None:
        """Give each cursor without a broker to the broker that leads its partition."""
        unplaced = self._without_broker()
        if not unplaced or not self._timer.is_due:
            return
        located = self._leaders.locate([cursor.split for cursor in unplaced])
        brokers = {cursor.split.path: located[cursor.split] for cursor in unplaced}
        self._bind([cursor for cursor in unplaced if isinstance(brokers[cursor.split.path], int)])
        self._leaders.close()  # the fetchers are lent the same connections
        for cursor in unplaced:
            where = brokers[cursor.split.path]
            if isinstance(where, int):
                self._move(cursor, where)
            elif where is not NoLeader.ELECTING:
                self._losses.missing(cursor, where)
        waiting = [cursor for cursor in unplaced if cursor.broker is None and not cursor.is_done]
        if waiting:
            self._leaders.forget({cursor.split.topic for cursor in waiting})
            first = waiting[0].split
            why = brokers[first.path]
            raise TransientSourceError(
                why.value if isinstance(why, NoLeader) else f"node {why} has no address",
                source="kafka",
                split=first.split_id,
            )

    def _bind(self, placed: Sequence[Cursor]) -> None:
        """Ask for the ends of those ranges that were left open."""
        unbound = {cursor.open: cursor for cursor in placed if cursor.open is not None}
        if not unbound:
            return
        ranges = list(unbound)
        for open_range, bound in zip(ranges, self._leaders.bind(ranges), strict=True):
            if bound.stop < bound.start and not open_range.from_earliest:
                log.warning(
                    "%s: the log now ends at offset %d, before offset %d: nothing to read from there",
                    bound.split.split_id,
                    bound.stop,
                    bound.start,
                )
            unbound[open_range].bind(bound)
            self._bound[bound.split.path] = bound

    def _without_broker(self) -> list[Cursor]:
        """Return the cursors that have no broker, or lose theirs now.

        A broker is lost when its connection failed and was dropped, and a replica when its time is over.
        """
        now_ms = self._clock.monotonic_ms()
        open_brokers = self._fetchers.nodes()
        for cursor in self._cursors.values():
            if cursor.broker is not None and cursor.broker not in open_brokers:
                self._look_again(cursor)
            elif cursor.replica_until_ms is not None and now_ms >= cursor.replica_until_ms:
                cursor.lose_broker()
        return [cursor for cursor in self._cursors.values() if cursor.broker is None]

    def _move(self, cursor: Cursor, node: int, replica_until_ms: int | None = None) -> bool:
        """Let a broker serve a cursor, and return True; return False if its address is not known."""
        address = self._leaders.address(node)
        if address is None:
            return False
        self._fetchers.open(node, address)
        cursor.move_to(node, replica_until_ms)
        return True

    def _send(self) -> None:
        """Send the next request to each broker that has none in flight and serves a cursor."""
        for node in self._fetchers.idle():
            if cursors := [cursor for cursor in self._cursors.values() if cursor.broker == node]:
                self._attempt(self._fetchers.send, node, cursors)

    def _is_current(self, part: FetchedPartition) -> bool:
        """Whether the cursor is still where it was when this answer was asked for.

        After a broker was dropped, another one may have served the partition in the meantime.
        """
        return (
            self._cursors.get(part.cursor.split.path) is part.cursor and part.cursor.position == part.position
        )

    def _take(self, fetched: Sequence[FetchedPartition]) -> RecordsWithSplitIds[RecordSet]:
        """Move the cursors past the records that came, and hand the records out."""
        records: dict[SplitPath, list[RecordSet]] = {}
        for part in fetched:
            path = part.cursor.split.path
            self._cursors[path] = self._cursors.pop(path)  # to the end: others come first next time
            if not part.error_code:
                part.cursor.answered(part.end)
            if record_set := self._advance(part):
                records[path] = [record_set]
        silent = not any(len(part.records) for part in fetched)
        for part in fetched:
            if part.cursor.split.path not in records:
                self._attempt(self._doubt, part, silent=silent)
        return self._hand_out(records)

    def _hand_out(self, records: Mapping[SplitPath, Sequence[RecordSet]]) -> RecordsWithSplitIds[RecordSet]:
        """Return records, with the splits that were finished or bound since the last time."""
        finished = frozenset(path for path, cursor in self._cursors.items() if cursor.is_done)
        for path in finished:
            del self._cursors[path]
        bound = self._bound
        self._bound = {}
        return RecordsWithSplitIds(records, finished, bound)

    def _advance(self, part: FetchedPartition) -> RecordSet | None:
        """Move a cursor past the records that came, and return them; None if there is no whole batch."""
        cursor = part.cursor
        if part.error_code or not len(part.records):
            return None
        record_set = RecordSet(part.records, part.aborted, self._config.read_committed, cursor.position)
        following = next_offset(record_set, cursor.split.split_id)
        if following is None:
            return None
        if following <= cursor.position:
            raise _corrupt(cursor, f"the broker sends records up to offset {following - 1} instead")
        cursor.advance(following)
        return record_set

    def _doubt(self, part: FetchedPartition, *, silent: bool) -> None:
        """Find out why an answer holds no records of a partition.

        Args:
            part: the partition's part of the answer.
            silent: whether the whole answer holds no records. If it holds others, this partition may only
                have been left out because the response was full.
        """
        cursor = part.cursor
        if part.error_code:
            self._refused(cursor, part.error_code)
        elif len(part.records):
            self._ask_for_more(part)
        elif part.preferred_replica not in (-1, cursor.broker):
            self._follow(cursor, part.preferred_replica)
        elif silent and cursor.is_at_leader:
            self._losses.silence(cursor, part.end)
        elif silent:
            cursor.lose_broker()  # a replica may lag behind the leader: ask the leader itself

    def _ask_for_more(self, part: FetchedPartition) -> None:
        """Raise the limit of a partition whose first batch did not fit into the limit."""
        cursor = part.cursor
        batch_bytes = first_batch_bytes(RecordSet(part.records)) or 0
        if cursor.max_bytes >= _LARGEST_FETCH_BYTES or batch_bytes > _LARGEST_FETCH_BYTES:
            raise _corrupt(
                cursor,
                f"a record batch is larger than {_LARGEST_FETCH_BYTES} bytes, "
                "or its length is not what was written",
            )
        cursor.ask_for(min(max(cursor.max_bytes * 2, batch_bytes), _LARGEST_FETCH_BYTES))

    def _follow(self, cursor: Cursor, node: int) -> None:
        """Read from the nearest replica for a while (KIP-392)."""
        cursor.trust()
        if not self._move(cursor, node, self._clock.monotonic_ms() + self._config.metadata_max_age_ms):
            self._look_again(cursor)
            raise TransientSourceError(
                f"node {node} is the nearest replica, but has no address",
                source="kafka",
                split=cursor.split.split_id,
            )

    def _refused(self, cursor: Cursor, code: int) -> None:
        """A broker refuses to serve a partition: look for another broker, skip lost records, or fail."""
        split = cursor.split
        if code == _OFFSET_OUT_OF_RANGE and cursor.is_at_leader:
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
        cursor.trust()
        if cursor.is_at_leader and code not in _UNKNOWN_TOPIC and not metadata_is_stale(code):
            raise error
        self._look_again(cursor)
        raise TransientSourceError(
            error.message, source="kafka", split=split.split_id, position=cursor.position
        )

    def _look_again(self, cursor: Cursor) -> None:
        """Ask the cluster which broker leads the partition now, and forget the last answer."""
        self._leaders.forget([cursor.split.topic])
        cursor.lose_broker()
        cursor.trust()


def _corrupt(cursor: Cursor, what: str) -> CorruptRecordError:
    return CorruptRecordError(what, source="kafka", split=cursor.split.split_id, position=cursor.position)
