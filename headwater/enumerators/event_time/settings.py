"""What the user asks for of alignment by event time. Needs no library: the driver checks options with it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AlignmentSettings:
    """How batches are aligned.

    Attributes:
        max_skew_ms: how far apart in time splits may be at the end of a batch.
        delay_ms: that of the query's watermark; rows of a split that is found late are late beyond it.
        fail_on_late_split: whether such rows are an error.
        idle_timeout_ms: for how long a split that is read to its end holds back the others; None: not at all.
    """

    max_skew_ms: int
    delay_ms: int
    fail_on_late_split: bool
    idle_timeout_ms: int | None = None
