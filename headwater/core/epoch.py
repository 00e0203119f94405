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
from dataclasses import dataclass
from typing import Any, cast

from headwater.core.errors import ContractError, OffsetError, OptionError
from headwater.core.jsons import JsonObject, JsonValue, dumps
from headwater.core.source import Source
from headwater.core.split import Split, SplitPath

MOST_STATE_BYTES = 256 << 20
"""The largest state that is written.

What is in flight is bounded by the task's buffers, so more than this is a mistake.
"""

_VERSION = 1


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

    AT_LEAST_ONCE = "at-least-once"
    """The state is copied at the first barrier, nothing is blocked.

    What is emitted between the first and the last may come again after a failure.
    """


@dataclass(frozen=True, slots=True)
class Barrier:
    """Where a task cuts its epoch: at the limit that is reached first.

    Never before every split that is ready was fetched from once. Without any limit the epoch ends when all
    its splits are caught up or finished, those that were found in it included.

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
class SplitProgress:
    """How far a split was read.

    Attributes:
        split: which.
        position: the next record to read: after the last one that was emitted, or that is in flight.
        status: what is to be expected.
        not_before_ms: of a split that is caught up: for so long after the snapshot asking is useless or
            impolite. A duration, since clocks differ.
    """

    split: Split
    position: JsonValue
    status: SplitStatus = SplitStatus.MORE
    not_before_ms: int | None = None


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
class InFlight:
    """What was between fetching and emitting when the epoch was cut.

    It counts as read in this epoch, and is emitted first in the next one.

    Attributes:
        path: of which split; empty for requests, which belong to none.
        start: the position before the first of ``rows``: where a second reading of the same epoch stops.
        rows: Arrow batches of the source's schema, as one IPC stream; empty if there are none.
        requests: inputs of asynchronous calls without an answer yet. They are made again.
    """

    path: SplitPath
    start: JsonValue
    rows: bytes = b""
    requests: tuple[JsonValue, ...] = ()


@dataclass(frozen=True, slots=True)
class EpochState:
    """The state of one task at its barrier: how far it has read, and what it has not emitted yet.

    Attributes:
        progress: every split that the task was given, and those found in this epoch that were begun and are
            not finished.
        found: the log of the feedback loop: splits found in this epoch that were not begun. Those that were
            found and finished in this very epoch are nowhere: reading the epoch again finds and finishes them
            again.
        in_flight: see `InFlight`; at most one entry per split and ``start``.
        events: source events for the enumerator, in the order in which the reader sent them.
    """

    progress: tuple[SplitProgress, ...] = ()
    found: tuple[FoundSplit, ...] = ()
    in_flight: tuple[InFlight, ...] = ()
    events: tuple[JsonValue, ...] = ()

    def to_json(self, source: Source[Any, Any, Any]) -> JsonObject:
        """Return the state as JSON, its splits through the source's own serializer.

        Raises:
            ContractError: it is larger than `MOST_STATE_BYTES`.
        """
        splits = [p.split for p in self.progress] + [f.split for f in self.found]
        small: JsonObject = {
            "version": _VERSION,
            "splits": source.serialize_splits(splits),
            "progress": [
                [list(p.split.path), p.position, p.status.value, p.not_before_ms] for p in self.progress
            ],
            "found": [[list(f.split.path), f.start] for f in self.found],
            "events": list(self.events),
        }
        size_bytes = len(dumps(small)) + sum(
            len(held.rows) + len(dumps(list(held.requests))) for held in self.in_flight
        )
        if size_bytes > MOST_STATE_BYTES:
            raise ContractError(
                f"the state of one task of source {source.name} has {size_bytes} bytes: "
                "smaller splits, events or epochs are needed"
            )
        return {
            **small,
            "in_flight": [
                {
                    "path": list(held.path),
                    "start": held.start,
                    "rows": base64.b64encode(held.rows).decode(),
                    "requests": list(held.requests),
                }
                for held in self.in_flight
            ],
        }

    @classmethod
    def from_json(cls, source: Source[Any, Any, Any], value: JsonValue) -> EpochState:
        """Return what `to_json` wrote.

        Raises:
            OffsetError: it is something else, is cut short, or was written by a later version.
        """
        with _reading("the state of an epoch"):
            whole = cast("dict[str, Any]", value)
            if whole["version"] != _VERSION:
                raise OffsetError(
                    f"the state of an epoch has version {whole['version']}, and this headwater reads "
                    f"{_VERSION}: install a later one"
                )

            def path_of(names: list[str]) -> SplitPath:
                # Requests in flight belong to no split.
                return source.path_of(tuple(names)) if names else ()

            paths = [path_of(entry[0]) for entry in [*whole["progress"], *whole["found"]]]
            splits = source.deserialize_splits(paths, whole["splits"])
            return cls(
                tuple(
                    SplitProgress(splits[path_of(names)], position, SplitStatus(status), not_before_ms)
                    for names, position, status, not_before_ms in whole["progress"]
                ),
                tuple(FoundSplit(splits[path_of(names)], start) for names, start in whole["found"]),
                tuple(
                    InFlight(
                        path_of(entry["path"]),
                        entry["start"],
                        base64.b64decode(entry["rows"], validate=True),
                        tuple(entry["requests"]),
                    )
                    for entry in whole["in_flight"]
                ),
                tuple(whole["events"]),
            )


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Turn the errors of a malformed JSON value into one that says what was read."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise OffsetError(f"{what} is not what headwater writes: {type(error).__name__} {error}") from error
