"""Statistics in footers of Parquet, the damaged ones too: they never end this process."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.parquet_ends import end_positions
from headwater.readers.files.parquet_statistics import ColumnBounds, bounds_of, footer_of
from tests.conftest import SEED
from tests.readers.files.reading import read, settings

LONG = [pytest.mark.long, pytest.mark.timeout(900)]
ROWS = pa.table({"partition": [0] * 4, "offset": pa.array([3, None, 5, 9]), "s": ["a", "b", "c", "d"]})
FILTERS = (("offset", ">", 4), ("s", "<=", "d"))


def content(rows: pa.Table = ROWS) -> bytes:
    out = io.BytesIO()
    pq.write_table(rows, out, row_group_size=2)
    return out.getvalue()


def damaged() -> bytes:
    """A file of which the last row group says INT96 where the schema says INT64."""
    before, types, after = content().rpartition(b"\x1c\x15\x04\x19")
    assert types
    return before + b"\x1c\x15\x06\x19" + after


def status_of(path: Path) -> FileStatus:
    return FileStatus(f"file://{path}", path.stat().st_size, path.stat().st_mtime_ns // 1_000)


def test_bounds_are_those_of_the_columns_that_were_asked_for_in_each_row_group(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(content(ROWS.append_column("n", pa.array([None] * 4, pa.int64()))))
    with path.open("rb") as file:
        footer = footer_of(file, pq.ParquetFile(file).metadata)
    assert bounds_of(footer, status_of(path), {"offset", "n", "unknown"}) == [
        {"offset": ColumnBounds(3, 3, 1), "n": None},
        {"offset": ColumnBounds(5, 9, 0), "n": None},
    ]


def test_bounds_of_a_name_with_a_dot_are_not_those_of_a_part_of_a_struct(tmp_path: Path) -> None:
    path = tmp_path / "f"
    rows = pa.table({"a.b": [1, 2], "a": [{"b": 100}, {"b": 101}]})
    path.write_bytes(content(rows))
    how = settings("parquet", rows.schema, filters=(("a.b", "<", 2),))
    assert read(path, how) == rows.slice(0, 1).to_pylist()


def test_a_footer_that_ends_its_reader_is_damage_with_file_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(damaged())
    how = settings("parquet", ROWS.schema, filters=FILTERS)
    with pytest.raises(CorruptRecordError, match=r"statistics in its footer were not read.*SIGABRT") as found:
        read(path, how)
    assert found.value.split == f"file://{path}"
    assert isinstance(found.value.position, int)
    assert read(path, settings("parquet", ROWS.schema, filters=FILTERS, ignore_corrupt=True)) == []
    with pytest.raises(CorruptRecordError, match="SIGABRT"):
        end_positions([status_of(path)], {})
    with pytest.raises(CorruptRecordError, match="does not match"):
        read(path, settings("parquet", ROWS.schema))


def test_what_is_no_parquet_tells_no_end(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"offset,partition\n1,2\n")
    with pytest.raises(CorruptRecordError, match="parquet"):
        end_positions([status_of(path)], {})


@pytest.mark.parametrize("flips", [60, pytest.param(10_000, marks=LONG)])
def test_no_flipped_bit_of_a_footer_ends_this_process(tmp_path: Path, flips: int) -> None:
    good = content()
    begins = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
    places = [(at, bit) for at in range(begins, len(good) - 8) for bit in range(8)]
    path = tmp_path / "f"
    how = settings("parquet", ROWS.schema, filters=FILTERS, ignore_corrupt=True)
    for at, bit in random.Random(SEED).sample(places, min(flips, len(places))):
        mutated = bytearray(good)
        mutated[at] ^= 1 << bit
        path.write_bytes(mutated)
        rows = read(path, how)
        assert len(rows) <= ROWS.num_rows
