"""The words of barrier mode, and what its driver and its tasks write for each other, as JSON.

* An **epoch** is what one micro-batch of barrier mode reads: everything between two barriers.
* A **barrier** is the cut at the end of an epoch. Each task cuts its part of the epoch itself, when a limit
  of `Barrier` is reached: what is emitted before the barrier belongs to the epoch, everything else to a later
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

import base64
import enum
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from headwater.core.errors import ContractError, OffsetError, OptionError
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.source import Source
from headwater.core.split import Split, SplitPath

MOST_STATE_BYTES = 256 << 20
"""The largest state that is written.

What is in flight is bounded by the task's buffers, so more than this is a mistake.
"""

_VERSION = 3
"""Version 1 held found splits and rows in flight itself, version 2 requests of asynchronous calls as JSON.
Both are read as well, but for such requests."""


class AlignmentMode(enum.Enum):
    """What happens between the first and the last barrier that comes out of a task's channels.

    Flink's ``CheckpointingMode``, and its unaligned checkpoints.
    """

    ALIGNED = "aligned"
    """A channel whose barrier came is not read until all came.

    All that was fetched before the barrier is emitted in this epoch.
    """

    UNALIGNED = "unaligned"
    """The barrier overtakes what lies in the channels.

    What it overtook is stored with the state, and emitted first in the next epoch.
    """


@dataclass(frozen=True, slots=True)
class Barrier:
    """Where a task cuts its epoch: at the limit that is reached first.

    Then no further fetch begins, and those that are a split's first in the epoch finish; there is one at
    least. Splits that had no turn come first in the next epoch. Without any limit the epoch ends when all its
    splits are caught up or finished, those that were found in it included.

    Attributes:
        rows: so many rows were fetched by the task.
        row_bytes: so many bytes of Arrow rows were fetched by the task.
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
        """Return what `to_json` wrote.

        Raises:
            OffsetError: it is something else.
        """
        with _reading("a barrier"):
            return cls(**cast("dict[str, int]", value))


class SplitStatus(enum.Enum):
    """What a task knows about the future of a split at the end of an epoch."""

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
        reason: what the last failure said. Not in offsets.
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
        status: what is to be expected.
        not_before_ms: of a split that is caught up or paused: for so long after the snapshot asking is
            useless or impolite. A duration, since clocks differ.
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
        split: what was found.
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
    """What was between fetching and emitting when the epoch was cut.

    It counts as read in this epoch, and is emitted first in the next one.

    Attributes:
        path: of which split; empty for rows that were with asynchronous calls. They are asked again.
        start: the position before the first of ``rows``: where a second reading of the same epoch stops.
            None for rows with calls: they were emitted, and are told apart by their values.
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
    """The state of one task at its barrier: how far it has read, and what it has not emitted yet.

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
        taken: so many of the splits that waited for this task were taken, from the first one on.
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

    def to_json(self, source: Source[Any, Any, Any]) -> JsonObject:
        """Return the state as JSON, its splits through the source's own serializer.

        Raises:
            ContractError: it is larger than `MOST_STATE_BYTES`, or what belongs into objects of its own is
                still in it.
        """
        if self.found or any(held.rows for held in self.in_flight):
            raise ContractError("a state is written without its found splits and rows, which are put aside")
        whole: JsonObject = {
            "version": _VERSION,
            "splits": source.serialize_splits([entry.split for entry in self.progress]),
            "progress": [
                [list(p.split.path), p.position, p.status.value, p.not_before_ms, _failing_to_json(p.failing)]
                for p in self.progress
            ],
            "in_flight": [
                {
                    "path": list(held.path),
                    "start": held.start,
                    "rows": [held.stored.name, held.stored.first, held.stored.stop] if held.stored else None,
                }
                for held in self.in_flight
            ],
            "events": list(self.events),
            "taken": self.taken,
            "waiting": [waiting_to_json(piece) for piece in self.waiting],
            "unserved": self.unserved,
        }
        stored = (held.stored for held in self.in_flight if held.stored is not None)
        size_bytes = len(dumps(whole)) + sum(rows.stop - rows.first for rows in stored)
        if size_bytes > MOST_STATE_BYTES:
            raise ContractError(
                f"the state of one task of source {source.name} has {size_bytes} bytes: "
                "smaller splits, events or epochs are needed"
            )
        return whole

    @classmethod
    def from_json(cls, source: Source[Any, Any, Any], value: JsonValue) -> EpochState:
        """Return what `to_json` wrote.

        Raises:
            OffsetError: it is something else, is cut short, or was written by a later version.
        """
        with _reading("the state of an epoch"):
            whole = cast("dict[str, Any]", value)
            version = whole["version"]
            if version not in range(1, _VERSION + 1):
                raise OffsetError(
                    f"the state of an epoch has version {version}, and this headwater reads up to "
                    f"{_VERSION}: install a later one"
                )

            def path_of(names: list[str]) -> SplitPath:
                # Rows with calls belong to no split.
                return source.path_of(tuple(names)) if names else ()

            logged_found = whole["found"] if version == 1 else []
            paths = [path_of(entry[0]) for entry in [*whole["progress"], *logged_found]]
            splits = source.deserialize_splits(paths, whole["splits"])
            return cls(
                tuple(_progress(splits[path_of(entry[0])], *entry[1:]) for entry in whole["progress"]),
                tuple(FoundSplit(splits[path_of(names)], start) for names, start in logged_found),
                tuple(_in_flight(path_of(entry["path"]), entry) for entry in whole["in_flight"]),
                tuple(whole["events"]),
                whole["taken"] if version > 1 else 0,
                tuple(waiting_from_json(piece) for piece in (whole["waiting"] if version > 1 else ())),
                # Manifests that were written before there were turns do not say it.
                whole.get("unserved", 0),
            )


def _progress(
    split: Split, position: JsonValue, status: str, not_before_ms: int | None, failing: Any = None
) -> SplitProgress:
    trouble = None if failing is None else Failing(*failing)
    return SplitProgress(split, position, SplitStatus(status), not_before_ms, trouble)


def _failing_to_json(failing: Failing | None) -> JsonValue:
    return None if failing is None else [failing.failures, failing.lasting_ms, failing.reason]


def waiting_to_json(piece: WaitingSplits) -> JsonValue:
    """Return how manifests and offsets name splits that wait."""
    return [piece.segment, piece.first, piece.stop]


def waiting_from_json(value: Any) -> WaitingSplits:
    """Return what `waiting_to_json` wrote."""
    segment, first, stop = value
    return WaitingSplits(segment, first, stop)


def _in_flight(path: SplitPath, entry: dict[str, Any]) -> InFlight:
    rows = entry["rows"]
    if entry.get("requests"):  # up to version 2
        raise OffsetError(
            "the state of an epoch holds requests of asynchronous calls in the form of an earlier headwater: "
            "go back to the version that wrote it, let the query end with barrierMode=aligned, and come back"
        )
    if isinstance(rows, str):  # version 1
        return InFlight(path, entry["start"], base64.b64decode(rows, validate=True))
    return InFlight(path, entry["start"], stored=None if rows is None else StoredRows(*rows))


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Turn the errors of a malformed JSON value into one that says what was read."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise OffsetError(f"{what} is not what headwater writes: {type(error).__name__} {error}") from error
