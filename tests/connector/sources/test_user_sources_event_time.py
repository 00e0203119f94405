"""A source in the small form that finds the positions of times is read in the order of event time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import headwater as hw
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.user_sources import UserSource
from headwater.core.errors import ContractError, OptionError
from headwater.core.source import Boundedness
from headwater.readers.runtime.loss_reports import LossReports

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
BEGIN_MS = 1_795_000_000_000 - 300 * HOUR_MS


class Ledgers(hw.SimpleSource, hw.Heads, hw.FindsTimestamps):
    """Two ledgers: one has the last hour, one has three."""

    name = "ledgers"
    schema = pa.schema((("ledger", pa.string()), ("at", pa.int64())))
    times: ClassVar[dict[str, list[int]]] = {
        "young": [BEGIN_MS + 2 * HOUR_MS + HOUR_MS * at // 600 for at in range(600)],
        "old": [BEGIN_MS + 3 * HOUR_MS * at // 600 for at in range(600)],
    }

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit(name) for name in self.times]

    def head(self, split: hw.NamedSplit) -> int:
        return len(self.times[split.name])

    def position_at(self, split: hw.NamedSplit, timestamp_ms: int) -> int:
        return sum(at < timestamp_ms for at in self.times[split.name])

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        rows = [(split.name, at) for at in self.times[split.name][position:stop]]
        yield hw.Page(rows, position + len(rows))


class Confused(Ledgers):
    """Its positions of times are no positions."""

    name = "confused"

    def position_at(self, split: hw.NamedSplit, timestamp_ms: int) -> Any:
        return str(timestamp_ms)


def configured(source: type[hw.SimpleSource], options: Mapping[str, str]) -> ConfiguredPlannedSource:
    made = UserSource(source)(options, Boundedness.CONTINUOUS_UNBOUNDED)
    assert isinstance(made, ConfiguredPlannedSource)
    return made


def batches(source: type[hw.SimpleSource], **options: str) -> Iterator[tuple[Any, list[int]]]:
    """Yield the offset and the times of each batch of a new query; each is planned after a restart."""
    made = configured(source, options)
    offset = None
    while True:
        with closing(made.create_coordinator()) as coordinator:
            start = coordinator.initial_offset() if offset is None else offset
            offset = coordinator.plan_next(start, limited=True)
            if offset is start:
                return
            offset = json.loads(json.dumps(offset))
            tasks = coordinator.tasks(start, offset)
        yield (
            offset,
            [row["at"] for task in tasks for rows in made.read_task(task) for row in rows.to_pylist()],
        )


def test_splits_of_different_age_are_read_in_the_order_of_time() -> None:
    read = list(batches(Ledgers, maxRowsPerTrigger="200", maxEventTimeSkew="1m"))
    assert sorted(at for _, times in read for at in times) == sorted(chain(*Ledgers.times.values()))
    assert max(len(times) for _, times in read) <= 200
    seen = 0
    for offset, times in read:
        assert min(times) > seen - 2 * MINUTE_MS
        seen = max([seen, *times])
        assert offset.get("state") is None or offset["state"]["event_time"]["front_ms"] <= seen + MINUTE_MS


def test_by_bytes_too() -> None:
    read = list(batches(Ledgers, maxBytesPerTrigger="200000", maxEventTimeSkew="1m"))
    assert len(read) == pytest.approx(6, abs=2)
    assert sum(len(times) for _, times in read) == 1_200


class TestWhatIsNotAligned:
    """What takes all there is has no order to keep, so nobody is asked for times."""

    @pytest.fixture
    def silent(self) -> type[Ledgers]:
        class Silent(Ledgers):
            name = "silent"

            def position_at(self, split: hw.NamedSplit, timestamp_ms: int) -> int:
                raise AssertionError("was asked for times")

        return Silent

    def test_a_batch_that_may_take_all_asks_nobody(self, silent: type[Ledgers]) -> None:
        [(_, times)] = batches(silent, maxRowsPerTrigger="1200", maxEventTimeSkew="1m")
        assert len(times) == 1_200

    def test_once_takes_all_whatever_the_limit_is(self, silent: type[Ledgers]) -> None:
        made = configured(silent, {"maxRowsPerTrigger": "200", "maxEventTimeSkew": "1m"})
        with closing(made.create_coordinator()) as coordinator:
            end: Any = coordinator.plan_next(coordinator.initial_offset(), limited=False)
        assert end["positions"] == {"young": 600, "old": 600}


def test_a_position_that_is_no_integer_is_an_error_that_names_the_contract() -> None:
    with pytest.raises(ContractError, match=r"FindsTimestamps\.position_at: with Heads"):
        list(batches(Confused, maxRowsPerTrigger="200", maxEventTimeSkew="1m"))


def test_a_source_that_finds_no_times_does_not_have_the_option() -> None:
    class Plain(hw.SimpleSource, hw.Heads):
        name = "plain"
        schema = Ledgers.schema
        discover = Ledgers.discover
        head = Ledgers.head
        read = Ledgers.read

    with pytest.raises(OptionError, match="maxEventTimeSkew"):
        configured(Plain, {"maxEventTimeSkew": "1m", "maxRowsPerTrigger": "5"})


def test_a_batch_that_waits_for_more_does_not_move_the_front() -> None:
    """By bytes there is more than a batch may have, and by rows less than it waits for."""

    class Growing(Ledgers):
        name = "growing"
        times: ClassVar = dict(Ledgers.times)

    limits = {"maxBytesPerTrigger": "200000", "minRowsPerTrigger": "1200", "maxEventTimeSkew": "1m"}
    with closing(configured(Growing, limits).create_coordinator()) as coordinator:
        first: Any = coordinator.plan_next(coordinator.initial_offset(), limited=True)
        assert coordinator.plan_next(first, limited=True) == first
        # They would be late if the batch had been read for which the plan was too small.
        Growing.times["found"] = [first["state"]["event_time"]["front_ms"]] * 300
        offset: Any = coordinator.plan_next(first, limited=True)
    assert offset["positions"]["found"] > 0
    assert "late_rows" not in offset["state"]["event_time"]


def test_rows_of_a_split_that_was_away_are_counted_if_the_others_have_gone_on_without_it() -> None:
    class Missed(Ledgers):
        name = "missed"
        times: ClassVar = dict(Ledgers.times)

    limits = {"maxRowsPerTrigger": "200", "maxEventTimeSkew": "1m", "eventTimeDelay": "10m"}
    with closing(configured(Missed, limits).create_coordinator()) as coordinator:
        offset: Any = coordinator.plan_next(coordinator.initial_offset(), limited=True)
        missed = Missed.times.pop("old")
        while offset["positions"].get("young", 0) < 600:
            offset = coordinator.plan_next(offset, limited=True)
        read = offset["kept"]["old"]["position"]
        Missed.times["old"] = missed
        offset = coordinator.plan_next(offset, limited=True)
    late = [at for at in missed[read:] if at < Missed.times["young"][-1] - 10 * MINUTE_MS]
    # The latest time of what was read is known to a second.
    assert offset["state"]["event_time"]["late_rows"] == pytest.approx(len(late), abs=1)


class Invoices(Ledgers):
    """What one ledger says of its times is two hours off."""

    name = "invoices"
    schema = pa.schema((("ledger", pa.string()), ("due", pa.timestamp("us", "UTC"))))
    off_ms: ClassVar = 2 * HOUR_MS

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        off_ms = self.off_ms if split.name == "old" else 0
        times = [datetime.fromtimestamp((at - off_ms) / 1_000, UTC) for at in self.times[split.name]]
        rows = [(split.name, at) for at in times[position:stop]]
        yield hw.Page(rows, position + len(rows))


class TestTimesOfAColumn:
    """The watermark is on a column, and batches are aligned by the times of records."""

    LIMITS: ClassVar = {"maxRowsPerTrigger": "200", "maxEventTimeSkew": "1m", "eventTimeDelay": "10m"}

    def read(self, source: type[hw.SimpleSource]) -> tuple[list[list[datetime]], Any]:
        """Return the times of each batch, and the last report."""
        made = configured(source, {**self.LIMITS, "eventTimeColumn": "due"})
        read = []
        with closing(made.create_coordinator()) as coordinator:
            start = coordinator.initial_offset()
            while (end := coordinator.plan_next(start, limited=True)) is not start:
                tasks: Any = coordinator.tasks(start, end)
                rows = [row for task in tasks for part in made.read_task(task) for row in part.to_pylist()]
                read.append([row["due"] for row in rows])
                # It is answered, and comes after what the tasks have reported.
                LossReports(tasks[0].reports_to)(hw.NamedSplit("old"), 0, 1, "were lost")
                start = end
            return read, coordinator.latest()

    def test_rows_that_are_late_by_it_are_counted_and_named(self, caplog: pytest.LogCaptureFixture) -> None:
        read, report = self.read(Invoices)
        late = 0
        seen: list[datetime] = []
        for times in read:
            late += sum(bool(seen) and at < max(seen) - timedelta(minutes=10) for at in times)
            seen += times
        assert report["metrics"]["lateInColumn"] == late > 100
        # The last row that was read is older than its record by two hours, or it is of the other ledger.
        assert report["metrics"]["currentFetchEventTimeLag"] >= 290 * HOUR_MS
        assert report["metrics"]["currentEmitEventTimeLag"] >= report["metrics"]["currentFetchEventTimeLag"]
        told = [message for message in caplog.messages if "a watermark with that delay drops them" in message]
        assert told[0].startswith("source invoices: ")
        assert "rows of a task are older in 'due' than what the query had read" in told[0]

    def test_where_it_agrees_with_the_records_nothing_is_said(self, caplog: pytest.LogCaptureFixture) -> None:
        class Punctual(Invoices):
            name = "punctual"
            off_ms = 0

        _, report = self.read(Punctual)
        assert report["metrics"]["lateInColumn"] == 0
        assert "eventTimeDelay" not in caplog.text

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"eventTimeColumn": "paid"}, "has no column 'paid'"),
            ({"eventTimeColumn": "ledger"}, "must be a timestamp or a date"),
            ({"maxEventTimeSkew": None}, "requires option 'maxEventTimeSkew'"),
        ],
    )
    def test_a_column_that_cannot_be_it_is_refused(
        self, options: dict[str, str | None], message: str
    ) -> None:
        given = {"maxRowsPerTrigger": "5", "maxEventTimeSkew": "1m", "eventTimeColumn": "due", **options}
        with pytest.raises(OptionError, match=message):
            configured(
                Invoices, {key: value for key, value in given.items() if value is not None}
            ).create_coordinator()
