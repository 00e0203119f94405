"""The offset: what one entry of Spark's offset log says about a source.

A person can read it, and paste its ``positions`` as Kafka's ``startingOffsets``::

    {"positions": {"orders": {"0": 120, "1": 80}}, "source": "kafka", "splits": {...}, "starts": {"orders":
    {"1": 30}}, "state": {...}, "version": 1}

* ``positions``: of every live split, the next record after this batch;
* ``starts``: of every split that the offset before did not hold, the position BEFORE this batch. Spark logs
  only ends, and the first batch has none before it: with the start inside the end, a replayed batch needs
  nothing but the log;
* ``splits``: the definitions of the live splits, as the source writes them;
* ``state``: the enumerator's own.

An offset without ``positions`` is the genesis: nothing has been resolved yet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, cast

from headwater.core.enumerator import Checkpoint
from headwater.core.errors import ContractError, OffsetError
from headwater.core.jsons import JsonObject, JsonValue, canonical
from headwater.core.outside import MOST_ENUMERATOR_STATE_BYTES, check_json
from headwater.core.reader import RecordT
from headwater.core.source import Source
from headwater.core.split import Path, PositionT, SplitRange, SplitT

__all__ = ["VERSION", "OffsetCodec", "SourceOffset", "canonical_offset", "check_offset", "flatten", "nest"]

VERSION = 1
_RECENT = 4


@dataclass(frozen=True)
class SourceOffset(Generic[SplitT, PositionT]):
    """An offset, decoded. See the module's description."""

    splits: Mapping[Path, SplitT]
    positions: Mapping[Path, PositionT]
    starts: Mapping[Path, PositionT] = field(default_factory=dict)
    state: JsonValue = None

    def checkpoint(self) -> Checkpoint[SplitT, PositionT]:
        """Return what an enumerator may know of this offset."""
        return Checkpoint(self.splits, self.positions, self.state)

    def ranges_since(
        self, before: SourceOffset[SplitT, PositionT] | None
    ) -> list[SplitRange[SplitT, PositionT]]:
        """Return what the batch that ends here reads.

        A pure function of the two offsets, in the order of the paths.

        Raises:
            OffsetError: a split has no start in either offset: the log was tampered with, or cut.
        """
        ranges = []
        for path in sorted(self.positions):
            if path in self.starts:
                start = self.starts[path]
            elif before is not None and path in before.positions:
                start = before.positions[path]
            else:
                raise OffsetError(
                    f"the offset log does not say where the batch begins for split {'-'.join(path)}"
                )
            if start != self.positions[path]:
                ranges.append(SplitRange(self.splits[path], start, self.positions[path]))
        return ranges


class OffsetCodec(Generic[RecordT, SplitT, PositionT]):
    """Offsets of one source to Spark's JSON and back.

    Keeps the last few in both forms: Spark hands back what it was given, several times.
    """

    def __init__(self, source: Source[RecordT, SplitT, PositionT]) -> None:
        self._source = source
        self._recent: deque[tuple[JsonObject, SourceOffset[SplitT, PositionT]]] = deque(maxlen=_RECENT)

    def genesis(self) -> JsonObject:
        """Return the constant that stands before the first batch.

        No split, no I/O, the same in every process.
        """
        return {"source": self._source.name, "version": VERSION}

    def encode(self, offset: SourceOffset[SplitT, PositionT]) -> JsonObject:
        """Return the canonical JSON of an offset: equal offsets are equal texts."""
        splits = [offset.splits[path] for path in sorted(offset.splits)]
        encoded: JsonObject = {**self.genesis(), "positions": nest(offset.positions)}
        if (definitions := self._source.serialize_splits(splits)) is not None:
            encoded["splits"] = definitions
        if offset.starts:
            encoded["starts"] = nest(offset.starts)
        if offset.state is not None:
            encoded["state"] = offset.state
        encoded = canonical_offset(encoded, self._source.name)
        self._recent.append((encoded, offset))
        return encoded

    def encode_positions(self, positions: Mapping[Path, PositionT]) -> JsonObject:
        """Return positions in the form of an offset, for progress reports; never logged, never decoded."""
        return cast("JsonObject", canonical({**self.genesis(), "positions": nest(positions)}))

    def decode(self, raw: JsonObject) -> SourceOffset[SplitT, PositionT] | None:
        """Return the offset that Spark logged; None for the genesis.

        Raises:
            OffsetError: it was written by another source, by a newer version of headwater, or is no offset at
                all.
        """
        check_offset(raw, self._source.name)
        if "positions" not in raw:
            return None
        for encoded, offset in self._recent:
            if encoded == raw:
                return offset
        offset = self._decode(raw)
        self._recent.append((raw, offset))
        return offset

    def _decode(self, raw: JsonObject) -> SourceOffset[SplitT, PositionT]:
        try:
            positions: dict[Path, PositionT] = flatten(raw["positions"], self._source)
            starts: dict[Path, PositionT] = flatten(raw.get("starts", {}), self._source)
        except (TypeError, AttributeError) as error:
            raise OffsetError(f"the checkpoint's offset cannot be read: {error}") from error
        splits = self._source.deserialize_splits(sorted(positions), raw.get("splits"))
        return SourceOffset(splits, positions, starts, raw.get("state"))


def canonical_offset(encoded: JsonObject, source: str) -> JsonObject:
    """Return the canonical form of an offset that is about to be logged.

    Raises:
        ContractError: a position, a definition or the enumerator's state is not JSON, or the state is too
            large.
    """
    check_json(
        encoded.get("state"),
        f"SplitEnumerator.snapshot_state: the state of source {source!r}",
        MOST_ENUMERATOR_STATE_BYTES,
    )
    try:
        return cast("JsonObject", canonical(encoded))
    except TypeError as error:
        wrong = ", ".join(name for name, part in encoded.items() if not _is_json(part))
        raise ContractError(
            f"source {source!r}: {wrong} of its offset must be JSON (Split, Source.serialize_splits): {error}"
        ) from error


def _is_json(value: JsonValue) -> bool:
    try:
        canonical(value)
    except TypeError:
        return False
    return True


def check_offset(raw: JsonObject, source: str) -> None:
    """Return if a logged offset was written by this source, and by no newer version.

    Raises:
        OffsetError: it was not.
    """
    if not isinstance(raw, dict) or "source" not in raw or "version" not in raw:
        raise OffsetError(
            f"the checkpoint holds an offset that headwater did not write ({str(raw)[:200]}); "
            "it belongs to another source: use a new checkpointLocation"
        )
    if raw["source"] != source:
        raise OffsetError(
            f"the checkpoint belongs to the source {raw['source']!r}, not to {source!r}: go back to that source or use a new checkpointLocation"
        )
    version = raw["version"]
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise OffsetError(
            f"the checkpoint's offset has version {version!r}; this headwater reads versions 1 to {VERSION}: "
            "install the headwater that wrote it, or a newer one"
        )


def nest(flat: Mapping[Path, PositionT]) -> JsonObject:
    """``{("orders", "0"): 5}`` -> ``{"orders": {"0": 5}}``."""
    nested: JsonObject = {}
    for path, value in flat.items():
        node = nested
        for name in path[:-1]:
            node = cast("JsonObject", node.setdefault(name, {}))
        node[path[-1]] = value
    return nested


def flatten(nested: JsonValue, source: Source[Any, Any, Any]) -> dict[Path, Any]:
    """The inverse of `nest` for the paths of a source; a position below may itself be an object.

    Paths of an earlier version of the source come out as those of this one.
    """
    level: dict[Path, JsonValue] = {(): nested}
    for _ in range(source.path_depth):
        level = {
            (*path, name): value
            for path, node in level.items()
            for name, value in cast("JsonObject", node).items()
        }
    return {source.path_of(path): position for path, position in level.items()}
