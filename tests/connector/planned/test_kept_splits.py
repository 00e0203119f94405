"""How many positions of splits that are out of sight are kept, and for how long."""

from __future__ import annotations

import logging

import pytest

from headwater.connector.planned.kept_splits import KEPT_MS, MOST_KEPT, within_limits
from headwater.core.enumerator import KeptSplit
from headwater.core.errors import DataLossError
from headwater.core.split import SplitPath
from tests.doubles import NumberSplit

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
    assert "the positions of 1 splits that are out of sight cannot be kept any longer" in record.getMessage()
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
