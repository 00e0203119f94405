"""The words of barrier mode. The states of tasks are stored as JSON: `headwater/core/epoch_json.py`.

* An **epoch** is one micro-batch of barrier mode: everything between two barriers.
* A **barrier** is the cut at the end of an epoch. Each task cuts its part of the epoch itself, when a limit
  of `Barrier` is reached: rows emitted before the barrier belong to the epoch, everything else to a later
  one.
* A **checkpoint** is the durable state at a barrier: the entry of Spark's offset log that names the epoch,
  together with the manifests in which its tasks wrote down how far they came (`EpochState`). It is complete
  once Spark has committed the batch and the manifest of every task is collected.

::

    offset log      n                 n + 1
                    |                 |
    rows       -----[----- epoch n ---]--- epoch n + 1 ---
                                      |
                             barrier and checkpoint n

Planned mode has checkpoints too (each entry of the offset log is one), but no epochs and no barriers: there
the position at the end of a batch is known before it is read.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from headwater.core.errors import OffsetError, OptionError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.split import Split, SplitPath


class AlignmentMode(enum.Enum):
    """The treatment of channels between the first and the last barrier that comes out of them.

    Flink's ``CheckpointingMode``, and its unaligned checkpoints.
    """

    ALIGNED = "aligned"
    """A channel whose barrier came is not read until all came.

    All that was fetched before the barrier is emitted in this epoch.
    """

    UNALIGNED = "unaligned"
    """The barrier overtakes the content of the channels.

    Overtaken rows are stored with the state, and emitted first in the next epoch.
    """


@dataclass(frozen=True, slots=True)
class Barrier:
    """Where a task cuts its epoch: at the limit that is reached first.

    Then no further fetch begins, and those that are a split's first in the epoch finish; there is one at
    least. Splits that had no turn come first in the next epoch. Without any limit the epoch ends when all its
    splits are caught up or finished, those that were found in it included.

    Attributes:
        rows: the number of rows that the task fetches.
        row_bytes: the bytes of Arrow rows that the task fetches.
        duration_ms: so much monotonic time has passed since the task's first fetch.
    """

    rows: int | None = None
    row_bytes: int | None = None
    duration_ms: int | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "row_bytes", "duration_ms"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                raise OptionError(f"must be at least 1, not {limit}", option=name)

    def to_json(self) -> JsonObject:
        """Return the limits that are set."""
        limits = {"rows": self.rows, "row_bytes": self.row_bytes, "duration_ms": self.duration_ms}
        return {name: limit for name, limit in limits.items() if limit is not None}

    @classmethod
    def from_json(cls, value: JsonValue) -> Barrier:
        """Return the value that `to_json` wrote.

        Raises:
            OffsetError: it is something else.
        """
        with reading_json("a barrier"):
            return cls(**cast("dict[str, int]", value))


class SplitStatus(enum.Enum):
    """The future of a split, as far as its task knows it, at the end of an epoch."""

    MORE = "more"
    """There was more to read when the barrier came: due at once."""

    CAUGHT_UP = "caught-up"
    """Nothing now; more may come. Due at `SplitProgress.not_before_ms`, or at the next trigger."""

    FINISHED = "finished"
    """Read to its end for good."""


@dataclass(frozen=True, slots=True)
class Failing:
    """The outside was asked for a split in vain since its last progress.

    Attributes:
        failures: how often.
        lasting_ms: since the first of these failures, as long as the query was running. Time in which it was
            down does not count.
        reason: the text of the last failure. Not in offsets.
    """

    failures: int
    lasting_ms: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SplitProgress:
    """How far a split was read.

    Attributes:
        split: which.
        position: the next record to read: after the last one that was emitted, or that is in flight.
        status: whether more is to be expected.
        not_before_ms: of a split that is caught up or paused: minimum time after the snapshot before it is
            polled again. A duration, since clocks differ.
        failing: of a split that made no progress since it failed. Two attempts that read the same may differ
            in it.
    """

    split: Split
    position: JsonValue
    status: SplitStatus = SplitStatus.MORE
    not_before_ms: int | None = None
    failing: Failing | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class FoundSplit:
    """A split that was found while another one was read.

    Attributes:
        split: the split that was found.
        start: its first record.
    """

    split: Split
    start: JsonValue


@dataclass(frozen=True, slots=True)
class WaitingSplits:
    """Found splits that no task has begun with: a part of a segment in the state location.

    Attributes:
        segment: its name, in the query's folder for segments.
        first: the number of the first split in the segment.
        stop: the number behind the last one.
    """

    segment: str
    first: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows that lie in an object beside the manifest.

    Attributes:
        name: of the object, in the folder of the epoch.
        first: its first byte in the object.
        stop: the byte behind the last one.
    """

    name: str
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class InFlight:
    """Rows between fetching and emitting when the epoch was cut.

    It counts as read in this epoch, and is emitted first in the next one.

    Attributes:
        path: of which split; empty for rows that were with asynchronous calls. They are asked again.
        start: the position before the first of ``rows``: where a second reading of the same epoch stops.
            None for rows with calls: they were emitted, and are distinguished by their values.
        rows: Arrow batches of the source's schema, as one IPC stream; empty if they are ``stored``. Rows with
            calls have more columns, which tell of their calls.
        stored: where the rows are, in a state that is written or was read and not filled in.
    """

    path: SplitPath
    start: JsonValue
    rows: bytes = b""
    stored: StoredRows | None = None


@dataclass(frozen=True, slots=True)
class EpochState:
    """The state of one task at its barrier: how far it has read, and the rows that it has not emitted yet.

    Found splits and rows in flight may be many. They lie in objects of their own, which a written state only
    names: a driver passes the names on, and tasks read the objects
    (`headwater/readers/runtime/epoch/state_parts.py`).

    Attributes:
        progress: every split that the task was given, and those found in this epoch that were begun and are
            not finished. In the order in which they are to have their next turns.
        found: the log of the feedback loop: splits found in this epoch, or taken from those that waited, that
            were not begun. Those that were found and finished in this very epoch are nowhere: reading the
            epoch again finds and finishes them again. Empty in a state that is written.
        in_flight: see `InFlight`; at most one entry per split and ``start``.
        events: source events for the enumerator, in the order in which the reader sent them.
        taken: how many of the splits that waited for this task were taken, from the first one on.
        waiting: where ``found`` is, in a state that is written.
        unserved: how many of ``progress``, from the first one on, had no turn in this epoch.
    """

    progress: tuple[SplitProgress, ...] = ()
    found: tuple[FoundSplit, ...] = ()
    in_flight: tuple[InFlight, ...] = ()
    events: tuple[JsonValue, ...] = ()
    taken: int = 0
    waiting: tuple[WaitingSplits, ...] = ()
    unserved: int = 0


@contextmanager
def reading_json(what: str) -> Iterator[None]:
    """Turn the errors of a malformed JSON value into one that names the stored object."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise OffsetError(f"{what} is not what headwater writes: {type(error).__name__} {error}") from error
