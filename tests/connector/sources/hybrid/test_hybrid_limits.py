"""The limits of a batch in a chain: what counts in which part, and batches as long as wanted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from headwater.connector.planned.batch_duration import FIRST_BATCH_BYTES
from headwater.connector.planned.coordinator import PlannedCoordinator
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.registry import source_factory
from headwater.core.clock import ManualClock
from headwater.core.errors import OptionError
from headwater.core.jsons import JsonObject
from headwater.core.source import Boundedness
from headwater.testing.engine import MicroBatchEngine, Step, read_batch

STREAM = Boundedness.CONTINUOUS_UNBOUNDED
LINE = "x" * 99 + "\n"
TARGET_MS = 10_000


def write_files(folder: Path, count: int, lines: int) -> None:
    """Write text files with lines of 100 bytes."""
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:04}.txt").write_text(LINE * lines)


def configured(options: dict[str, str], boundedness: Boundedness = STREAM) -> ConfiguredPlannedSource:
    given = {name.lower(): value for name, value in options.items()}
    made = source_factory("hybrid")(given, boundedness)
    assert isinstance(made, ConfiguredPlannedSource)
    return made.with_schema(made.schema(), given=False)


def two_folders(tmp_path: Path, *, count: int, lines: int, **options: str) -> dict[str, str]:
    """Return the options of a chain of two folders, each with so many files."""
    chain = {"sources": "old,new", **options}
    for part in ("old", "new"):
        write_files(tmp_path / part, count, lines)
        chain |= {f"{part}.source": "files", f"{part}.format": "text", f"{part}.path": str(tmp_path / part)}
    return chain


class TestRowsOfFiles:
    """How many rows a file has is not known before: a row of a limit counts as 1,000 of its bytes."""

    def test_a_batch_has_as_many_files_as_its_rows_weigh_in_every_part(self, tmp_path: Path) -> None:
        options = two_folders(tmp_path, count=6, lines=10, maxRowsPerTrigger="3")
        engine = MicroBatchEngine(lambda: configured(options))
        assert not engine.run()
        assert [len(batch) for batch in engine.sink.values()] == [30, 30, 30, 30]

    def test_of_a_limit_of_rows_and_one_of_bytes_the_smaller_one_counts(self, tmp_path: Path) -> None:
        options = two_folders(tmp_path, count=6, lines=10, maxRowsPerTrigger="5", maxBytesPerTrigger="2000")
        engine = MicroBatchEngine(lambda: configured(options))
        assert not engine.run()
        assert [len(batch) for batch in engine.sink.values()] == [20] * 6

    def test_a_task_has_as_many_bytes_as_its_rows_weigh(self, tmp_path: Path) -> None:
        options = two_folders(tmp_path, count=2, lines=40, maxRowsPerPartition="2")
        with closing(configured(options, Boundedness.BOUNDED).create_coordinator()) as coordinator:
            assert len(coordinator.plan_all()) == 8, "4 files of 4,000 bytes"
        assert len(read_batch(configured(options, Boundedness.BOUNDED))) == 160

    def test_a_last_part_of_files_cannot_wait_for_rows(self, tmp_path: Path) -> None:
        options = two_folders(tmp_path, count=1, lines=1, minRowsPerTrigger="5")
        with pytest.raises(
            OptionError, match=r"option 'minRowsPerTrigger': how many rows .* not known of 'new'"
        ):
            configured(options)


@dataclass
class PacedQuery:
    """Plans a chain's batches, whose work takes a known time by the size of the batch; nothing is read.

    Args:
        options: of the chain.
        cost_ms: of a byte or a record, by part.
    """

    options: dict[str, str]
    cost_ms: Sequence[float]
    offset: JsonObject | None = None

    def run(self, batches: int) -> list[tuple[int, int, float]]:
        """Plan in a new process; return the part, the size and the time of each batch."""
        made = configured({**self.options, "targetBatchDuration": "10s", "triggerInterval": "0s"})
        clock = ManualClock()
        coordinator = PlannedCoordinator(
            made.source, made.limits, made.hints, made.backoff, clock, wall_ms=lambda: 1_000
        )
        planned = []
        with closing(coordinator):
            start = self.offset or coordinator.initial_offset()
            for _ in range(batches):
                end = coordinator.plan_next(start, limited=True)
                ranges = [piece for task in coordinator.tasks(start, end) for piece in task.ranges]
                (part,) = {piece.split.index for piece in ranges}
                size = sum(made.source.rows_between(piece.start, piece.stop) for piece in ranges)
                worked_ms = 200 + self.cost_ms[part] * size
                clock.advance(round(worked_ms))
                planned.append((part, size, worked_ms))
                start = self.offset = end
        return planned


class TestBatchesAsLongAsWanted:
    """The size follows what the query manages, in each part anew: other things are counted there."""

    @pytest.fixture
    def chain(self, tmp_path: Path) -> dict[str, str]:
        """Folders with 64 MB and 48 MB, and a stream of rows without end."""
        chain = {"sources": "old,new,live", "live.source": "demo", "live.splits": "2"}
        for part, files in (("old", 640), ("new", 480)):
            (tmp_path / part).mkdir()
            for number in range(files):
                with (tmp_path / part / f"{number:04}.txt").open("wb") as file:
                    file.truncate(100_000)
            chain |= {
                f"{part}.source": "files",
                f"{part}.path": str(tmp_path / part),
                f"{part}.format": "json",
            }
        return chain | {"live.rows": "1000000000", "live.rowsPerSecond": "1"}

    def test_five_batches_after_the_begin_of_each_part_they_are(self, chain: dict[str, str]) -> None:
        query = PacedQuery(chain, cost_ms=[0.002, 0.004, 0.05])
        planned = query.run(45)
        for part in range(3):
            sizes = [size for at, size, _ in planned if at == part]
            worked = [worked_ms for at, _, worked_ms in planned if at == part]
            rest = [] if part == 2 else worked[-1:]
            assert sizes[0] <= FIRST_BATCH_BYTES, "a part begins cautiously"
            assert len(worked) > 8
            steady = worked[5 : len(worked) - len(rest)]
            assert all(abs(each - TARGET_MS) <= 0.2 * TARGET_MS for each in steady), worked

    def test_a_restart_begins_cautiously_in_the_part_in_which_it_was(self, chain: dict[str, str]) -> None:
        query = PacedQuery(chain, cost_ms=[0.002, 0.002, 0.05])
        assert query.run(7)[-1][0] == 0
        part, size, _ = query.run(1)[0]
        assert part == 0
        assert size <= FIRST_BATCH_BYTES

    def test_other_limits_stay_hard_in_every_part(self, chain: dict[str, str]) -> None:
        query = PacedQuery({**chain, "maxRowsPerTrigger": "3000"}, cost_ms=[0.0001, 0.0001, 0.001])
        planned = query.run(60)
        assert max(size for part, size, _ in planned if part < 2) == 3_000_000
        assert max(size for part, size, _ in planned if part == 2) == 3_000

    def test_wherever_the_driver_dies_at_the_seam_batches_have_the_same_rows(self, tmp_path: Path) -> None:
        options = two_folders(
            tmp_path, count=6, lines=10, targetBatchDuration="1h", triggerInterval="0s", maxRowsPerTrigger="2"
        )
        for step, batch in product(Step, range(7)):
            engine = MicroBatchEngine(lambda: configured(options))
            engine.run(crash_after=step, in_batch=batch)
            while engine.run():
                pass
            assert [len(rows) for rows in engine.sink.values()] == [20] * 6, (step, batch)

    def test_the_alignment_of_the_last_part_and_its_weights_count_it_as_their_limit(self) -> None:
        chain = {
            "sources": "old,live",
            "old.source": "demo",
            "live.source": "kafka",
            "live.kafka.bootstrap.servers": "localhost:1",
            "live.subscribe": "orders,clicks",
            "seamOffsets": '{"orders": {"0": 7}}',
            "targetBatchDuration": "10s",
            "triggerInterval": "0s",
            "maxRowsPerTrigger": "100",
        }
        make = source_factory("hybrid")
        given = {name.lower(): value for name, value in chain.items()}
        made = make({**given, "live.maxeventtimeskew": "1m"}, STREAM)
        assert isinstance(made, ConfiguredPlannedSource)
        assert made.source.parts[-1].source.alignment.max_skew_ms == 60_000  # type: ignore[attr-defined]
        assert made.limits.max_rows == 100
        assert made.limits.target is not None
        made = make({**given, "live.topicweights": '{"orders": 5}'}, STREAM)
        assert isinstance(made, ConfiguredPlannedSource)
        assert made.limits.weights == {"orders": 5}
