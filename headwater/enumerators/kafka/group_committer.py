"""Positions committed to a consumer group, so that Kafka's own tools show the lag of a query."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import HeadwaterError, TransientSourceError
from headwater.core.redaction import logger_of
from headwater.core.retry import Backoff
from headwater.core.split import SplitPath
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.cluster import Cluster
from headwater.enumerators.kafka.client.consumer_group import ConsumerGroup
from headwater.enumerators.kafka.client.metadata import TopicPartition

log = logger_of(__name__)

_RENEW_MS: Final = 3_600_000
_PATIENCE_MS: Final = 5_000
_LONGEST_REQUEST_MS: Final = 10_000
_SHORTEST_PAUSE_MS: Final = 1_000
_PAUSE_FACTOR: Final = 20
_AFTER_FAILURE: Final = Backoff(deadline_ms=0, first_ms=100, most_ms=10_000)
_AFTER_REFUSAL_MS: Final = 30_000
_WARN_AFTER_MS: Final = 5_000
_WARN_EVERY_MS: Final = 60_000
_CLOSE_MS: Final = 1_000


class GroupCommitter:
    """Commits the positions of committed batches to a consumer group, beside the query.

    Flink's Kafka source does the same when a checkpoint is complete. Nothing depends on it: no position is
    read back, no method raises, and only `flush` waits. It has a thread and connections of its own, which
    begin with the first `commit`.

    Only the newest positions count, so nothing piles up: those that Kafka has not taken when newer ones come
    are never sent. After a failure it asks again, later and later, with one warning a minute if that lasts
    for more than five seconds, until Kafka takes the positions or the process ends.

    To spare the driver, the pause after a commit is at least a second, and twenty times as long as the commit
    took; and only changed positions are sent. All positions are sent once an hour, because Kafka forgets
    those of a group without members that are not renewed (``offsets.retention.minutes``, by default a week).

    `commit`, `flush` and `close` may be called from any thread.

    Args:
        config: how to reach the cluster.
        group: the group's name; it must have no members.
        clock: for the length of pauses and for the warnings.
        renew_ms: how often all positions are sent.
        patience_ms: how long all calls of `flush` together may wait.
    """

    def __init__(
        self,
        config: ClientConfig,
        group: str,
        clock: Clock | None = None,
        *,
        renew_ms: int = _RENEW_MS,
        patience_ms: int = _PATIENCE_MS,
    ) -> None:
        longest_ms = min(config.request_timeout_ms, _LONGEST_REQUEST_MS)
        self._config = replace(config, request_timeout_ms=longest_ms, default_api_timeout_ms=longest_ms)
        self._group = group
        self._clock = clock or SystemClock()
        self._renew_ms = renew_ms
        # Guards the fields up to the thread, which the callers share with it.
        self._changed = threading.Condition()
        self._positions: Mapping[SplitPath, int] = {}
        # Positions are counted: the newest that were given, that Kafka has taken, and that it has refused.
        self._newest = 0
        self._taken = 0
        self._refused = 0
        self._is_urgent = False
        self._is_closed = False
        self._patience_ms = patience_ms
        self._thread: threading.Thread | None = None
        # Of the thread alone.
        self._failures = 0
        self._failing_since_ms = 0
        self._warned_ms: int | None = None

    def commit(self, positions: Mapping[SplitPath, int]) -> None:
        """Take the positions of all splits after a committed batch. Does not wait.

        Args:
            positions: must not change afterwards.
        """
        with self._changed:
            if self._is_closed:
                return
            self._positions = positions
            self._newest += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="headwater-group-commits", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until Kafka has taken or refused the newest positions, five seconds in all calls together."""
        began_ms = self._clock.monotonic_ms()
        with self._changed:
            self._is_urgent = True
            self._changed.notify_all()
            is_settled = self._changed.wait_for(self._has_settled, self._patience_ms / 1000)
            self._is_urgent = False
            self._patience_ms -= min(self._patience_ms, self._clock.monotonic_ms() - began_ms)
        if not is_settled:
            log.warning(
                "consumer group %r: the last positions have not been committed in time; "
                "they are committed when the query is started again",
                self._group,
            )

    def close(self) -> None:
        """End the thread and close the connections. Waits for a second at the most.

        A request that is not answered yet ends with its time-out, and the connections are closed then.
        """
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            thread = self._thread
        # Without the lock, which the thread needs to end.
        if thread is not None:
            thread.join(_CLOSE_MS / 1000)

    def _run(self) -> None:
        cluster = Cluster(self._config, self._clock)
        group = ConsumerGroup(cluster, self._group)
        committed: dict[TopicPartition, int] = {}
        renew_at_ms = self._clock.monotonic_ms() + self._renew_ms
        try:
            while self._wait_for_positions(renew_at_ms):
                began_ms = self._clock.monotonic_ms()
                if began_ms >= renew_at_ms:
                    committed.clear()
                    renew_at_ms = began_ms + self._renew_ms
                failure = self._send(group, committed)
                self._pause(self._pause_after(failure, self._clock.monotonic_ms() - began_ms))
        finally:
            cluster.close()

    def _wait_for_positions(self, renew_at_ms: int) -> bool:
        """Wait for newer positions, or until all must be renewed; return False when the thread is to end."""
        left_ms = max(0, renew_at_ms - self._clock.monotonic_ms())
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._taken < self._newest, left_ms / 1000)
            return not self._is_closed

    def _send(self, group: ConsumerGroup, committed: dict[TopicPartition, int]) -> Exception | None:
        """Commit the newest positions, as far as they are not committed; return why it failed."""
        with self._changed:
            positions = self._positions
            number = self._newest
        offsets = {TopicPartition(topic, int(index)): at for (topic, index), at in positions.items()}
        changed = {tp: offset for tp, offset in offsets.items() if committed.get(tp) != offset}
        failure: Exception | None = None
        try:
            group.commit(changed)
        # Any error: this thread must not end, and must not disturb the query.
        except Exception as error:  # noqa: BLE001
            failure = error
        else:
            committed.update(changed)
        self._log(failure)
        with self._changed:
            if failure is None:
                self._taken = number
            elif not isinstance(failure, TransientSourceError):
                self._refused = number
            self._changed.notify_all()
        return failure

    def _pause_after(self, failure: Exception | None, took_ms: int) -> int:
        if failure is None:
            return max(_SHORTEST_PAUSE_MS, _PAUSE_FACTOR * took_ms)
        if isinstance(failure, TransientSourceError):
            return _AFTER_FAILURE.wait_ms(self._failures)
        return _AFTER_REFUSAL_MS

    def _pause(self, pause_ms: int) -> None:
        """Wait so long, or until `close` is called, or `flush` waits for positions."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_closed or (self._is_urgent and not self._has_settled()), pause_ms / 1000
            )
            # Once: while `flush` waits, what fails is not repeated without a pause.
            self._is_urgent = False

    def _has_settled(self) -> bool:
        return self._is_closed or max(self._taken, self._refused) >= self._newest

    def _log(self, failure: Exception | None) -> None:
        if failure is None:
            if self._failures:
                log.info("consumer group %r: positions are committed again", self._group)
            self._failures = 0
            return
        now_ms = self._clock.monotonic_ms()
        if not self._failures:
            self._failing_since_ms = now_ms
        self._failures += 1
        # Failures that pass are ordinary for some seconds: the coordinator of a group is found and loaded
        # first, and moves when its broker is restarted.
        failing_ms = now_ms - self._failing_since_ms
        is_ordinary = isinstance(failure, TransientSourceError) and failing_ms < _WARN_AFTER_MS
        warned_ms = self._warned_ms
        is_due = not is_ordinary and (warned_ms is None or now_ms - warned_ms >= _WARN_EVERY_MS)
        if is_due:
            self._warned_ms = now_ms
        log.log(
            logging.WARNING if is_due else logging.DEBUG,
            "consumer group %r: positions are not committed, and tools show an old lag; the query goes on, "
            "and this is tried again: %s",
            self._group,
            failure if isinstance(failure, HeadwaterError) else repr(failure),
        )
