"""Alignment by event time: the contract of a source that looks up times of records, and the settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.core.split import SplitPath


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """When the records of a split were made: the first one that is there, and the latest one.

    Attributes:
        first: the position of the first record.
        first_ms: its time, in ms since 1970.
        last_ms: the largest time of all records.
    """

    first: int
    first_ms: int
    last_ms: int


class TimeIndex(ABC):
    """Looks up times of records. Called on the worker thread; may block.

    Errors are those of `SplitEnumeratorContext.call_async`.
    """

    @abstractmethod
    def first_at(self, paths: Sequence[SplitPath], time_ms: int) -> Mapping[SplitPath, int]:
        """Return the position of the first record of each split at or after a time.

        A split without such a record is left out.
        """

    def spans(self, paths: Sequence[SplitPath]) -> Mapping[SplitPath, TimeSpan]:
        """Return the times of the first and of the last record of splits. Only guesses depend on it.

        In one round of requests. The default knows none.
        """
        return {}


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
