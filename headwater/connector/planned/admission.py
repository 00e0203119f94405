"""Admission control: how far the next batch goes, given what there is and what is allowed.

Spark hands over at most one limit and knows no combination; the source keeps its limits itself and shares the
budget among its splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.core.clock import Clock


@dataclass(frozen=True, kw_only=True)
class ReadLimits:
    """The limits of one query.

    Attributes:
        max_rows: no batch is planned for more records than this (``maxOffsetsPerTrigger``).
        max_bytes: nor for more bytes, as far as they can be estimated (``maxBytesPerTrigger``).
        min_rows: a batch waits until this many records are there ...
        max_delay_ms: ... or until this much time has passed since the last batch.
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
        self._last_batch_ms = clock.monotonic_ms()

    def admit(
        self, backlog: Sequence[int], row_bytes: Sequence[int], *, limited: bool, wait_for_more: bool
    ) -> list[int]:
        """Return how many records to take of each split; all zero for "no batch now".

        Args:
            backlog: the records there are, per split.
            row_bytes: the estimated size of one record, per split.
            limited: whether the maximums count (they do not under ``Trigger.Once``).
            wait_for_more: whether the minimum counts (it does not where Spark would take "nothing now" for
                the end).
        """
        total = sum(backlog)
        if wait_for_more and self._too_few(total):
            return [0] * len(backlog)
        if total:
            self._last_batch_ms = self._clock.monotonic_ms()
        taken = list(backlog)
        if limited and self._limits.max_rows is not None:
            taken = share_budget(taken, self._limits.max_rows)
        if limited and self._limits.max_bytes is not None:
            in_bytes = share_budget(
                [rows * size for rows, size in zip(taken, row_bytes, strict=True)], self._limits.max_bytes
            )
            taken = [
                min(rows, max(1, budget // size))
                for rows, size, budget in zip(taken, row_bytes, in_bytes, strict=True)
            ]
        return taken

    def _too_few(self, total: int) -> bool:
        if self._limits.min_rows is None or total >= self._limits.min_rows:
            return False
        return self._clock.monotonic_ms() - self._last_batch_ms < self._limits.max_delay_ms


def share_budget(backlog: Sequence[int], budget: int) -> list[int]:
    """Share a budget among splits in proportion to their backlog, and starve none.

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
