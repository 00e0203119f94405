"""Releases the data that a staged source keeps for old epochs, together with these."""

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
    """Let a source delete its data before the kept epochs, and all data of splits that none of them has.

    To be called before the outdated epochs are deleted. Idempotent.

    Args:
        source: whose splits these are.
        checkpoints: reads the records of epochs.
        outdated: the epochs that are about to be deleted, and those that stay.
        live: the splits that there are now. Epochs that were opened lately may not be listed as kept yet.
    """
    oldest = _earliest(source, _starts(source, checkpoints.opened(outdated.oldest_kept)))
    source.release_before(outdated.query, oldest)
    outdated_paths = {
        path for starts in _starts(source, checkpoints.opened(outdated.epochs)) for path in starts
    }
    maybe_gone = outdated_paths.difference(oldest, live)
    if maybe_gone:
        # A split may have gone and come back. This is rare, and the only time that all epochs are looked at.
        kept_paths = (
            path for starts in _starts(source, checkpoints.opened(outdated.kept)) for path in starts
        )
        if splits := maybe_gone.difference(kept_paths):
            source.forget_splits(outdated.query, splits)


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
