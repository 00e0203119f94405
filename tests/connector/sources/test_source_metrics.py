"""Each metric moves on a source that is read, in the mode or modes that have it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.metrics import COUNTERS, SOURCE_METRICS
from headwater.core.source import Boundedness
from headwater.readers.runtime.loss_reports import LossReports
from headwater.testing.making import configured
from tests.readers.http.scripted import scripted_server

BEGIN_MS = 1_790_000_000_000
MANY = 300


class Orders(hw.SimpleSource, hw.Heads):
    """Two logs of orders, of which a batch reads a part; the outside is away for a moment."""

    name = "orders"
    schema = pa.schema((("log", pa.string()), ("at", pa.timestamp("ms", "UTC"))))
    failures: ClassVar[list[Exception]] = []

    def discover(self) -> list[hw.NamedSplit]:
        if self.failures:
            raise self.failures.pop()
        hw.count("looks")
        return [hw.NamedSplit("one"), hw.NamedSplit("two")]

    def head(self, split: hw.NamedSplit) -> int:
        return MANY

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        rows = rows_of(split)[position:stop]
        hw.count("ordersRead", len(rows))
        yield hw.Page(rows, position + len(rows))


class Queues(hw.SimpleSource):
    """The same in barrier mode, a page of ten at a time; the first page of each names a queue of its own."""

    name = "queues"
    schema = Orders.schema
    names_children: ClassVar = False

    def discover(self) -> list[hw.NamedSplit]:
        hw.count("looks")
        return [hw.NamedSplit("one"), hw.NamedSplit("two")]

    def read(self, split: hw.NamedSplit, position: int) -> Iterator[hw.Page]:
        for first in range(position, MANY, 10):
            rows = rows_of(split)[first : first + 10]
            hw.count("ordersRead", len(rows))
            children = [hw.NamedSplit(f"{split.name}-{number}") for number in range(30)]
            named = children if self.names_children and first == 0 and "-" not in split.name else []
            yield hw.Page(rows, first + 10, named, pending=MANY - first - 10)


def rows_of(split: hw.NamedSplit) -> list[tuple[str, datetime]]:
    times = (datetime.fromtimestamp((BEGIN_MS + number) / 1_000, UTC) for number in range(MANY))
    return [(split.name, at) for at in times]


def reports(
    source: Any, options: Mapping[str, str], columns: pa.Schema | None = None
) -> list[dict[str, int]]:
    """Read a stream until a trigger finds nothing to do; return the metrics as of each trigger but the first.

    Those of tasks are of the batch before.
    """
    made = configured(source, options, Boundedness.CONTINUOUS_UNBOUNDED)
    if columns is not None:
        made = made.with_schema(columns, given=True)
    found: list[dict[str, int]] = []
    with closing(made.create_coordinator()) as coordinator:
        start = coordinator.initial_offset()
        while (end := json.loads(json.dumps(coordinator.plan_next(start, limited=True)))) != start:
            if (report := coordinator.latest()) is not None:
                found.append(dict(report["metrics"]))  # type: ignore[arg-type]
            tasks: Any = coordinator.tasks(start, end)
            for task in tasks:
                list(made.read_task(task))
            if tasks and getattr(tasks[0], "reports_to", None) is not None:
                # It is answered, and comes after what the tasks have reported.
                LossReports(tasks[0].reports_to)(hw.NamedSplit("one"), 0, 0, "were not lost")
            start = end
        report = coordinator.latest()
        assert report is not None
        found.append(dict(report["metrics"]))  # type: ignore[arg-type]
    COUNTERS.take()
    return found


def test_planned_mode_tells_what_waits_what_was_read_and_what_the_source_counts() -> None:
    Orders.failures.append(ConnectionError("away"))
    found = reports(Orders, {"maxRowsPerTrigger": "200"})
    assert found[-1]["planningRetries"] == 1
    pending = [report["pendingRecords"] for report in found]
    assert (pending[0], pending[-1]) == (400, 0)
    assert [report["pendingBytes"] for report in found] == [1_000 * records for records in pending]
    assert [report["isProcessingBacklog"] for report in found[:3]] == [1, 1, 0]
    assert (found[-1]["ordersRead"], found[-1]["numBytesIn"] > 8 * 600) == (600, True)
    assert found[-1]["looks"] >= len(found)
    assert found[-1]["unassignedSplits"] == 0


def test_barrier_mode_tells_the_same_where_the_outside_does(tmp_path: Path) -> None:
    options = {
        "stateLocation": str(tmp_path),
        "barrierRows": "100",
        "parallelism": "1",
        "pollInterval": "1h",
        "eventTimeColumn": "at",
        "maxEventTimeSkew": "1h",
    }
    found = reports(Queues, options)
    pending = [report["pendingRecords"] for report in found]
    assert pending == sorted(pending, reverse=True)
    assert (0 < pending[0] < 600, pending[-1]) == (True, 0)
    assert {report["isProcessingBacklog"] for report in found[:-1]} == {1}
    assert found[-1]["isProcessingBacklog"] == 0
    # An epoch that was cut fetches a page again that it had not handed over.
    assert (found[-1]["ordersRead"] >= 600, found[-1]["numBytesIn"] > 8 * 600) == (True, True)
    now_ms = datetime.now(UTC).timestamp() * 1_000
    assert all(0 < now_ms - report["currentFetchEventTimeLag"] - BEGIN_MS < 3_600_000 for report in found)
    assert all(report["currentEmitEventTimeLag"] >= report["currentFetchEventTimeLag"] for report in found)


def test_splits_that_reading_found_are_unassigned_until_a_task_begins_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Queues, "names_children", True)
    options = {"stateLocation": str(tmp_path), "barrierRows": "300", "parallelism": "1", "pollInterval": "1h"}
    found = reports(Queues, options)
    waiting = [report["unassignedSplits"] for report in found]
    assert (max(waiting) > 20, waiting[-1]) == (True, 0)
    assert "pendingRecords" not in found[0], "of splits that nobody has read it is not known"
    assert found[-1]["pendingRecords"] == 0


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "badRecordsPath"])
@pytest.mark.parametrize("form", ["json", "csv"])
def test_files_that_wait_are_unassigned_and_records_that_cannot_be_read_are_in_error(
    tmp_path: Path, form: str, mode: str
) -> None:
    bad, good = ("{x", '{"n": 1}') if form == "json" else ("x", "1")
    for number in range(4):
        (tmp_path / f"{number}.{form}").write_text(f"{good}\n{bad}\n{good}\n{bad}\n")
    size = (tmp_path / f"0.{form}").stat().st_size
    mode_options = {"badRecordsPath": str(tmp_path / "_bad")} if mode == "badRecordsPath" else {"mode": mode}
    options = {"path": str(tmp_path), "format": form, "maxFilesPerTrigger": "1"}
    found = reports("files", options | mode_options, pa.schema((("n", pa.int32()),)))
    assert [report["unassignedSplits"] for report in found[:4]] == [3, 2, 1, 0]
    assert [report["pendingBytes"] for report in found[:4]] == [3 * size, 2 * size, size, 0]
    assert [report["isProcessingBacklog"] for report in found[:4]] == [1, 1, 1, 0]
    assert found[-1]["numRecordsInErrors"] == 8


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "badRecordsPath"])
def test_values_that_cannot_be_decoded_are_in_error(tmp_path: Path, mode: str) -> None:
    mode_options = {"badRecordsPath": str(tmp_path / "bad")} if mode == "badRecordsPath" else {"mode": mode}

    class Values(Queues):
        name = "values"
        schema = pa.schema((("value", pa.string()),))

        def decoding(self) -> hw.contracts.Decoding:
            return hw.decode("json", column="value", schema="n int", options=mode_options)

        def read(self, split: hw.NamedSplit, position: int) -> Iterator[hw.Page]:
            if not position:
                yield hw.Page([('{"n": 1}',), ("{x",), ("{y",)], 3)

    found = reports(Values, {"stateLocation": str(tmp_path / "state"), "pollInterval": "1h"})
    assert found[-1]["numRecordsInErrors"] == 2 * 2


@pytest.mark.parametrize("bad_pages", ["skip", "column"])
def test_pages_of_an_api_that_are_left_out_are_counted(tmp_path: Path, bad_pages: str) -> None:
    with scripted_server() as server:
        server.say("/a", {"items": [1, 2]})
        server.say("/a?page=2", b"<html>")
        server.say("/a?page=3", {"items": [5]})
        server.say("/a?page=4", {"items": []})
        options = {
            "url": f"{server.origin}/a",
            "stateLocation": str(tmp_path),
            "paging": "page",
            "badPages": bad_pages,
            "pollInterval": "1h",
        }
        found = reports("http", options)
    assert found[-1]["leftOutPages"] == 1


def test_every_metric_has_a_test_here_that_makes_it_move() -> None:
    # Two need clocks of their own: tests/connector/*/test_coordinator.py and test_user_sources_event_time.py.
    elsewhere = {"sourceIdleTime", "lateInColumn"}
    postgres = Path(__file__).with_name("postgres") / "test_postgres_lag.py"
    tested = Path(__file__).read_text() + postgres.read_text()
    assert [name for name in SOURCE_METRICS.keys() - elsewhere if f'["{name}"]' not in tested] == []
