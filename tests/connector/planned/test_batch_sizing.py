"""How long a batch took: by Spark's log, or between plans."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from headwater.connector.planned.batch_sizing import LoggedTimes, TimesBetweenPlans
from headwater.core.clock import ManualClock
from headwater.core.errors import OptionError

END: Any = {"positions": {"0": 7}, "source": "demo", "version": 2}


def log_batch(checkpoint: Path, batch: int, end: Any, began_s: float, ended_s: float | None) -> None:
    """Write what Spark logs of a batch."""
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
    offset = checkpoint / "offsets" / str(batch)
    offset.write_text("\n".join(["v1", json.dumps({"batchWatermarkMs": 0}), "0", json.dumps(end)]))
    os.utime(offset, (began_s, began_s))
    if ended_s is not None:
        commit = checkpoint / "commits" / str(batch)
        commit.write_text("v1\n{}")
        os.utime(commit, (ended_s, ended_s))


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_a_batch_took_from_its_offsets_to_its_commit(tmp_path: Path, prefix: str) -> None:
    log_batch(tmp_path, 9, {"other": 1}, 1_000, 1_001)
    log_batch(tmp_path, 10, END, 2_000, 2_007.5)
    (tmp_path / "commits" / ".10.crc").write_text("")
    times = LoggedTimes(f"{prefix}{tmp_path}")
    times.planned()
    took = times.duration_of(END)
    assert took is not None
    assert (took.duration_ms, took.is_exact) == (7_500, True)


def test_the_log_of_another_query_is_refused(tmp_path: Path) -> None:
    log_batch(tmp_path, 3, {"other": 1}, 1_000, 1_001)
    with pytest.raises(OptionError, match=r"checkpointLocation.*its batch 3 is that of another query"):
        LoggedTimes(str(tmp_path)).duration_of(END)


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"checkpointLocation.*no batch is logged there"):
        LoggedTimes(str(tmp_path)).duration_of(END)


def test_a_file_system_that_is_not_known_is_refused() -> None:
    with pytest.raises(OptionError, match="checkpointLocation"):
        LoggedTimes("nowhere://bucket/checkpoint").duration_of(END)


class TestBetweenPlans:
    """Spark asks for the next batch at once, or at the next multiple of the trigger's interval."""

    def took(self, interval_ms: int, work_ms: int, asked_at_ms: int) -> tuple[float, bool] | None:
        clock = ManualClock(0)
        times = TimesBetweenPlans(interval_ms, clock, lambda: asked_at_ms)
        assert times.duration_of(END) is None, "nothing was planned yet"
        times.planned()
        clock.advance(work_ms)
        took = times.duration_of(END)
        assert times.duration_of(END) is None, "Spark asks again and again while there is nothing new"
        return None if took is None else (took.duration_ms, took.is_exact)

    def test_without_a_trigger_all_of_it_is_work(self) -> None:
        assert self.took(0, 700, 1_000_000) == (700, True)

    def test_what_was_asked_for_at_a_trigger_may_have_waited(self) -> None:
        assert self.took(5_000, 5_000, 1_000_030) == (5_000, False)

    def test_what_was_asked_for_between_triggers_has_not(self) -> None:
        assert self.took(5_000, 7_300, 1_002_300) == (7_300, True)

    def test_what_took_longer_than_the_interval_has_not_waited_though_it_ended_at_a_trigger(self) -> None:
        """Spark waits for the next trigger after the batch began, and no longer."""
        assert self.took(5_000, 7_200, 1_000_030) == (7_200, True)
        assert self.took(5_000, 5_100, 1_000_200) == (5_100, False), "Spark may be late to ask"
