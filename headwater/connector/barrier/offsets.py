"""The offset of a source in barrier mode: it names an epoch, and everything that its tasks need to know.

::

    {"barrier": {"rows": 100000}, "due": {...}, "epoch": 7, "nonce": "5b0c...", "places": [[["items"]],
    [["items/1"]]], "query": "9f3e...",
     "restored": [[], [["9f3e.../epoch-0000000006-...", 1]]], "source": "http", "splits": {...}, "starts":
     {"items": {...}, ...}, "version": 1}

* ``query``: drawn once in the life of a checkpoint, the first folder below stateLocation;
* ``epoch`` and ``nonce``: the folder in that one. The nonce is drawn for each planned epoch, so that an epoch
  of the same number in another timeline (a checkpoint that was rolled back, two sinks on one frame) has
  another folder;
* ``starts``: of every live split, the position BEFORE this epoch: where it came to is in the manifests;
* ``places``: which task reads which splits. What is live and in no place is not due;
* ``due``: of splits that must not be asked yet, the driver's wall-clock time in ms at which they may;
* ``restored``: for each task, the manifests whose rows in flight it emits first;
* ``events``: for each task, what the enumerator sent to its reader;
* ``splits``, ``state``: as in planned mode (`headwater.connector.planned.offsets`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from headwater.connector.planned.offsets import VERSION, canonical_offset, check_offset, flatten, nest
from headwater.core.epoch import Barrier
from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.source import Source
from headwater.core.split import Path, Split

__all__ = ["EpochId", "EpochOffset", "EpochOffsetCodec", "ManifestRef"]

_RECENT = 4


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
    """A manifest of an earlier epoch: the epoch's folder and the number of the place."""

    folder: str
    place: int

    @property
    def epoch_number(self) -> int:
        """The number of that epoch."""
        return int(self.folder.rpartition("/")[2].split("-")[1])


@dataclass(frozen=True)
class EpochOffset:
    """An offset of barrier mode, decoded. See the module's description."""

    epoch: EpochId
    barrier: Barrier
    splits: Mapping[Path, Split]
    starts: Mapping[Path, Any]
    places: Sequence[tuple[Path, ...]]
    restored: Sequence[tuple[ManifestRef, ...]]
    events: Sequence[tuple[JsonValue, ...]]
    due_ms: Mapping[Path, int] = field(default_factory=dict)
    state: JsonValue = None


class EpochOffsetCodec:
    """Offsets of one source in barrier mode to Spark's JSON and back."""

    def __init__(self, source: Source[Any, Any, Any]) -> None:
        self._source = source
        self._recent: deque[tuple[JsonObject, EpochOffset]] = deque(maxlen=_RECENT)

    def genesis(self) -> JsonObject:
        """Return the constant that stands before the first epoch."""
        return {"source": self._source.name, "version": VERSION}

    def encode(self, offset: EpochOffset) -> JsonObject:
        """Return the canonical JSON of an offset."""
        encoded: JsonObject = {
            **self.genesis(),
            "query": offset.epoch.query,
            "epoch": offset.epoch.number,
            "nonce": offset.epoch.nonce,
            "barrier": offset.barrier.to_json(),
            "starts": nest(offset.starts),
            "places": [[list(path) for path in place] for place in offset.places],
        }
        if (
            definitions := self._source.serialize_splits(
                [offset.splits[path] for path in sorted(offset.splits)]
            )
        ) is not None:
            encoded["splits"] = definitions
        if any(offset.restored):
            encoded["restored"] = [[[ref.folder, ref.place] for ref in place] for place in offset.restored]
        if any(offset.events):
            encoded["events"] = [list(place) for place in offset.events]
        if offset.due_ms:
            encoded["due"] = nest(offset.due_ms)
        if offset.state is not None:
            encoded["state"] = offset.state
        encoded = canonical_offset(encoded, self._source.name)
        self._recent.append((encoded, offset))
        return encoded

    def decode(self, raw: JsonObject) -> EpochOffset | None:
        """Return the offset that Spark logged; None for the genesis.

        Raises:
            OffsetError: it was written by another source, by a newer version, in planned mode, or is no
                offset at all.
        """
        check_offset(raw, self._source.name)
        if raw.keys() == self.genesis().keys():
            return None
        for encoded, offset in self._recent:
            if encoded == raw:
                return offset
        try:
            offset = self._decode(cast("dict[str, Any]", raw))
        except (TypeError, AttributeError, KeyError, ValueError) as error:
            raise OffsetError(f"the checkpoint's offset cannot be read: {error!r}") from error
        self._recent.append((raw, offset))
        return offset

    def _decode(self, raw: dict[str, Any]) -> EpochOffset:
        starts = flatten(raw["starts"], self._source)
        places = [tuple(self._source.path_of(tuple(path)) for path in place) for place in raw["places"]]
        none: list[list[Any]] = [[] for _ in places]
        return EpochOffset(
            EpochId(raw["query"], raw["epoch"], raw["nonce"]),
            Barrier.from_json(raw["barrier"]),
            self._source.deserialize_splits(sorted(starts), raw.get("splits")),
            starts,
            places,
            [
                tuple(ManifestRef(folder, place) for folder, place in refs)
                for refs in raw.get("restored", none)
            ],
            [tuple(events) for events in raw.get("events", none)],
            flatten(raw.get("due", {}), self._source),
            raw.get("state"),
        )
