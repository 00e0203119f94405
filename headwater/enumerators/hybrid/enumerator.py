"""The split enumerator of a chain: runs that of the current part, and goes on to the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

from headwater.core.enumerator import (
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitRequest,
    UnassignedSplits,
)
from headwater.core.errors import OffsetError, OptionError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.metrics import MetricValues
from headwater.core.planned_source import EndPositions, PartEnd, PlannedSource
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.hybrid.part import HybridPart, OpenPart, PartContext, part_checkpoint
from headwater.enumerators.hybrid.split import (
    HybridPosition,
    HybridSplit,
    PositionSwitchPoint,
    SwitchPoint,
    TimeSwitchPoint,
    furthest,
    inner_path,
    inner_position,
)

log = logger_of(__name__)

_TOPIC_AND_PARTITION: Final = 2


class HybridSplitEnumerator(PlannedSplitEnumerator[HybridSplit, HybridPosition]):
    """Flink's ``HybridSourceSplitEnumerator``, for parts in planned mode.

    The life of a part that is not the last one:

    1. Its enumerator is made when the part before it is read to its end, in the round that found this.
    2. It is asked for splits as in a query that ends: records that are there at its first complete look are
       read, and later ones are not.
    3. A round in which it has no split to give, and all that it gave are read to their ends, is its last:
       its splits are retired, and the next part begins in the same round. So one offset logs both, and a
       driver that is killed there finds one or the other.

    Where limits do not count, the next part also begins when this one has given all its splits: a batch read
    is planned once.

    Ends of splits that have positions are fixed at the first look of the part and logged; files are read
    whole. The logged state of the current part is its own; a plan that is not logged is forgotten with it.

    Args:
        context: the coordinator.
        parts: the chain.
        seam: where the last part begins; None if its own options say it.
        is_batch: whether all parts are planned in one round.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[HybridSplit, HybridPosition],
        parts: Sequence[HybridPart],
        seam: SwitchPoint | None,
        *,
        is_batch: bool,
    ) -> None:
        self._context = context
        self._parts = parts
        self._seam = seam
        self._is_batch = is_batch
        self._open: list[OpenPart] = []
        self._checkpoint: Checkpoint[HybridSplit, HybridPosition] | None = None
        # Where the splits of the current part end for good; None until its first look, or if it is the last.
        self._ends: dict[SplitPath, HybridPosition] | None = None
        self._heads: dict[SplitPath, HybridPosition] | None = None
        # Where the parts that were read end, as far as they tell it, if the last one begins there.
        self._told: EndPositions = {}

    def start(self) -> None:
        """Nothing to do: the first `refresh` opens the part."""

    def refresh(self, checkpoint: Checkpoint[HybridSplit, HybridPosition] | None) -> None:
        self._checkpoint = checkpoint
        self._heads = None
        if checkpoint is None:
            # Also where a plan that went on to a later part never came to be logged.
            if not self._open or self._current.index:
                self._begin(0)
            open_part = self._current
            open_part.context.assigned.clear()
            open_part.enumerator.refresh(None)
            return
        self._open_part_of(checkpoint)
        open_part = self._current
        open_part.context.assigned.clear()
        open_part.enumerator.refresh(self._checkpoint_of(open_part, checkpoint))

    def handle_split_request(self, request: SplitRequest) -> None:
        open_part = self._current
        open_part.enumerator.handle_split_request(self._request_of(open_part, request))
        open_part.context.when_idle(lambda: self._hear_ends(request))

    def heads(self) -> Mapping[SplitPath, HybridPosition]:
        """Return the heads of the part; of one that is not the last, where its splits end for good."""
        if self._heads is None:
            self._heads = {}
            for open_part in self._open:
                self._heads.update(self._heads_of(open_part))
        return self._heads

    def bounds(self) -> Mapping[SplitPath, HybridPosition] | None:
        part_bounds = [(each, each.enumerator.bounds()) for each in self._open]
        positions = [each.positions(bounds) for each, bounds in part_bounds if bounds is not None]
        return positions[-1] if positions else None

    def unassigned(self) -> UnassignedSplits:
        """Return that of the part that is read: it goes on in the parts behind it."""
        unassigned = self._current.enumerator.unassigned()
        return replace(unassigned, goes_on=unassigned.goes_on or not self._is_last(self._current))

    def gauges(self) -> MetricValues:
        return self._current.enumerator.gauges()

    def fronts_ms(self) -> Mapping[SplitPath, int]:
        return self._current.by_outer_path(self._current.enumerator.fronts_ms())

    def snapshot_state(self) -> JsonValue:
        current = self._current
        state: JsonObject = {"part": current.part.name, "state": current.enumerator.snapshot_state()}
        if self._ends is not None:
            state["ends"] = cast(
                "JsonObject", {path[1]: inner_position(end) for path, end in self._ends.items()}
            )
        if self._told:
            state["told"] = cast("JsonObject", self._told)
        return state

    def add_splits_back(self, splits: Sequence[HybridSplit]) -> None:
        """Give each part its own; if the plan went on to another part, `refresh` goes back."""
        for open_part in self._open:
            inner = [split.inner for split in splits if split.part == open_part.part.name]
            if inner:
                open_part.enumerator.add_splits_back(inner)

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[HybridSplit, HybridPosition]) -> None:
        self._open_part_of(checkpoint)
        open_part = self._current
        open_part.enumerator.notify_checkpoint_complete(self._checkpoint_of(open_part, checkpoint))

    def notify_end_of_input(self) -> None:
        self._current.enumerator.notify_end_of_input()

    def close(self) -> None:
        self._close_parts()

    # The part that is read

    @property
    def _current(self) -> OpenPart:
        return self._open[-1]

    def _is_last(self, open_part: OpenPart) -> bool:
        return open_part.index == len(self._parts) - 1

    def _begin(self, index: int) -> None:
        """Open a part that nothing is logged of. In a batch those before it stay open."""
        if not self._is_batch or index == 0:
            self._close_parts()
        self._ends = None
        if index == 0:
            self._told = {}
        part = self._parts[index]
        context = PartContext(self._context, part.name, index)
        enumerator = self._beginning(index).create_enumerator(context)
        enumerator.start()
        self._open.append(OpenPart(index, part, context, enumerator))

    def _open_part_of(self, checkpoint: Checkpoint[HybridSplit, HybridPosition]) -> None:
        """Restore the part that a checkpoint is in, unless it is open.

        Another one is open if this process is new, or if the plan that went on to it was given up.
        """
        if not self._open or self._current.part.name != _part_of(checkpoint):
            self._restore(checkpoint)

    def _restore(self, checkpoint: Checkpoint[HybridSplit, HybridPosition]) -> None:
        self._close_parts()
        name = _part_of(checkpoint)
        index = next((at for at, part in enumerate(self._parts) if part.name == name), None)
        if index is None:
            names = ", ".join(part.name for part in self._parts)
            raise OffsetError(
                f"the checkpoint is in part {name!r} of the chain, and option 'sources' has {names}: give "
                "the names that the query began with"
            )
        part = self._parts[index]
        state = cast("JsonObject", checkpoint.state)
        ends = cast("dict[str, Any] | None", state.get("ends"))
        self._told = cast("EndPositions", state.get("told", {}))
        self._ends = None if ends is None else {(part.name, path): [index, end] for path, end in ends.items()}
        context = PartContext(self._context, part.name, index)
        enumerator = part.source.restore_enumerator(
            context, part_checkpoint(checkpoint, part.name, state.get("state"))
        )
        enumerator.start()
        self._open.append(OpenPart(index, part, context, enumerator))

    def _checkpoint_of(
        self, open_part: OpenPart, checkpoint: Checkpoint[HybridSplit, HybridPosition]
    ) -> Checkpoint[Any, Any]:
        state = cast("JsonObject", checkpoint.state)
        return part_checkpoint(checkpoint, open_part.part.name, state.get("state"))

    def _request_of(self, open_part: OpenPart, request: SplitRequest) -> SplitRequest:
        """Return the boundedness of a part: one that is not the last ends with the records of now."""
        return request if self._is_last(open_part) else replace(request, ends=True)

    def _heads_of(self, open_part: OpenPart) -> dict[SplitPath, HybridPosition]:
        heads = open_part.positions(open_part.enumerator.heads())
        if self._is_last(open_part) or open_part.part.source.bounded_splits:
            return heads
        if self._ends is None:
            self._ends = heads
        return {path: end for path, end in self._ends.items() if path in heads}

    def _beginning(self, index: int) -> PlannedSource[Any, Any, Any]:
        """Return the source of a part, which begins where the parts before it end."""
        source = self._parts[index].source
        if index < len(self._parts) - 1 or self._seam is None:
            return source
        if isinstance(self._seam, TimeSwitchPoint):
            return source.begin_after(PartEnd("seamTime", time_ms=self._seam.begin_ms))
        positions = self._seam.positions
        return source.begin_after(
            PartEnd("seamOffsets", positions=self._told if positions is None else positions)
        )

    # From one part to the next

    def _hear_ends(self, request: SplitRequest) -> None:
        """Let the splits that the part has given tell where the last part begins, if they are to."""
        open_part = self._current
        asks = isinstance(self._seam, PositionSwitchPoint) and self._seam.positions is None
        if not asks or self._is_last(open_part):
            self._on_answered(request)
            return
        splits = list(open_part.context.assigned)
        if open_part.part.source.bounded_splits and splits:
            open_part.context.call_async(
                partial(open_part.part.source.end_positions, splits),
                self._take_ends,
                what=f"where {len(splits):,} splits end",
            )
        elif not open_part.part.source.bounded_splits:
            self._take_ends(_by_topic(self._heads_of(open_part)))
        open_part.context.when_idle(lambda: self._on_answered(request))

    def _take_ends(self, ends: EndPositions) -> None:
        self._told = furthest(self._told, ends)

    def _on_answered(self, request: SplitRequest) -> None:
        """The part has said all that it has to say in this round: it may have been its last."""
        open_part = self._current
        if self._is_last(open_part):
            return
        if self._is_batch:
            self._heads_of(open_part)
        elif not self._is_read(open_part):
            return
        else:
            self._retire(open_part)
        self._begin(open_part.index + 1)
        following = self._current
        log.info("part %r is read to its end; %r begins", open_part.part.name, following.part.name)
        following.enumerator.refresh(None)
        following.context.when_idle(lambda: self.handle_split_request(request.next_part or request))

    def _is_read(self, open_part: OpenPart) -> bool:
        """Whether a part has nothing more to give, and all that it gave is committed."""
        if open_part.part.source.bounded_splits:
            # Such splits are read whole in the batch that they come with.
            return not open_part.context.assigned
        ends = self._heads_of(open_part)
        positions = self._context.positions()
        committed = {} if self._checkpoint is None else self._checkpoint.positions
        source = open_part.part.source
        return all(
            path in positions
            and committed.get(path, positions[path]) == positions[path]
            and source.rows_between(inner_position(positions[path]), inner_position(end)) == 0
            for path, end in ends.items()
        )

    def _retire(self, open_part: OpenPart) -> None:
        if self._checkpoint is None:
            return
        paths = [*self._checkpoint.splits, *self._checkpoint.kept]
        self._context.retire_splits([path for path in paths if path[0] == open_part.part.name], "it is read")

    def _close_parts(self) -> None:
        for open_part in self._open:
            open_part.enumerator.close()
        self._open = []


def _by_topic(ends: Mapping[SplitPath, HybridPosition]) -> EndPositions:
    """Return the ends of splits that are partitions of topics.

    Raises:
        OptionError: they are something else.
    """
    offsets: dict[str, dict[str, int]] = {}
    for path, end in ends.items():
        position = inner_position(end)
        inner = inner_path(path)
        if len(inner) != _TOPIC_AND_PARTITION or not isinstance(position, int):
            raise OptionError(
                f"the split {'-'.join(inner)} does not tell where the next part begins: say it as JSON",
                option="seamOffsets",
            )
        offsets.setdefault(inner[0], {})[inner[1]] = position
    return offsets


def _part_of(checkpoint: Checkpoint[HybridSplit, HybridPosition]) -> str:
    """Return the name of the part that a checkpoint is in."""
    state = checkpoint.state
    name = state.get("part") if isinstance(state, dict) else None
    if not isinstance(name, str):
        raise OffsetError("the checkpoint's state is not one of the hybrid source")
    return name
