"""Finds out what has become of records that no broker sends: lost, late, or never there."""

from __future__ import annotations

from headwater.core.clock import Clock
from headwater.core.errors import DataLossError, SourceError, TransientSourceError, UnknownSplitError
from headwater.core.reader import LossReporter
from headwater.enumerators.kafka.client.metadata import EARLIEST, LATEST
from headwater.readers.kafka.broker_fetcher import Cursor
from headwater.readers.kafka.leaders import Leaders, NoLeader
from headwater.readers.kafka.poll_timer import BELIEVED_AFTER_MS, PollTimer
from headwater.readers.runtime.loss_reports import LossReport, LossReports, log_once

_EARLIEST_LOCAL = -4
"""Stands for the first record on the broker's own disk; earlier ones may lie in tiered storage (KIP-405)."""


class LossDetector:
    """Decides whether records are lost, and whether that is an error. One per task, on its thread.

    Only what the brokers say is gone counts as lost. Gaps between offsets that compaction, transaction
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
        cursor.broker = None
        earliest = self._leaders.offset(cursor.split, EARLIEST)
        if cursor.position < earliest:
            until = min(earliest, cursor.stop)
            self._lost(
                cursor,
                cursor.position,
                until,
                f"the log now begins at offset {earliest}: retention or an administrator removed them",
            )
            cursor.position = until
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
        records, or by the marker of a transaction, is no loss: the leader sends what follows.

        Args:
            cursor: the partition, and how far it has been read.
            readable_until: how far this consumer may read at the moment, as the leader said.
        """
        if not self._is_believed(cursor, "silence"):
            return
        cursor.doubt = None
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
            cursor.position = cursor.stop

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
        cursor.position = cursor.stop

    def _is_believed(self, cursor: Cursor, what: str) -> bool:
        if cursor.doubt is None or cursor.doubt[0] != what:
            cursor.doubt = (what, self._timer.doubt())
        return self._clock.monotonic_ms() >= cursor.doubt[1]

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
        cursor.stop = first

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
