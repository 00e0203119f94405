"""The offset of a source in barrier mode: it names an epoch, and everything that its tasks need to know.

::

    {"barrier": {"rows": 100000}, "due": {...}, "epoch": 7, "nonce": "5b0c...",
     "places": [[["items"]], [["items/1"]]], "query": "9f3e...",
     "restored": [[], [["9f3e.../epoch-0000000006-...", 1]]], "source": "http", "splits": {...},
     "starts": {"items": {...}, ...}, "version": 2, "waiting": [[["0000000006-00001-...", 100, 5000]], []]}

* ``query``: drawn once in the life of a checkpoint, the first folder below stateLocation;
* ``epoch`` and ``nonce``: the folder in that one. The nonce is drawn for each planned epoch, so that an epoch
  of the same number in another timeline (a checkpoint that was rolled back, two sinks on one frame) has
  another folder;
* ``starts``: of every live split, the position BEFORE this epoch: where it came to is in the manifests. A
  split that was found is live once a task has begun with it;
* ``waiting``: for each task, the found splits that no task has begun with, as parts of segments in the state
  location. So the offset stays small, however many are found;
* ``places``: for each task, the splits that it reads. A live split that no task reads is not due;
* ``due``: of splits that must not be asked yet, the driver's wall-clock time in ms at which they may;
* ``failing``: of splits that made no progress since the outside failed: how often they were asked in vain,
  and for how many ms of running time;
* ``restored``: for each task, the manifests whose rows in flight it emits first;
* ``events``: for each task, the events that the enumerator sent to its reader;
* ``fronts``: with ``maxEventTimeSkew``, of each split that holds others back, the time to which it has come
  in ms since 1970, null where that is not known;
* ``inFlight``: with `maxEventTimeSkew`, the earliest time of the rows of ``restored``. Absent if there are
  none;
* ``schema``: the meaning of the source's rows (`Source.logged_schema`). Absent if the source says
  nothing;
* ``splits``, ``state``, ``source``, ``version``: see `OffsetCodec`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headwater.connector.coordination.offset_codec import OffsetCodec, flatten, nest
from headwater.core.epoch import Barrier, Failing, WaitingSplits
from headwater.core.epoch_json import waiting_from_json, waiting_to_json
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.split import Split, SplitPath
from headwater.readers.runtime.epoch.event_time import OTHERS


@dataclass(frozen=True, slots=True)
class EpochId:
    """Which epoch, of which query, in which timeline."""

    query: str
    number: int
    nonce: str

    @property
    def folder(self) -> str:
        """Where its claims and manifests lie, below stateLocation."""
        return f"{self.query}/epoch-{self.number:010d}-{self.nonce}"


@dataclass(frozen=True, slots=True, order=True)
class ManifestRef:
    """A manifest of an earlier epoch: the epoch's folder and the number of the task that wrote it."""

    folder: str
    task: int

    @property
    def epoch_number(self) -> int:
        """The number of that epoch."""
        return int(self.folder.rpartition("/")[2].split("-")[1])


@dataclass(frozen=True)
class EpochOffset:
    """An offset of barrier mode, decoded. See the module's description."""

    epoch: EpochId
    barrier: Barrier
    splits: Mapping[SplitPath, Split]
    starts: Mapping[SplitPath, Any]
    tasks: Sequence[tuple[SplitPath, ...]]
    restored: Sequence[tuple[ManifestRef, ...]]
    events: Sequence[tuple[JsonValue, ...]]
    waiting: Sequence[tuple[WaitingSplits, ...]]
    due_ms: Mapping[SplitPath, int] = field(default_factory=dict)
    failing: Mapping[SplitPath, Failing] = field(default_factory=dict)
    fronts: Mapping[SplitPath, int | None] | None = None
    state: JsonValue = None
    schema: JsonValue = None


class EpochOffsetCodec(OffsetCodec[EpochOffset]):
    """Offsets of one source in barrier mode to Spark's JSON and back.

    Version 1 had no ``waiting``: every split that was found was live.
    """

    version: ClassVar[int] = 2

    def _to_json(self, offset: EpochOffset) -> JsonObject:
        fields: JsonObject = {
            "query": offset.epoch.query,
            "epoch": offset.epoch.number,
            "nonce": offset.epoch.nonce,
            "barrier": offset.barrier.to_json(),
            "starts": nest(offset.starts),
            "places": [[list(path) for path in paths] for paths in offset.tasks],
        }
        if any(offset.restored):
            fields["restored"] = [[[ref.folder, ref.task] for ref in refs] for refs in offset.restored]
        if any(offset.waiting):
            fields["waiting"] = [[waiting_to_json(part) for part in pieces] for pieces in offset.waiting]
        if any(offset.events):
            fields["events"] = [list(events) for events in offset.events]
        if offset.due_ms:
            fields["due"] = nest(offset.due_ms)
        if offset.failing:
            failing: dict[SplitPath, JsonValue] = {
                path: [failing.failures, failing.lasting_ms] for path, failing in offset.failing.items()
            }
            fields["failing"] = nest(failing)
        if offset.fronts is not None:
            fields["fronts"] = nest({path: at_ms for path, at_ms in offset.fronts.items() if path != OTHERS})
            if OTHERS in offset.fronts:
                fields["inFlight"] = offset.fronts[OTHERS]
        if offset.schema is not None:
            fields["schema"] = offset.schema
        return fields

    def _from_json(self, raw: dict[str, Any]) -> EpochOffset:
        starts = flatten(raw["starts"], self._source)
        tasks = [tuple(self._source.path_of(tuple(path)) for path in paths) for paths in raw["places"]]
        none: list[list[Any]] = [[] for _ in tasks]
        return EpochOffset(
            epoch=EpochId(raw["query"], raw["epoch"], raw["nonce"]),
            barrier=Barrier.from_json(raw["barrier"]),
            splits=self._source.deserialize_splits(sorted(starts), raw.get("splits")),
            starts=starts,
            tasks=tasks,
            restored=[
                tuple(ManifestRef(folder, task) for folder, task in refs)
                for refs in raw.get("restored", none)
            ],
            waiting=[
                tuple(waiting_from_json(part) for part in pieces) for pieces in raw.get("waiting", none)
            ],
            events=[tuple(events) for events in raw.get("events", none)],
            due_ms=flatten(raw.get("due", {}), self._source),
            failing={
                path: Failing(*failing)
                for path, failing in flatten(raw.get("failing", {}), self._source).items()
            },
            fronts=self._fronts(raw),
            state=raw.get("state"),
            schema=raw.get("schema"),
        )

    def _fronts(self, raw: dict[str, Any]) -> dict[SplitPath, int | None] | None:
        if "fronts" not in raw:
            return None
        fronts: dict[SplitPath, int | None] = flatten(raw["fronts"], self._source)
        if "inFlight" in raw:
            fronts[OTHERS] = raw["inFlight"]
        return fronts
