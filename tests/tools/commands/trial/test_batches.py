"""Which batches of a checkpoint are read again: both layouts, any file system, beside a running query."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import fsspec
import pytest

from headwater.tools.commands.checkpoint_folder import CheckpointFolder, LocalFolder, open_folder
from headwater.tools.commands.spark_checkpoint import CheckpointError
from headwater.tools.commands.trial import batches as module
from headwater.tools.commands.trial.batches import chosen_source, last_batches
from headwater.tools.commands.trial.kafka_ranges import logged_ranges, moved

SAMPLES = Path(__file__).parents[1] / "spark_checkpoints" / "spark-4.3.0"


def log(root: Path, batch_id: int, positions: Mapping[str, int], *, committed: bool = True) -> None:
    for folder in ("offsets", "commits")[: 1 + committed]:
        (root / folder).mkdir(parents=True, exist_ok=True)
        metadata = json.dumps({"batchTimestampMs": 1_795_000_000_000 + 2_000 * batch_id})
        (root / folder / str(batch_id)).write_text(f"v1\n{metadata}\n{json.dumps({'t': positions})}")


@pytest.mark.parametrize(
    ("query", "source", "topic"),
    [("one", "0", "orders"), ("two", "1", "returns"), ("named", "orders_in", "orders")],
)
@pytest.mark.parametrize("place", ["local", "memory"])
def test_ranges_of_both_layouts_on_any_file_system(query: str, source: str, topic: str, place: str) -> None:
    path = str(SAMPLES / query)
    if place == "memory":
        fsspec.filesystem("memory").put(path, "/trial", recursive=True)
        path = "memory://trial"
    batches = last_batches(open_folder(path, {}, writes=False), 2)
    assert batches.ids == "batches 1 to 2"
    found = logged_ranges(batches, source)
    assert [(each.topic, each.partition, each.start, each.end) for each in found] == [
        (topic, 0, 4, 10),
        (topic, 1, 4, 10),
    ]
    fsspec.filesystem("memory").rm("/trial", recursive=True) if place == "memory" else None


def test_the_first_batch_begins_where_sparks_source_began(tmp_path: Path) -> None:
    checkpoint = Path(shutil.copytree(SAMPLES / "one", tmp_path / "c"))
    batches = last_batches(LocalFolder(checkpoint), 10)
    assert [(each.start, each.end) for each in logged_ranges(batches, "0")] == [(0, 10), (0, 10)]
    (checkpoint / "sources" / "0" / "0").unlink()
    with pytest.raises(CheckpointError, match="where batch 0 of source 0 began is not known"):
        logged_ranges(batches, "0")


def test_a_partition_that_was_new_begins_at_its_earliest_record(tmp_path: Path) -> None:
    log(tmp_path, 7, {"0": 5})
    log(tmp_path, 8, {"0": 5, "1": 3})
    log(tmp_path, 9, {"0": 6, "1": 4}, committed=False)
    batches = last_batches(LocalFolder(tmp_path), 5)
    assert batches.ids == "batch 8"
    assert [str(each) for each in logged_ranges(batches, "0")] == ["t-1 from its earliest record to 3"]
    assert batches.seconds() == 2
    assert moved(*(entry.offsets["0"] for entry in batches.timed_span())) == 0


def test_fewer_batches_are_taken_where_they_have_many_offsets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch_id in range(5):
        log(tmp_path, batch_id, {"0": 100 * batch_id})
    every = last_batches(LocalFolder(tmp_path), 10)
    for most, ids in ((250, "batches 3 to 4"), (100, "batch 4"), (1, "batch 4"), (10_000, "batches 0 to 4")):
        monkeypatch.setattr(module, "MOST_OFFSETS", most)
        assert every.of_few_offsets("0").ids == ids


class RunningQuery(LocalFolder):
    """A folder in which a query removes an old entry when its log was listed."""

    def __init__(self, root: Path, times: int) -> None:
        super().__init__(root)
        self._times = times
        self._files = root

    def names(self, folder: str) -> list[str]:
        names = super().names(folder)
        if folder == "commits" and self._times:
            self._times -= 1
            oldest = min(int(name) for name in names)
            for each in ("offsets", "commits"):
                (self._files / each / str(oldest)).unlink()
        return names


def test_entries_that_a_running_query_removes_meanwhile_are_no_error(tmp_path: Path) -> None:
    for batch_id in range(6):
        log(tmp_path, batch_id, {"0": batch_id})
    folder: CheckpointFolder = RunningQuery(tmp_path, 2)
    assert last_batches(folder, 10).ids == "batches 3 to 5"
    with pytest.raises(CheckpointError, match="has just gone"):
        last_batches(RunningQuery(tmp_path, 3), 10)


def test_nothing_to_try_is_said(tmp_path: Path) -> None:
    log(tmp_path, 0, {"0": 1}, committed=False)
    with pytest.raises(CheckpointError, match="no batch is committed yet"):
        last_batches(LocalFolder(tmp_path), 1)
    entry = last_batches(LocalFolder(SAMPLES / "two"), 1).last
    assert chosen_source(entry, "1", ["0", "1"]) == "1"
    with pytest.raises(CheckpointError, match="--source 0 or --source 1"):
        chosen_source(entry, None, ["0", "1"])
    with pytest.raises(CheckpointError, match="there is no source '7'"):
        chosen_source(entry, "7", ["0", "1"])
    with pytest.raises(CheckpointError, match="source 0 is not Spark's Kafka or file source"):
        chosen_source(entry, "0", [])
    with pytest.raises(CheckpointError, match="no source of this query is Spark's own"):
        chosen_source(entry, None, [])
