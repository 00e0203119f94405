"""What a staged source keeps for old epochs only is released with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from headwater.connector.barrier.checkpoints import CheckpointCoordinator, OutdatedEpochs
from headwater.connector.coordination.offset_codec import flatten
from headwater.core.barrier_source import BarrierSource
from headwater.core.split import SplitPath


def release_staged(
    source: BarrierSource[Any, Any],
    checkpoints: CheckpointCoordinator,
    outdated: OutdatedEpochs,
    live: Collection[SplitPath],
) -> None:
    """Let a source throw away what lies before the kept epochs, and all of splits that none of them has.

    To be called before the outdated epochs are deleted. Idempotent.

    Args:
        source: whose splits these are.
        checkpoints: reads what is known of epochs.
        outdated: what is about to be deleted, and what is not.
        live: the splits that there are now. Epochs that were opened lately may not be listed as kept yet.
    """
    oldest = _earliest(source, _starts(source, checkpoints.opened(outdated.oldest_kept)))
    source.release_before(outdated.query, oldest)
    before = {path for starts in _starts(source, checkpoints.opened(outdated.epochs)) for path in starts}
    maybe_gone = before.difference(oldest, live)
    if maybe_gone:
        # A split may have gone and come back. This is rare, and the only time that all epochs are looked at.
        kept = (path for starts in _starts(source, checkpoints.opened(outdated.kept)) for path in starts)
        if gone := maybe_gone.difference(kept):
            source.forget_splits(outdated.query, gone)


def _starts(source: BarrierSource[Any, Any], opened: Iterable[dict[str, Any]]) -> list[dict[SplitPath, Any]]:
    return [flatten(record.get("starts", {}), source) for record in opened]


def _earliest(
    source: BarrierSource[Any, Any], starts: Iterable[dict[SplitPath, Any]]
) -> dict[SplitPath, Any]:
    """Return the earliest position of each split."""
    earliest: dict[SplitPath, Any] = {}
    for positions in starts:
        for path, position in positions.items():
            if path not in earliest or source.is_before(position, earliest[path]):
                earliest[path] = position
    return earliest
