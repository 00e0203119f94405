"""The offset is canonical, round-trips, and says where a batch begins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.connector.planned.offsets import PlannedOffset, PlannedOffsetCodec
from headwater.core.errors import OffsetError
from headwater.core.split import SplitPath, SplitRange
from tests.doubles import NumberSource, NumberSplit

CODEC: PlannedOffsetCodec[NumberSplit, int] = PlannedOffsetCodec(NumberSource())
labels = st.text(min_size=1, max_size=8)
T = TypeVar("T")


def backwards(mapping: Mapping[SplitPath, T]) -> dict[SplitPath, T]:
    return {path: mapping[path] for path in reversed(list(mapping))}


@given(st.dictionaries(labels, st.tuples(st.integers(0, 2**62), st.integers(0, 3), st.booleans())))
def test_an_offset_survives_the_log_and_equal_offsets_are_equal_texts(
    content: dict[str, tuple[int, int, bool]],
) -> None:
    offset = PlannedOffset(
        {(label,): NumberSplit(label, generation) for label, (_, generation, _) in content.items()},
        {(label,): position for label, (position, _, _) in content.items()},
        {(label,): position // 2 for label, (position, _, new) in content.items() if new},
        {"anything": [1, "two", None]},
    )
    text = json.dumps(CODEC.encode(offset))
    assert CODEC.decode(json.loads(text)) == offset
    shuffled = PlannedOffset(
        backwards(offset.splits), backwards(offset.positions), offset.starts, offset.state
    )
    assert json.dumps(CODEC.encode(shuffled)) == text


def offset(
    positions: dict[str, int], starts: dict[str, int] | None = None
) -> PlannedOffset[NumberSplit, int]:
    return PlannedOffset(
        {(label,): NumberSplit(label) for label in positions},
        {(label,): position for label, position in positions.items()},
        {(label,): start for label, start in (starts or {}).items()},
    )


def test_a_batch_begins_where_the_offset_before_ended_and_for_new_splits_where_its_end_says() -> None:
    end = offset({"a": 9, "b": 4, "c": 1}, starts={"b": 2})
    assert end.ranges_since(offset({"a": 5, "c": 1, "gone": 3})) == [
        SplitRange(NumberSplit("a"), 5, 9),
        SplitRange(NumberSplit("b"), 2, 4),
    ]


def test_an_offset_without_a_beginning_is_an_error() -> None:
    with pytest.raises(OffsetError, match="does not say where the batch begins for split a"):
        offset({"a": 9}).ranges_since(None)


def test_positions_may_be_any_json_value() -> None:
    codec: PlannedOffsetCodec[NumberSplit, int] = PlannedOffsetCodec(NumberSource())
    raw = {
        "source": "numbers",
        "version": 1,
        "positions": {"a": {"cursor": "x", "page": 3}},
        "splits": {"a": 0},
    }
    decoded = codec.decode(raw)  # type: ignore[arg-type]
    assert decoded is not None
    assert decoded.positions == {("a",): {"cursor": "x", "page": 3}}  # type: ignore[comparison-overlap]
