"""The offset of planned mode: the part of an entry in Spark's offset log that is about a source.

A person can read it, and paste its ``positions`` as Kafka's ``startingOffsets``::

    {"ends": {"condition": {"key": "end"}, "since": {"orders": {"0": 90}}, "splits": {"orders": {"1": 80}}},
     "kept": {"returns": {"0": {"position": 7, "since_ms": 1795000000000, "split": {...}}}},
     "losses": {"at_least_rows": 0, "ranges": [{"found": "planning", "first": 10, "split": "orders-1",
     "time_ms": 1795000000000, "until": 30}], "rows": 20},
     "positions": {"orders": {"0": 120, "1": 80}}, "source": "kafka", "splits": {...},
     "starts": {"orders": {"1": 30}}, "state": {...}, "version": 2}

* ``positions``: of every live split, the next record after this batch;
* ``starts``: of every split that the offset before did not hold, the position BEFORE this batch. Spark logs
  only ends, and the first batch has none before it: with the start inside the end, a replayed batch needs
  nothing but the log;
* ``ends``: of a source whose splits may end at a record (`PlannedSource.end_condition`): by which condition
  this batch is read; the splits that have ended, with their positions, which are right behind that record;
  and ``since``: where the ranges of this batch begin, as far as ``starts`` does not say it. From these the
  next plan finds out which splits ended in this batch. Absent where splits do not end;
* ``kept``: of every split that is unavailable, the position at which it goes on later, its own definition,
  and since when. Absent if there is none;
* ``losses``: the losses of the query up to this batch (`Losses`), with ``splits`` if whole splits were not
  read. Absent if that is nothing;
* ``notes``: the folder of the query's task notes at the state location. Absent if the source has none;
* ``schema``: the meaning of the source's rows (`Source.logged_schema`). Absent if there is none;
* ``splits``, ``state``, ``source``, ``version``: see `OffsetCodec`.

Version 1 had neither ``kept`` nor ``losses``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, ClassVar, Final, Generic, Protocol, cast

from headwater.connector.coordination.offset_codec import OffsetCodec, SplitSerializer, flatten, nest
from headwater.core.enumerator import Checkpoint, KeptSplit
from headwater.core.errors import DataLossError, OffsetError
from headwater.core.jsons import JsonObject, JsonValue, canonical
from headwater.core.losses import NO_LOSSES, Losses
from headwater.core.planned_source import PlannedSource
from headwater.core.reader import RecordT
from headwater.core.redaction import logger_of
from headwater.core.split import PositionT, SplitPath, SplitRange, SplitT

MOST_KEPT: Final = 10_000
KEPT_MS: Final = 30 * 24 * 60 * 60 * 1000
log = logger_of(__name__)


@dataclass(frozen=True)
class LoggedEnds(Generic[PositionT]):
    """The ``ends`` of an offset. See the module's description."""

    condition: JsonValue
    splits: AbstractSet[SplitPath] = frozenset()
    since: Mapping[SplitPath, PositionT] = field(default_factory=dict)


class AdoptingSplitSerializer(SplitSerializer, Protocol):
    """The members of a source that the form of a planned offset needs; see `PlannedSource`."""

    def adopt_offset(self, logged: JsonValue) -> Mapping[Any, Any] | None: ...


@dataclass(frozen=True)
class PlannedOffset(Generic[SplitT, PositionT]):
    """An offset of planned mode, decoded. See the module's description.

    ``adopted``: whether another source logged it (`PlannedSource.adopt_offset`).
    """

    splits: Mapping[SplitPath, SplitT]
    positions: Mapping[SplitPath, PositionT]
    starts: Mapping[SplitPath, PositionT] = field(default_factory=dict)
    state: JsonValue = None
    kept: Mapping[SplitPath, KeptSplit[SplitT, PositionT]] = field(default_factory=dict)
    losses: Losses = NO_LOSSES
    schema: JsonValue = None
    ends: LoggedEnds[PositionT] | None = None
    adopted: bool = False
    notes: str | None = None

    @property
    def ended(self) -> AbstractSet[SplitPath]:
        """The splits that have ended at a record, as far as this offset knows."""
        return self.ends.splits if self.ends is not None else frozenset()

    def checkpoint(self) -> Checkpoint[SplitT, PositionT]:
        """Return the part of this offset that an enumerator may see."""
        return Checkpoint(self.splits, self.positions, self.state, self.kept, self.ended)

    def ranges_of(self, ends: LoggedEnds[PositionT]) -> list[SplitRange[SplitT, PositionT]]:
        """Return the ranges of the batch that ends here, those in which splits may have ended."""
        starts = {**ends.since, **self.starts}
        return [
            SplitRange(self.splits[path], start, self.positions[path])
            for path, start in sorted(starts.items(), key=_path)
            if path not in ends.splits and start != self.positions[path]
        ]

    def ranges_since(
        self, start_offset: PlannedOffset[SplitT, PositionT] | None
    ) -> list[SplitRange[SplitT, PositionT]]:
        """Return the ranges of the batch that ends here.

        A pure function of the two offsets, in the order of the paths.

        Raises:
            OffsetError: a split has no start in either offset: the log was tampered with, or cut.
        """
        starts = self.starts
        if start_offset is not None:
            starts = {**start_offset.positions, **starts} if starts else start_offset.positions
        splits = self.splits
        ranges = []
        for path, stop in sorted(self.positions.items(), key=_path):
            try:
                start = starts[path]
            except KeyError:
                raise OffsetError(
                    f"the offset log does not say where the batch begins for split {'-'.join(path)}"
                ) from None
            if start != stop:
                ranges.append(SplitRange(splits[path], start, stop))
        return ranges


_path: Callable[[tuple[SplitPath, object]], SplitPath] = itemgetter(0)


class PlannedOffsetCodec(OffsetCodec[PlannedOffset[SplitT, PositionT]], Generic[SplitT, PositionT]):
    """Offsets of one source in planned mode to Spark's JSON and back."""

    version: ClassVar[int] = 2

    def __init__(self, source: AdoptingSplitSerializer) -> None:
        super().__init__(source)
        self._adopt_offset = source.adopt_offset

    def encode_report(
        self, heads: Mapping[SplitPath, PositionT], fronts_ms: Mapping[SplitPath, int]
    ) -> JsonObject:
        """Return heads in the form of an offset, for progress reports; never logged, never decoded.

        Args:
            heads: where splits end.
            fronts_ms: up to which event time they are read, where that is known.
        """
        report: JsonObject = {**self.genesis(), "positions": nest(heads)}
        if fronts_ms:
            report["fronts_ms"] = nest(fronts_ms)
        return cast("JsonObject", canonical(report))

    def _to_json(self, offset: PlannedOffset[SplitT, PositionT]) -> JsonObject:
        fields: JsonObject = {"positions": nest(offset.positions)}
        if offset.starts:
            fields["starts"] = nest(offset.starts)
        if offset.kept:
            fields["kept"] = nest({path: self._kept_to_json(split) for path, split in offset.kept.items()})
        if offset.losses != NO_LOSSES:
            fields["losses"] = offset.losses.to_json()
        if offset.schema is not None:
            fields["schema"] = offset.schema
        if offset.notes is not None:
            fields["notes"] = offset.notes
        if offset.ends is not None:
            fields["ends"] = self._ends_to_json(offset.ends, offset.positions)
        return fields

    def _adopt(self, raw: JsonValue) -> PlannedOffset[SplitT, PositionT]:
        adopted = self._adopt_offset(raw)
        if adopted is None:
            return super()._adopt(raw)
        splits = {split.path: split for split in adopted}
        positions = {split.path: position for split, position in adopted.items()}
        return PlannedOffset(splits, positions, adopted=True)

    def _from_json(self, raw: dict[str, Any]) -> PlannedOffset[SplitT, PositionT]:
        positions: dict[SplitPath, PositionT] = flatten(raw["positions"], self._source)
        starts: dict[SplitPath, PositionT] = flatten(raw.get("starts", {}), self._source)
        splits = self._source.deserialize_splits(sorted(positions), raw.get("splits"))
        unavailable = {
            path: self._kept_from_json(path, entry)
            for path, entry in flatten(raw.get("kept", {}), self._source).items()
        }
        losses = Losses.from_json(raw["losses"]) if "losses" in raw else NO_LOSSES
        ends = self._ends_from_json(raw["ends"]) if "ends" in raw else None
        return PlannedOffset(
            splits,
            positions,
            starts,
            raw.get("state"),
            unavailable,
            losses,
            raw.get("schema"),
            ends,
            notes=raw.get("notes"),
        )

    def _ends_to_json(
        self, ends: LoggedEnds[PositionT], positions: Mapping[SplitPath, PositionT]
    ) -> JsonObject:
        fields: JsonObject = {"condition": ends.condition}
        if ends.splits:
            fields["splits"] = nest({path: positions[path] for path in sorted(ends.splits)})
        if ends.since:
            fields["since"] = nest(ends.since)
        return fields

    def _ends_from_json(self, raw: dict[str, Any]) -> LoggedEnds[PositionT]:
        return LoggedEnds(
            raw["condition"],
            frozenset(flatten(raw.get("splits", {}), self._source)),
            flatten(raw.get("since", {}), self._source),
        )

    def _kept_to_json(self, entry: KeptSplit[SplitT, PositionT]) -> JsonObject:
        # Each with its own definition: two partitions of one topic may be kept of different incarnations.
        fields: JsonObject = {"position": entry.position, "since_ms": entry.since_ms}
        definition = self._source.serialize_splits([entry.split])
        if definition is not None:
            fields["split"] = definition
        return fields

    def _kept_from_json(self, path: SplitPath, entry: dict[str, Any]) -> KeptSplit[SplitT, PositionT]:
        split = self._source.deserialize_splits([path], entry.get("split"))[path]
        return KeptSplit(split, entry["position"], entry["since_ms"])


def adopted_batch(
    source: PlannedSource[RecordT, SplitT, PositionT],
    start_offset: PlannedOffset[SplitT, PositionT] | None,
    end_offset: PlannedOffset[SplitT, PositionT],
) -> PlannedOffset[SplitT, PositionT]:
    """Return the end of an adopted batch with its starts, which the other source did not log.

    Args:
        source: the source.
        start_offset: the offset before the batch; None if the log has none.
        end_offset: the adopted offset.

    Raises:
        OffsetError: the batch is the source's first one: where it begins is not in the offset log.
        DataLossError: see `PlannedSource.adopted_starts`.
    """
    if start_offset is None:
        raise OffsetError(
            "the checkpoint holds the first batch of another source, which is logged and not committed. "
            "Where it begins stands in files of that source, which headwater cannot see. Start the query "
            "once more with that source, for example with trigger(availableNow=True), let it commit that, "
            "and change the source then"
        )
    return replace(end_offset, starts=source.adopted_starts(start_offset.positions, end_offset.positions))


def within_limits(
    splits: Mapping[SplitPath, KeptSplit[SplitT, PositionT]], now_ms: int, *, source: str, forgets: bool
) -> Mapping[SplitPath, KeptSplit[SplitT, PositionT]]:
    """Return those that may stay in the offset: those of the last 30 days, and the newest 10,000 of them.

    Called for an offset that is going to be logged.

    Args:
        splits: all of them.
        now_ms: the driver's wall-clock time in ms since 1970.
        source: the source's name.
        forgets: whether the others are forgotten, with a warning that names the count.

    Raises:
        DataLossError: there are others, and they may not be forgotten.
    """
    young = {path: each for path, each in splits.items() if now_ms - each.since_ms < KEPT_MS}
    newest = sorted(young, key=lambda path: (-young[path].since_ms, path))[:MOST_KEPT]
    stay = {path: young[path] for path in newest}
    too_many = [path for path in sorted(splits) if path not in stay]
    if not too_many:
        return splits
    examples = ", ".join("-".join(path) for path in too_many[:5]) + (", ..." if len(too_many) > 5 else "")
    problem = (
        f"the positions of {len(too_many)} splits that are unavailable cannot be kept any longer (30 days, "
        f"and {MOST_KEPT} splits, are the most): {examples}"
    )
    if not forgets:
        raise DataLossError(
            f"{problem}. Bring them back, or deselect them by option; with failOnDataLoss=false they are "
            "forgotten, and begin anew should they come back",
            source=source,
        )
    log.warning("source %s: %s; they are forgotten, and begin anew should they come back", source, problem)
    return stay
