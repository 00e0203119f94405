"""Barriers: their limits, and their JSON."""

from __future__ import annotations

import json

import pytest

from headwater.core.epoch import Barrier
from headwater.core.errors import OffsetError, OptionError
from headwater.core.jsons import JsonValue, dumps


@pytest.mark.parametrize("barrier", [Barrier(), Barrier(rows=1), Barrier(row_bytes=2, duration_ms=3)])
def test_a_barrier_is_the_same_after_a_round_through_text(barrier: Barrier) -> None:
    assert Barrier.from_json(json.loads(dumps(barrier.to_json()))) == barrier


@pytest.mark.parametrize("value", [None, [], "x", {"rows": 1, "colour": 2}, {"rows": "many"}])
def test_what_is_no_barrier_is_refused(value: JsonValue) -> None:
    with pytest.raises(OffsetError):
        Barrier.from_json(value)


def test_limits_of_zero_would_never_read_anything() -> None:
    with pytest.raises(OptionError, match="rows"):
        Barrier(rows=0)
