"""The demo source: exactly as many rows as asked for, a rate, and a start by time."""

from __future__ import annotations

import types
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest

from headwater.connector.sources import demo
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.readers.demo.orders import ORIGIN_US
from headwater.testing import SourceTests


class Now:
    """The wall clock of the source, set by hand, in microseconds since 1970."""

    us = ORIGIN_US + 3_600_000_000

    def time_ns(self) -> int:
        return self.us * 1_000


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    clock = Now()
    monkeypatch.setattr(demo, "time", types.SimpleNamespace(time_ns=clock.time_ns))
    return clock


class TestDemo(SourceTests):
    source = "demo"

    @pytest.fixture(autouse=True)
    def clock(self, now: Now) -> None:
        self.now = now

    def options(self) -> Mapping[str, str]:
        return {"startingTimestamp": str(self.now.us // 1_000 - 40), "splits": "3"}

    def grow(self, options: Mapping[str, str]) -> None:
        self.now.us += 20_000

    def many_splits(self, count: int) -> Mapping[str, str]:
        return {"rows": str(3 * count), "splits": str(count)}


def batch(**options: str) -> list[dict[str, Any]]:
    configured = demo.configure_demo(options, Boundedness.BOUNDED)
    with closing(configured.create_coordinator()) as coordinator:
        tasks = coordinator.plan_all()
    return [row for task in tasks for rows in configured.read_task(task) for row in rows.to_pylist()]


@pytest.mark.parametrize(("rows", "splits"), [(0, 4), (1, 4), (1_000, 4), (3_001, 7), (5, 9)])
def test_a_batch_has_just_the_rows_that_were_asked_for(now: Now, rows: int, splits: int) -> None:
    ids = sorted(row["order_id"] for row in batch(rows=str(rows), splits=str(splits)))
    assert ids == list(range(3_600_000 - rows, 3_600_000))


def test_a_stream_begins_with_them_and_goes_on_at_the_rate(now: Now) -> None:
    configured = demo.configure_demo(
        {"rows": "10", "rowspersecond": "200", "splits": "3"}, Boundedness.CONTINUOUS_UNBOUNDED
    )
    with closing(configured.create_coordinator()) as coordinator:
        start = coordinator.initial_offset()
        first = coordinator.plan_next(start, limited=True)
        now.us += 1_000_000
        second = coordinator.plan_next(first, limited=True)
        counts = [
            sum(rows.num_rows for task in coordinator.tasks(*ends) for rows in configured.read_task(task))
            for ends in ((start, first), (first, second))
        ]
    assert counts == [10, 200]


def test_it_starts_at_a_time(now: Now) -> None:
    rows = batch(startingtimestamp=str(now.us // 1_000 - 500), rowspersecond="100")
    assert len(rows) == 50


def test_another_shop_on_a_checkpoint_goes_on_from_the_present(now: Now) -> None:
    def planned(start: Any, **options: str) -> tuple[Any, int]:
        configured = demo.configure_demo({"rows": "12", **options}, Boundedness.CONTINUOUS_UNBOUNDED)
        with closing(configured.create_coordinator()) as coordinator:
            end = coordinator.plan_next(start or coordinator.initial_offset(), limited=True)
            tasks = coordinator.tasks(start or coordinator.initial_offset(), end)
            return end, sum(rows.num_rows for task in tasks for rows in configured.read_task(task))

    end, count = planned(None)
    assert count == 12
    assert planned(end, seed="5")[1] == 12


def test_slips_are_errors() -> None:
    with pytest.raises(OptionError, match="did you mean 'rowsPerSecond'"):
        demo.configure_demo({"rowpersecond": "5"}, None)
    with pytest.raises(OptionError, match="at least 1"):
        demo.configure_demo({"splits": "0"}, None)
