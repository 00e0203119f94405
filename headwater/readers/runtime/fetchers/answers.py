"""What a split reader answers is held against what it was given."""

from __future__ import annotations

from headwater.core.barrier_reader import EpochRecords
from headwater.core.errors import ContractError
from headwater.core.split import SplitPath
from headwater.readers.runtime.fetchers.turns import SplitTurns


def named_splits(fetched: EpochRecords) -> set[SplitPath]:
    """Return the splits of which an answer says anything."""
    return {*fetched.records, *fetched.finished, *fetched.caught_up, *fetched.failed, *fetched.paused}


def check_answer(fetched: EpochRecords, named: set[SplitPath], turns: SplitTurns) -> None:
    """Return if an answer is one that a reader may give.

    Args:
        fetched: the answer.
        named: the splits of which it says anything.
        turns: which split the reader was to fetch from.

    Raises:
        ContractError: it speaks of another split, or says of one what cannot both be.
    """
    for path in sorted(named - {turns.turn}):
        what = "is paused" if path in turns else "it was not given or has finished"
        raise ContractError(f"SplitReader.fetch spoke of split {'-'.join(path)}, which {what}")
    if both := fetched.finished & fetched.caught_up.keys():
        raise ContractError(
            f"SplitReader.fetch called split {'-'.join(min(both))} both finished and caught up"
        )
    if done := fetched.paused.keys() & {*fetched.finished, *fetched.caught_up}:
        raise ContractError(f"SplitReader.fetch paused split {'-'.join(min(done))}, which is done")
