"""How large batches are made so that they take as long as the user wants (``targetBatchDuration``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.core.redaction import logger_of

log = logger_of(__name__)

FIRST_BATCH_BYTES: Final = 1 << 20
"""The estimated size of a run's first batch: nothing is known of the query yet."""

_FULL: Final = 0.7
"""A batch that has less than this part of its limit was not ended by it."""

_MOST_GROWTH: Final = 10.0
_LEAST: Final = 0.05
"""A batch is at most so many times as large as the one before, and at least this part of it."""

_DAMPING: Final = 0.7
"""Damping exponent: new = old * (target / actual) ** 0.7. It closes 97 % of a step in three batches; a single
batch that took long for other reasons costs two smaller ones."""

_CAUTIOUS_GROWTH: Final = 1.1
"""For the first batch after an exact one whose time hides in the wait for the trigger."""
_HIDDEN_GROWTH: Final = 1.5
"""For further hidden batches."""
_PROBING_GROWTH: Final = 2.0
"""For hidden batches while there was no exact one yet."""


@dataclass(frozen=True, kw_only=True)
class TargetDuration:
    """The setting of the user.

    Attributes:
        target_ms: how long a batch should take.
        checkpoint: the query's ``checkpointLocation``, in which Spark's log tells how long a batch took; None
            if it is not known.
        trigger_interval_ms: that of the query's trigger, 0 for none; None if it is not known.
    """

    target_ms: int
    checkpoint: str | None
    trigger_interval_ms: int | None


@dataclass(frozen=True)
class BatchDuration:
    """How long a batch took.

    Attributes:
        duration_ms: the time.
        is_exact: false if the time may include waiting for the trigger, so it is only an upper bound.
    """

    duration_ms: float
    is_exact: bool


class BatchSize:
    """How many records a batch may have. Belongs to Spark's one thread.

    The number of records is multiplied by (target / actual time) ** 0.7. While batches take less than half of
    the target, it is multiplied by the whole quotient. A batch that was not ended by its
    limit says how fast rows are only if it took longer than the target; otherwise the size stays.

    Where only a bound of the time is known, batches become larger until one takes longer than the trigger's
    interval, which shows exactly: a little at first, and by half where that does not help.

    Splits that are read whole, such as files, seldom fill a batch: it counts as ended by its limit if another
    one as large as its largest would not have fit.

    The size is in memory only: a run begins cautiously.

    Args:
        target_ms: how long a batch should take.
    """

    def __init__(self, target_ms: int) -> None:
        self._target_ms = target_ms
        self._rows: int | None = None
        self._probes = True
        # How many batches in a row were hidden by the wait.
        self._hidden = 0

    @property
    def rows(self) -> int | None:
        """The most records of the next batch; None for `FIRST_BATCH_BYTES`."""
        return self._rows

    def learn(self, rows: int, duration: BatchDuration, *, largest: int = 0) -> None:
        """Learn from a batch.

        Args:
            rows: how many records it had; more than 0.
            duration: how long.
            largest: how many the largest of its splits has that are read whole; 0 if it has none.
        """
        limit = self._rows
        # Its rows if splits had filled it.
        filled = rows if limit is None else max(rows, min(rows + largest, limit))
        off = self._target_ms / max(1.0, duration.duration_ms)
        # In the first batch processes are started: if it took too long, that says nothing about the cost of
        # rows.
        starts = limit is None and off < 1
        if duration.is_exact:
            self._hidden = 0
            self._probes = self._probes and starts
        if starts and duration.is_exact:
            size = rows * max(0.5, off)
        elif off < 1 and duration.is_exact:
            size = max(_LEAST * rows, _damped(filled, rows * off))
        elif limit is not None and filled < _FULL * limit:
            return
        elif not duration.is_exact:
            self._hidden += 1
            again = _CAUTIOUS_GROWTH if self._hidden == 1 else _HIDDEN_GROWTH
            size = max(limit or 0, filled * (_PROBING_GROWTH if self._probes else again))
        elif off > 2:
            size = rows * min(_MOST_GROWTH, off)
        else:
            # A batch that had a little less than it might have had is no reason for less.
            size = max(_damped(filled, rows * off), min(rows * off, limit or 0))
        self._rows = max(1, round(size))
        log.debug(
            "a batch of %d rows took %.0f ms: the next one may have %d",
            rows,
            duration.duration_ms,
            self._rows,
        )


def _damped(size: float, right: float) -> float:
    """Return a size that goes a part of the way to the right one."""
    return float(size * (right / size) ** _DAMPING)
