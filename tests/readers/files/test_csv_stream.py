"""Records of CSV over several lines: how often bytes are read, and how long a record may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.errors import CorruptRecordError
from headwater.readers.files import csv_stream
from headwater.readers.files.settings import ReadSettings
from headwater.readers.files.text_settings import CsvSettings
from headwater.readers.formats.columns import layout
from headwater.readers.formats.columns.table import ColumnTable
from headwater.readers.formats.csv.csv_decoder import CsvDecoder, StreamPart
from headwater.readers.formats.csv.csv_settings import CsvDialect
from tests.readers.files.reading import read, settings

COLUMNS: list[pa.Field[Any]] = [pa.field("n", pa.int64()), pa.field("s", pa.string())]
HOW = settings("csv", pa.schema(COLUMNS), csv=CsvSettings(dialect=CsvDialect(multi_line=True)))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small file has many."""
    monkeypatch.setattr(csv_stream, "_PIECE_BYTES", 64)


@pytest.mark.parametrize("size", [0, 1, 50, 63, 64, 65, 1_000, 5_000])
def test_a_record_of_any_length_is_read(tmp_path: Path, size: int) -> None:
    long = "x\n" * size
    path = tmp_path / "f"
    path.write_text(f'1,a\n2,"{long}"\n3,b\n4,"{long}"\n')
    assert read(path, HOW) == [
        {"n": 1, "s": "a"},
        {"n": 2, "s": long or None},
        {"n": 3, "s": "b"},
        {"n": 4, "s": long or None},
    ]


def test_a_quote_that_is_never_closed_makes_the_bytes_be_read_a_few_times_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []
    append = CsvDecoder.append_stream

    def counted(self: CsvDecoder, data: Any, start: int, stop: int, **more: Any) -> StreamPart:
        decoded.append(stop - start)
        return append(self, data, start, stop, **more)

    monkeypatch.setattr(CsvDecoder, "append_stream", counted)
    path = tmp_path / "f"
    path.write_text('1,"' + "2,b\n" * 20_000)
    assert [row["n"] for row in read(path, HOW)] == [1]
    assert sum(decoded) < 4 * path.stat().st_size


def test_a_record_that_is_too_long_is_an_error_with_file_and_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_stream, "LONGEST_LINE_BYTES", 1_000)
    path = tmp_path / "f"
    path.write_text('1,a\n2,"' + "2,b\n" * 2_000)
    with pytest.raises(CorruptRecordError, match="longer than 1000 bytes") as raised:
        read(path, HOW)
    assert (raised.value.split, raised.value.position) == (f"file://{path}", 4)


@pytest.mark.parametrize(
    ("how", "record"),
    [
        pytest.param(settings("csv", pa.schema(COLUMNS)), b"1,%s\n", id="csv"),
        pytest.param(settings("json", pa.schema(COLUMNS)), b'{"n":1,"s":"%s"}\n', id="json"),
    ],
)
def test_a_record_that_no_batch_holds_is_an_error_with_file_and_byte(
    how: ReadSettings, record: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_room = ColumnTable.make_room

    def all_but_full(table: ColumnTable, rows: int, size: int) -> None:
        make_room(table, rows, size)
        texts = table.nodes[:, layout.NODE_TYPE] == layout.TYPE_STRING
        table.nodes[texts, layout.NODE_DATA_SIZE] = layout.MOST - 100

    monkeypatch.setattr(ColumnTable, "make_room", all_but_full)
    path = tmp_path / "f"
    path.write_bytes(record % (b"x" * 20_000))
    with pytest.raises(CorruptRecordError, match="than an Arrow batch can hold") as raised:
        read(path, how)
    assert (raised.value.split, raised.value.position) == (f"file://{path}", 0)
