"""What a snapshot says of transactions is what a server that runs them would show."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import OffsetError
from headwater.enumerators.postgres.visibility import (
    NothingSeen,
    Sight,
    TransactionSnapshot,
    Visibility,
)
from headwater.readers.postgres.merge_rule import emitted


@given(st.integers(0, 2**32), st.integers(1, 400))
def test_a_snapshot_sees_the_transactions_that_were_over_when_it_was_taken(seed: int, steps: int) -> None:
    """Transactions begin and end at random; each snapshot is written as the server writes it."""
    draw = random.Random(seed)
    next_xid = draw.choice([3, 700, 2**32 - 20, 2**33 + 5])
    first = next_xid
    running: set[int] = set()
    over: set[int] = set()
    for _ in range(steps):
        if draw.random() < 0.5:
            running.add(next_xid)
            next_xid += 1
        elif running:
            xid = draw.choice(sorted(running))
            running.remove(xid)
            over.add(xid)
    xmin = min(running, default=next_xid)
    text = f"{xmin}:{next_xid}:{','.join(map(str, sorted(running)))}"
    xids = np.arange(first, next_xid + 5, dtype=np.int64)
    hidden = emitted(TransactionSnapshot.parse(text), xids)
    assert [xid for xid, each in zip(xids.tolist(), hidden, strict=True) if not each] == sorted(over)


def test_a_change_wins_over_a_reading_that_may_have_it() -> None:
    """The third answer, of databases that name no transactions: the change is emitted."""

    class Window(Sight):
        begin = 10
        end = 20

        def saw(self, change: int) -> Visibility:
            return Visibility.UNKNOWN

    assert emitted(Window(), np.array([9, 10, 19, 20])).tolist() == [False, True, True, True]


def test_a_chunk_that_nobody_read_holds_no_change() -> None:
    assert emitted(NothingSeen(), np.array([1, 2**40])).all()


@pytest.mark.parametrize("text", ["", "1:2", "1:x:", "1:2:3:4"])
def test_what_is_no_snapshot_is_refused(text: str) -> None:
    with pytest.raises(OffsetError, match="no snapshot"):
        TransactionSnapshot.parse(text)
