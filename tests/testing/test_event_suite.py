"""The suite for source events accepts the example, and finds events that are lost or come twice."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from examples.budget_source import Budget, BudgetEnumerator, BudgetReader, write_lines
from headwater import contracts
from headwater.testing import BrokenContractError, EventTests, MicroBatchEngine, SourceTests


class BudgetTests(SourceTests, EventTests):
    source = Budget

    def options(self) -> Mapping[str, str]:
        folder = Path(tempfile.mkdtemp())
        write_lines(folder, "a", 13)
        write_lines(folder, "b", 4)
        return {"folder": str(folder)}

    def grow(self, options: Mapping[str, str]) -> None:
        write_lines(Path(options["folder"]), "c", 5)

    def told(self, state: Any) -> object:
        return state["used"]


class TestBudget(BudgetTests):
    pass


def test_readers_stop_at_the_budget_that_the_enumerator_tells_them(tmp_path: Path) -> None:
    options = {**BudgetTests().options(), "budget": "6", "stateLocation": str(tmp_path)}
    query = MicroBatchEngine.of(Budget, options)
    query.run()
    assert len(query.rows) == 6


class Forgets(Budget):
    """Its enumerator forgets at each restart what it was told."""

    def restore_enumerator(self, context: Any, checkpoint: Any) -> BudgetEnumerator:
        return self.create_enumerator(context)


class Ahead(Budget):
    """Its readers tell of a record before they give it."""

    def create_reader(self) -> BudgetReader:
        class Reader(BudgetReader):
            waiting: contracts.EpochRecords | None = None

            def fetch(self) -> contracts.EpochRecords:
                waiting = self.waiting
                if waiting is None or not self._open.keys() & waiting.records.keys():
                    return super().fetch()
                self.waiting = None
                return waiting

            def answer(
                self, path: contracts.SplitPath, record: contracts.EpochRecord
            ) -> contracts.EpochRecords:
                plain = contracts.EpochRecord(record.rows, record.position)
                self.waiting = contracts.EpochRecords({path: [plain]})
                return contracts.EpochRecords(events=record.events)

        return Reader(self.folder)


class AtTheEnd(Budget):
    """Its readers tell at the end of a split how much they have read since they were made."""

    def create_reader(self) -> BudgetReader:
        class Reader(BudgetReader):
            count = 0

            def fetch(self) -> contracts.EpochRecords:
                fetched = super().fetch()
                if not fetched.caught_up:
                    return fetched
                count, self.count = self.count, 0
                return contracts.EpochRecords(caught_up=fetched.caught_up, events=({"read": count},))

            def answer(
                self, path: contracts.SplitPath, record: contracts.EpochRecord
            ) -> contracts.EpochRecords:
                self.count += record.rows.num_rows
                return contracts.EpochRecords({path: [contracts.EpochRecord(record.rows, record.position)]})

        return Reader(self.folder)


@pytest.mark.parametrize("broken", [Forgets, Ahead, AtTheEnd])
def test_events_that_are_lost_or_doubled_are_found(broken: type[Budget]) -> None:
    suite = cast("BudgetTests", type("Suite", (BudgetTests,), {"source": broken})())
    with pytest.raises(
        BrokenContractError,
        match=r"BarrierSplitEnumerator.handle_source_event: .* the enumerator knows \d+, not",
    ):
        suite.test_events_arrive_once_each_however_epochs_are_cut_and_queries_crash()
