"""What the outside knows of the times of records: the contract of a source that is aligned by event time."""

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
    """What the outside knows of times. Called on the worker thread; may block.

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
