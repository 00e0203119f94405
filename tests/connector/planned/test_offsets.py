"""The offset is canonical, round-trips, and says where a batch begins."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.connector.planned.offsets import (
    KEPT_MS,
    MOST_KEPT,
    LoggedEnds,
    PlannedOffset,
    PlannedOffsetCodec,
    within_limits,
)
from headwater.core.enumerator import KeptSplit
from headwater.core.errors import DataLossError, OffsetError
from headwater.core.jsons import JsonValue
from headwater.core.losses import NO_LOSSES, LostRange
from headwater.core.split import SplitPath, SplitRange
from tests.doubles import NumberSource, NumberSplit

CODEC: PlannedOffsetCodec[NumberSplit, int] = PlannedOffsetCodec(NumberSource())
labels = st.text(min_size=1, max_size=8)
T = TypeVar("T")


def backwards(mapping: Mapping[SplitPath, T]) -> dict[SplitPath, T]:
    return {path: mapping[path] for path in reversed(list(mapping))}


def ends(content: Mapping[str, tuple[int, int, bool]]) -> LoggedEnds[int] | None:
    """By the generations of splits: some have ended, some were read, of some neither is known."""
    if len(content) == 1:
        return None
    return LoggedEnds(
        {"key": "end"},
        frozenset((label,) for label, (_, generation, _) in content.items() if generation == 1),
        {(label,): position // 3 for label, (position, generation, _) in content.items() if generation == 2},
    )


@given(
    st.dictionaries(labels, st.tuples(st.integers(0, 2**62), st.integers(0, 3), st.booleans())),
    st.dictionaries(labels, st.integers(0, 2**62)),
)
def test_an_offset_survives_the_log_and_equal_offsets_are_equal_texts(
    content: dict[str, tuple[int, int, bool]], out_of_sight: dict[str, int]
) -> None:
    found = [LostRange(label, 0, position, "planning", 9) for label, position in out_of_sight.items()]
    offset = PlannedOffset(
        {(label,): NumberSplit(label, generation) for label, (_, generation, _) in content.items()},
        {(label,): position for label, (position, _, _) in content.items()},
        {(label,): position // 2 for label, (position, _, new) in content.items() if new},
        {"anything": [1, "two", None]},
        {
            (label,): KeptSplit(NumberSplit(label, 1), position, 1_700_000_000_000)
            for label, position in out_of_sight.items()
        },
        NO_LOSSES.plus(found, NumberSource().rows_between),
        ends=ends(content),
    )
    text = json.dumps(CODEC.encode(offset))
    assert CODEC.decode(json.loads(text)) == offset
    shuffled = replace(
        offset,
        splits=backwards(offset.splits),
        positions=backwards(offset.positions),
        kept=backwards(offset.kept),
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


def test_what_is_out_of_sight_and_what_is_lost_are_absent_where_there_is_none() -> None:
    assert CODEC.encode(offset({"a": 9})).keys() == {"positions", "source", "splits", "version"}


def test_a_person_can_read_what_is_out_of_sight_and_what_is_lost() -> None:
    found = [LostRange("a", 3, 8, "planning", 11), LostRange("a", 9, 10, "task", 12)]
    encoded = CODEC.encode(
        replace(
            offset({"a": 9}),
            kept={("b",): KeptSplit(NumberSplit("b", 2), 4, 10)},
            losses=NO_LOSSES.plus(found, NumberSource().rows_between),
        )
    )
    assert encoded["kept"] == {"b": {"position": 4, "since_ms": 10, "split": {"b": 2}}}
    assert encoded["losses"] == {
        "rows": 5,
        "at_least_rows": 1,
        "ranges": [
            {"split": "a", "first": 3, "until": 8, "found": "planning", "time_ms": 11},
            {"split": "a", "first": 9, "until": 10, "found": "task", "time_ms": 12},
        ],
    }


@pytest.mark.parametrize("losses", [{}, {"rows": 1, "at_least_rows": 0, "ranges": [{"found": "luck"}]}, 3])
def test_losses_that_are_none_are_an_error_of_the_offset(losses: JsonValue) -> None:
    raw = {**CODEC.encode(offset({"a": 9})), "losses": losses}
    with pytest.raises(OffsetError, match="cannot be read"):
        CODEC.decode(raw)


NOW_MS = 1_800_000_000_000


def kept(since_ms: dict[str, int]) -> dict[SplitPath, KeptSplit[NumberSplit, int]]:
    return {(label,): KeptSplit(NumberSplit(label), 5, since) for label, since in since_ms.items()}


def test_within_the_limits_all_stay(caplog: pytest.LogCaptureFixture) -> None:
    some = kept({"a": NOW_MS - KEPT_MS + 1, "b": NOW_MS})
    assert within_limits(some, NOW_MS, source="numbers", forgets=True) == some
    assert within_limits(some, NOW_MS, source="numbers", forgets=False) == some
    assert not caplog.records


def test_after_thirty_days_they_are_forgotten_with_a_warning_or_that_is_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    some = kept({"a": NOW_MS - KEPT_MS, "b": NOW_MS})
    with caplog.at_level(logging.WARNING):
        assert within_limits(some, NOW_MS, source="numbers", forgets=True) == kept({"b": NOW_MS})
    (record,) = caplog.records
    assert "the positions of 1 splits that are unavailable cannot be kept any longer" in record.getMessage()
    with pytest.raises(DataLossError, match=r"\(30 days, and 10000 splits, are the most\): a"):
        within_limits(some, NOW_MS, source="numbers", forgets=False)


def test_the_oldest_go_beyond_the_most(caplog: pytest.LogCaptureFixture) -> None:
    some = kept({f"{i:05d}": NOW_MS - i for i in range(MOST_KEPT + 3)})
    with caplog.at_level(logging.WARNING):
        stay = within_limits(some, NOW_MS, source="numbers", forgets=True)
    assert stay == kept({f"{i:05d}": NOW_MS - i for i in range(MOST_KEPT)})
    assert "the positions of 3 splits" in caplog.text
    with pytest.raises(DataLossError, match="the positions of 3 splits"):
        within_limits(some, NOW_MS, source="numbers", forgets=False)
