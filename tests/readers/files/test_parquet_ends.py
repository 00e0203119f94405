"""Where files of Parquet end in a topic: out of their footers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.parquet_ends import end_positions


def write(path: Path, topic: str, partition: int, offsets: list[int]) -> FileStatus:
    """Write a file without a readable row: all that lies before the footer is zeros."""
    rows = len(offsets)
    columns = {"topic": pa.array([topic] * rows, pa.string()), "partition": [partition] * rows}
    table = pa.table({**columns, "offset": pa.array(offsets, pa.int64())})
    pq.write_table(table, path, row_group_size=2)
    written = path.read_bytes()
    footer = 8 + int.from_bytes(written[-8:-4], "little")
    path.write_bytes(bytes(len(written) - footer) + written[-footer:])
    return FileStatus(str(path), path.stat().st_size, path.stat().st_mtime_ns // 1_000)


def test_the_furthest_offset_of_each_partition_is_told_without_a_row_that_is_read(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "1", "orders", 0, [5, 3, 4]),
        write(tmp_path / "2", "orders", 0, [0, 1, 2]),
        write(tmp_path / "3", "orders", 1, [9]),
        write(tmp_path / "4", "returns", 0, [7]),
    ]
    assert end_positions(files, {}) == {"orders": {"0": 6, "1": 10}, "returns": {"0": 8}}


def test_a_file_without_rows_tells_nothing(tmp_path: Path) -> None:
    files = [write(tmp_path / "1", "orders", 0, []), write(tmp_path / "2", "orders", 2, [1])]
    assert end_positions(files, {}) == {"orders": {"2": 2}}
