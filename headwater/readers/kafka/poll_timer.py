"""How long a task waits for records in vain before it fails, and how long between two attempts."""

from __future__ import annotations

import threading

from headwater.core.clock import Clock
from headwater.core.errors import TransientSourceError
from headwater.core.retry import Backoff
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.readers.kafka.broker_fetcher import Cursor

BELIEVED_AFTER_MS = 3_000
"""An answer that would mean loss is believed when the brokers have repeated it for this long.

Metadata and high watermarks reach the brokers one by one, so a single answer may be stale.
"""

_MOST_DOUBTING_MS = 3 * BELIEVED_AFTER_MS
"""Doubts prolong the time-out by no more: answers that change all the time would never end it."""


class PollTimer:
    """Counts the time that a task has spent asking without progress. One per task, on its thread.

    Only time inside of `KafkaSplitReader.fetch` counts. The time that Spark takes to consume rows does not,
    because the clock starts with the first attempt after progress.

    A loss is more than a time-out: it has an exact range, and may be no error at all. So while an answer that
    would mean loss waits to be believed, the time-out waits too, even if it is shorter than that.

    Args:
        config: ``reconnect.backoff.ms`` is the wait after the first failure; it doubles with each further one
            up to ``reconnect.backoff.max.ms``.
        poll_timeout_ms: ``kafkaConsumer.pollTimeoutMs``.
        clock: time.
    """

    def __init__(self, config: ClientConfig, poll_timeout_ms: int, clock: Clock) -> None:
        self._backoff = Backoff(
            deadline_ms=poll_timeout_ms,
            first_ms=config.reconnect_backoff_ms,
            most_ms=config.reconnect_backoff_max_ms,
            jitter=0,
        )
        self._clock = clock
        self._attempt_ms = config.request_timeout_ms + config.fetch_max_wait_ms
        self._never = threading.Event()
        self._since_ms: int | None = None
        self._believed_at_ms: int | None = None
        self._retry_at_ms = 0
        self._failures = 0
        self._failure: TransientSourceError | None = None

    def begin(self) -> None:
        """An attempt begins. The first one after progress starts the clock."""
        if self._since_ms is None:
            self._since_ms = self._clock.monotonic_ms()

    def end(self) -> None:
        """There was progress."""
        self._since_ms = None
        self._believed_at_ms = None
        self._failures = 0
        self._failure = None

    def doubt(self) -> int:
        """An answer came that would mean loss. Return when it is believed, if it is repeated until then.

        The time-out waits for that, and for one more attempt.
        """
        self._believed_at_ms = self._clock.monotonic_ms() + BELIEVED_AFTER_MS
        return self._believed_at_ms

    def failed(self, failure: TransientSourceError) -> None:
        """Something failed for a passing reason; `is_due` says when to try it again.

        In one attempt several brokers may fail. They count as one failure, and do not prolong the wait.
        """
        self._failure = failure
        if self.is_due:
            now_ms = self._clock.monotonic_ms()
            self._failures += 1
            self._retry_at_ms = now_ms + self._backoff.wait_ms(self._failures)
            # A doubt has to be asked about again when it may be believed, however long the wait is by now.
            if self._believed_at_ms is not None and now_ms < self._believed_at_ms:
                self._retry_at_ms = min(self._retry_at_ms, self._believed_at_ms)

    @property
    def is_due(self) -> bool:
        """Whether the wait after the last failure is over."""
        return self._clock.monotonic_ms() >= self._retry_at_ms

    @property
    def left_ms(self) -> int:
        """How much longer to wait for progress, at least 0."""
        if self._since_ms is None:
            return self._backoff.deadline_ms
        ends_ms = self._since_ms + self._backoff.deadline_ms
        if self._believed_at_ms is not None:
            doubts_end_ms = min(self._believed_at_ms + self._attempt_ms, ends_ms + _MOST_DOUBTING_MS)
            ends_ms = max(ends_ms, doubts_end_ms)
        return max(0, ends_ms - self._clock.monotonic_ms())

    def wait(self, cursor: Cursor) -> None:
        """Called after an attempt that brought nothing: sit out the wait after a failure, if there was one.

        Args:
            cursor: one of the partitions that are waited for, for the error.

        Raises:
            TransientSourceError: the poll time-out has passed.
        """
        if not self.left_ms:
            raise self._timed_out(cursor)
        if not self.is_due:
            self._clock.wait(self._never, min(self.left_ms, self._retry_at_ms - self._clock.monotonic_ms()))

    def _spent_ms(self) -> int:
        return 0 if self._since_ms is None else self._clock.monotonic_ms() - self._since_ms

    def _timed_out(self, cursor: Cursor) -> TransientSourceError:
        return TransientSourceError(
            f"nothing could be fetched for {self._spent_ms()} ms (kafkaConsumer.pollTimeoutMs): "
            f"{self._reason(cursor)}",
            source="kafka",
            split=cursor.split.split_id,
            position=cursor.position,
        )

    def _reason(self, cursor: Cursor) -> str:
        if self._failure is not None:
            return self._failure.message
        if cursor.end < 0:
            return "its broker does not answer"
        said = f"its broker sends nothing, and says that it can be read up to offset {cursor.end}"
        return f"{said}; an open transaction holds back what follows" if cursor.end < cursor.stop else said
