"""The splits of a reader that it reads, and those that it has been asked to leave alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from headwater.core.split import SplitPath

OpenT = TypeVar("OpenT")


def pause_or_resume(
    open_splits: dict[SplitPath, OpenT],
    paused_splits: dict[SplitPath, OpenT],
    paused: Sequence[SplitPath],
    resumed: Sequence[SplitPath],
) -> None:
    """Move splits between those that are read and those that are not (`pause_or_resume_splits` of a reader).

    A split that is resumed comes behind all others. What is not there is passed over: it was removed.

    Args:
        open_splits: of the reader; changed.
        paused_splits: of the reader; changed.
        paused: what is to be left alone.
        resumed: what is to be read again.
    """
    for path in paused:
        if path in open_splits:
            paused_splits[path] = open_splits.pop(path)
    for path in resumed:
        if path in paused_splits:
            open_splits[path] = paused_splits.pop(path)
