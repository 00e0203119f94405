"""The files benchmark runs, on a few files. Times do not count."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import files, files_planning
from benchmarks.files_ceiling import FilesCeilingDataSource, make_batches


@pytest.mark.parametrize("is_real", [False, True])
def test_planning_takes_in_all_files_and_then_plans_the_new_ones(tmp_path: Path, is_real: bool) -> None:
    found = list(
        files_planning.planning(
            300, str(tmp_path / "real") if is_real else None, str(tmp_path / "state"), rounds=2
        )
    )
    assert len(found) == 2
    assert all(0 < plan <= whole and 0 <= wait <= plan for plan, wait, whole, _, _ in found)
    assert all(state < 65_536 for _, _, _, state, _ in found)


def test_memory_is_that_of_a_whole_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1,a,1.5,true,2024-01-01,x\n" * 10)
    (peak_mib,) = files.memory(str(tmp_path / "f"), "csv")
    assert peak_mib > 10


def test_the_ceiling_hands_over_the_rows_that_headwater_would_read(tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    for name in "ab":
        (folder / name).write_text("".join(f"{name}{number}\n" for number in range(50)))
    schema = files._spark_ddl("value string")
    make_batches(str(folder), {"format": "text"}, schema)
    for file in folder.iterdir():
        file.write_text("x" * file.stat().st_size)  # what is there now is not read
    options = {"source": "files", "path": str(folder), "format": "text", "timezone": "UTC"}
    reader = FilesCeilingDataSource(options).reader(schema)
    values = [
        row["value"]
        for partition in reader.partitions()
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    ]
    assert sorted(values) == sorted(f"{name}{number}" for name in "ab" for number in range(50))
