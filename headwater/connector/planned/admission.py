"""Admission control: how far the next batch goes, given what there is and what is allowed.

Spark hands over at most one limit and knows no combination; the source keeps its limits itself and shares the
budget among its splits. Limits of rows are kept as Spark's own Kafka source keeps them
(``KafkaMicroBatchStream``), so that a query that changes its source has the same batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headwater.core.clock import Clock


@dataclass(frozen=True, kw_only=True)
class ReadLimits:
    """The limits of one query.

    Attributes:
        max_rows: how many records a batch is planned for at the most, but for the one of each split that
            keeps it from starving (``maxOffsetsPerTrigger``).
        max_bytes: nor for more bytes, as far as they can be estimated (``maxBytesPerTrigger``).
        min_rows: a batch waits until this many records are there ...
        max_delay_ms: ... or until this much time has passed since this clock was last set: when a batch had
            enough records, or was due. The first batch of a run does not wait.
        max_files: no batch has more files than this; a source of bounded splits keeps this limit, and that of
            bytes, itself.
    """

    max_rows: int | None = None
    max_bytes: int | None = None
    min_rows: int | None = None
    max_delay_ms: int = 15 * 60 * 1000
    max_files: int | None = None


class Admission:
    """Decides how many records of each split the next batch takes. Belongs to the coordinator's thread."""

    def __init__(self, limits: ReadLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._clock_set_ms: int | None = None

    def admit(
        self,
        backlog: Sequence[int],
        row_bytes: Callable[[], Sequence[int]],
        *,
        limited: bool,
        wait_for_more: bool,
    ) -> list[int]:
        """Return how many records to take of each split; all zero for "no batch now".

        Args:
            backlog: the records there are, per split.
            row_bytes: returns the estimated size of one record, per split; called only where bytes are
                limited.
            limited: whether the maximums count (they do not under ``Trigger.Once``).
            wait_for_more: whether the minimum counts (it does not where Spark would take "nothing now" for
                the end).
        """
        if wait_for_more and self._too_few(sum(backlog)):
            return [0] * len(backlog)
        taken = list(backlog)
        if limited and self._limits.max_rows is not None:
            taken = share_rows(taken, self._limits.max_rows)
        if limited and self._limits.max_bytes is not None:
            sizes = row_bytes()
            in_bytes = share_budget(
                [rows * size for rows, size in zip(taken, sizes, strict=True)], self._limits.max_bytes
            )
            taken = [
                min(rows, max(1, budget // size))
                for rows, size, budget in zip(taken, sizes, in_bytes, strict=True)
            ]
        return taken

    def _too_few(self, total: int) -> bool:
        """Whether the batch has to wait; if not, set the clock again.

        As in Spark's ``delayBatch`` a batch that is due sets it even if there is nothing to read, and the
        first batch of a run is always due: a restart must not hold back what was waiting already.
        """
        if self._limits.min_rows is None:
            return False
        now_ms = self._clock.monotonic_ms()
        due = self._clock_set_ms is None or now_ms - self._clock_set_ms >= self._limits.max_delay_ms
        if not due and total < self._limits.min_rows:
            return True
        self._clock_set_ms = now_ms
        return False


def share_rows(backlog: Sequence[int], budget: int) -> list[int]:
    """Share a budget of rows among splits in proportion to their backlog, as Spark's ``rateLimit`` does.

    A share is rounded down, but one below 1 is 1, so that no split starves: the sum may be below the budget,
    and above it where there are many small shares. The arithmetic is that of Spark, double precision and the
    order of the operations included.
    """
    total = float(sum(backlog))
    shares = []
    for size in backlog:
        share = budget * (size / total) if size else 0.0
        shares.append(min(size, math.ceil(share) if share < 1 else math.floor(share)))
    return shares


def share_budget(backlog: Sequence[int], budget: int) -> list[int]:
    """Share a budget of bytes among splits in proportion to their backlog, and starve none.

    Every split with a backlog gets at least 1, even if that exceeds the budget. Otherwise the shares add up
    to exactly the budget, or to the whole backlog if that is less; what rounding leaves over goes to the
    largest remainders.
    """
    if sum(backlog) <= budget:
        return list(backlog)
    shares = [min(1, size) for size in backlog]
    spare = budget - sum(shares)
    if spare <= 0:
        return shares
    rest = [size - share for size, share in zip(backlog, shares, strict=True)]
    total = sum(rest)
    shares = [share + size * spare // total for share, size in zip(shares, rest, strict=True)]
    by_remainder = sorted(range(len(rest)), key=lambda at: -(rest[at] * spare % total))
    for at in by_remainder[: budget - sum(shares)]:
        shares[at] += 1
    return shares
