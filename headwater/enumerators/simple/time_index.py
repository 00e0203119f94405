"""The index of times of a simple source that finds the positions of times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headwater.core.abilities import FindsTimestamps
from headwater.core.errors import ContractError
from headwater.core.outside import outside
from headwater.core.simple_source import NamedSplit, SimpleSource
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.time_index import TimeIndex


class SimpleTimeIndex(TimeIndex):
    """Asks the source, one split after the other (`FindsTimestamps.position_at`). On the worker thread.

    Args:
        source: finds the positions of times.
        seen: returns the splits that the last look found, and where they end.
    """

    def __init__(
        self,
        source: SimpleSource,
        seen: Callable[[], tuple[Mapping[SplitPath, NamedSplit], Mapping[SplitPath, int]]],
    ) -> None:
        self._source = source
        self._seen = seen

    def first_at(self, paths: Sequence[SplitPath], time_ms: int) -> Mapping[SplitPath, int]:
        splits, heads = self._seen()
        found = {path: self._position_at(splits[path], time_ms) for path in paths if path in splits}
        # At the end there is no record yet.
        return {path: position for path, position in found.items() if position < heads[path]}

    def _position_at(self, split: NamedSplit, time_ms: int) -> int:
        source = self._source
        assert isinstance(source, FindsTimestamps), "only such a source has the option"
        with outside(f"{type(source).__name__}.position_at", source=source.name, split=split.name):
            position = source.position_at(split, time_ms)
        if type(position) is not int:
            raise ContractError(
                f"FindsTimestamps.position_at: with Heads positions are integers; split {split.name!r} of "
                f"source {source.name!r}: {position!r}"
            )
        return position
