"""How long a task waits for records that do not come, and whether they are lost."""

from __future__ import annotations

import threading

from headwater.core.clock import Clock
from headwater.core.errors import DataLossError, SourceError, TransientSourceError, UnknownSplitError
from headwater.core.reader import LossReporter
from headwater.core.retry import Backoff
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST
from headwater.readers.kafka.cursor import Cursor
from headwater.readers.kafka.leaders import Leaders, NoLeader
from headwater.readers.runtime.loss_reports import LossReport, LossReports, log_once

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
        reason = f"its broker sends nothing, and says that it can be read up to offset {cursor.end}"
        return (
            f"{reason}; an open transaction holds back what follows" if cursor.end < cursor.stop else reason
        )


_EARLIEST_LOCAL = -4
"""Stands for the first record on the broker's own disk; earlier ones may lie in tiered storage (KIP-405)."""


class LossDetector:
    """Decides whether records are lost, and whether that is an error. One per task, on its thread.

    Only records that the brokers call gone count as lost. Gaps between offsets that compaction, transaction
    markers and aborted records leave are no loss.

    Every method may raise:
        DataLossError: records are lost, and that is to be an error.
        TransientSourceError: the cluster cannot say now; ask again.

    Args:
        leaders: finds the ends of the logs.
        timer: gives an answer that would mean loss the time to be repeated.
        clock: time.
        fail_on_data_loss: whether loss is an error, or a report and a smaller batch.

    Attributes:
        report: is told of losses that are no error.
    """

    def __init__(self, leaders: Leaders, timer: PollTimer, clock: Clock, *, fail_on_data_loss: bool) -> None:
        self._leaders = leaders
        self._timer = timer
        self._clock = clock
        self._fail_on_data_loss = fail_on_data_loss
        self.report: LossReporter = LossReports(None)

    def out_of_range(self, cursor: Cursor) -> None:
        """The leader says that there is no such offset: go to the first one left, or to the end."""
        cursor.lose_broker()
        earliest = self._leaders.offset(cursor.split, EARLIEST)
        if cursor.position < earliest:
            until = min(earliest, cursor.stop)
            self._lost(
                cursor,
                cursor.position,
                until,
                f"the log now begins at offset {earliest}: retention or an administrator removed them",
            )
            cursor.advance(until)
            return
        end = self._leaders.offset(cursor.split, LATEST)
        if end < cursor.position and self._is_believed(cursor, "out of range"):
            self._cut_off(cursor, end)
            return
        raise TransientSourceError(
            f"its leader calls offset {cursor.position} out of range, "
            f"though the log begins at {earliest} and ends at {end}",
            source="kafka",
            split=cursor.split.split_id,
        )

    def silence(self, cursor: Cursor, readable_until: int) -> None:
        """The leader sent nothing for this partition, and nothing for any other either.

        Either the log ends before our stop, or there is a gap up to the stop, or the records are late.

        A gap up to the stop is skipped with a warning, because nothing proves it. A gap that is followed by
        records, or by the marker of a transaction, is no loss: the leader sends the records behind it.

        Args:
            cursor: the partition, and how far it has been read.
            readable_until: how far this consumer may read at the moment, as the leader said.
        """
        if not self._is_believed(cursor, "silence"):
            return
        cursor.trust()
        end = self._leaders.offset(cursor.split, LATEST)
        if end < cursor.stop:
            self._cut_off(cursor, end)
        elif readable_until >= cursor.stop and self._is_local(cursor):
            reason = (
                f"were skipped: the broker sends nothing for {BELIEVED_AFTER_MS} ms, though it says that the "
                f"log goes on to offset {readable_until}. "
                "Compaction can leave such a gap at the end of a log, and so can damage to it"
            )
            log_once(LossReport.of(cursor.split, cursor.position, cursor.stop, reason))
            cursor.skip_to_stop()

    def missing(self, cursor: Cursor, why: NoLeader) -> None:
        """The cluster does not know the partition, or knows another incarnation of its topic.

        For a range with open ends that is an error whatever ``failOnDataLoss`` says, as it is when a batch is
        planned.

        Raises:
            UnknownSplitError: the range has open ends.
        """
        if not self._is_believed(cursor, "missing"):
            return
        split = cursor.split
        if cursor.open is not None:
            raise UnknownSplitError(
                f"topic {split.topic!r}, partition {split.partition} is not there any more: {why.value}. "
                "Load the DataFrame again",
                source="kafka",
                split=split.split_id,
            )
        self._lost(cursor, cursor.position, cursor.stop, why.value)
        cursor.skip_to_stop()

    def _is_believed(self, cursor: Cursor, reason: str) -> bool:
        believed_at_ms = cursor.doubt(reason, self._timer.doubt)
        return self._clock.monotonic_ms() >= believed_at_ms

    def _is_local(self, cursor: Cursor) -> bool:
        """Whether records from the cursor's position on would lie on the leader's own disk.

        If they may lie in tiered storage, an empty answer may only mean that tiered storage is slow.
        """
        try:
            return cursor.position >= self._leaders.offset(cursor.split, _EARLIEST_LOCAL)
        except TransientSourceError:
            raise
        except SourceError:  # a broker that does not know this kind of offset has no tiered storage
            return True

    def _cut_off(self, cursor: Cursor, end: int) -> None:
        """End the range where the log ends, which is before the stop that was asked for."""
        first = max(end, cursor.position)
        what = (
            f"the log now ends at offset {end}: it was truncated, or created anew, "
            "or the end that was asked for lies beyond it"
        )
        self._lost(cursor, first, cursor.stop, what)
        cursor.cut_off(first)

    def _lost(self, cursor: Cursor, first: int, until: int, what: str) -> None:
        """Fail or report, as ``failOnDataLoss`` says; either way name the range that is gone."""
        split = cursor.split
        if self._fail_on_data_loss:
            raise DataLossError(
                f"topic {split.topic!r}, partition {split.partition}, offsets {first} to {until - 1} "
                f"were lost: {what}. Set failOnDataLoss=false to go on with what is there",
                source="kafka",
                split=split.split_id,
                position=first,
            )
        self.report(split, first, until, f"were lost: {what}; going on")
