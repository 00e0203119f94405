"""The merge rule on columns decides as a loop over rows would: chunk by key, then what that chunk saw."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from bisect import bisect_right
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import SourceError
from headwater.enumerators.postgres.chunk_rules import ChunkRules, decode_rules, encode_rules
from headwater.enumerators.postgres.visibility import TransactionSnapshot
from headwater.readers.postgres.merge_rule import MergeRule, text_array

_TEXTS = ["", "a", "A", "ab", "aé", "z", "é", "ß", "\U0001f600", "a\tb", " a", "-1", "10", "9"]


_EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None)


def _micros(draw: random.Random) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=draw.randrange(50))


# Type, a drawn value that orders as the server orders it, and its text.
_KINDS: dict[str, tuple[pa.DataType, Any, Any]] = {
    "bigint": (pa.int64(), lambda draw: draw.choice([-(2**63), 2**63 - 1, draw.randrange(-9, 30)]), str),
    "smallint": (pa.int16(), lambda draw: draw.randrange(-20, 20), str),
    "text": (pa.string(), lambda draw: draw.choice(_TEXTS).encode(), bytes.decode),
    "bytea": (pa.binary(), lambda draw: draw.randbytes(draw.randrange(3)), lambda value: f"\\x{value.hex()}"),
    "uuid": (
        pa.string(),
        lambda draw: draw.randrange(4).to_bytes(16),
        lambda value: str(uuid.UUID(bytes=value)),
    ),
    "timestamp": (pa.timestamp("us"), _micros, str),
    "date": (pa.date32(), lambda draw: dt.date(1999, 12, draw.randrange(1, 31)), str),
}


@given(st.lists(st.sampled_from(sorted(_KINDS)), min_size=1, max_size=3), st.integers(0, 2**32))
def test_changes_are_dropped_whose_transactions_the_chunk_of_their_key_saw(
    kinds: list[str], seed: int
) -> None:
    draw = random.Random(seed)

    def key() -> tuple[Any, ...]:
        return tuple(_KINDS[kind][1](draw) for kind in kinds)

    def written(value: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple(_KINDS[kind][2](each) for kind, each in zip(kinds, value, strict=True))

    lows = sorted({key() for _ in range(draw.randrange(6))})
    sights = [
        draw.choice([None, "100:110:103,105", "104:104:", "90:120:90,119"]) for _ in range(len(lows) + 1)
    ]
    names = tuple(f"k{at}" for at in range(len(kinds)))
    rules = ChunkRules(names, tuple(map(written, lows)), tuple(sights), 1_000)
    rule = MergeRule(
        decode_rules(encode_rules({7: rules}), 0)[7],
        {name: _KINDS[kind][0] for name, kind in zip(names, kinds, strict=True)},
    )
    keys = [*lows, *(key() for _ in range(20))]
    xids = np.array([draw.randrange(85, 125) for _ in keys], np.int64)
    columns = [
        text_array(_KINDS[kind][0], [written(each)[at] for each in keys]) for at, kind in enumerate(kinds)
    ]
    kept = rule.kept(xids, lambda: columns)
    expected = []
    for each, xid in zip(keys, xids.tolist(), strict=True):
        sight = sights[bisect_right(lows, each)]
        snapshot = None if sight is None else TransactionSnapshot.parse(sight)
        saw = snapshot is not None and (
            xid < snapshot.xmin or (xid < snapshot.xmax and xid not in snapshot.running)
        )
        expected.append(not saw)
    assert (np.ones(len(keys), bool) if kept is None else kept).tolist() == expected


def _rule(*sights: str | None) -> MergeRule:
    lows = tuple((str(10 * at),) for at in range(1, len(sights)))
    return MergeRule(ChunkRules(("id",), lows, sights, 5_000), {"id": pa.int64()})


def test_keys_are_not_looked_at_where_no_chunk_can_have_seen_a_change() -> None:
    def never() -> list[pa.Array[Any]]:
        raise AssertionError("the keys are not needed")

    rule = _rule("10:20:", "15:30:")
    assert rule.kept(np.array([30, 31]), never) is None
    assert rule.kept(np.array([], np.int64), never) is None


def test_one_chunk_of_a_table_without_a_key_needs_no_keys() -> None:
    rule = MergeRule(ChunkRules((), (), ("10:20:12",), 1), {})
    kept = rule.kept(np.array([9, 12, 13, 20]), list)
    assert kept is not None
    assert kept.tolist() == [False, True, False, True]


def test_a_change_without_the_key_of_the_chunks_is_an_error() -> None:
    with pytest.raises(SourceError, match="replica identity was changed"):
        _rule("10:20:", "15:30:").kept(np.array([12]), lambda: [pa.array([None], pa.int64())])


def test_changes_of_a_batch_are_decided_one_by_one_with_their_truncates() -> None:
    ids = pa.array([5, None, 15, 15, None, 5])
    mask = _rule("10:20:12", "15:30:29")(
        np.array([12, 9, 25, 29, 31, 31]),
        np.array([False, True, False, False, True, False]),
        lambda _, kind, rows: ids.take(pa.array(rows, pa.int64())).cast(kind),
    )
    assert mask is not None
    assert mask.tolist() == [True, False, False, True, True, True]


@pytest.mark.parametrize(("xid", "kept"), [(5, False), (40, True)])
def test_a_truncate_is_dropped_if_all_chunks_came_after_it(xid: int, kept: bool) -> None:
    assert _rule("10:20:", "30:30:").keeps_truncate(xid) is kept


def test_a_truncate_between_chunks_is_an_error() -> None:
    with pytest.raises(SourceError, match="truncated while its rows were read"):
        _rule("10:20:", "30:30:").keeps_truncate(25)
