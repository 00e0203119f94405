"""CSV with a column that a folder hides: every range of a file knows it, also without the header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.errors import CorruptRecordError
from headwater.readers.files.text_settings import CsvSettings, RecordSettings
from tests.readers.files.reading import read, settings

FIELDS: list[pa.Field[Any]] = [pa.field("a", pa.string()), pa.field("k", pa.int32())]


def rows_of(folder: Path, header: str, border: int) -> list[tuple[str, int]]:
    path = folder / "k=1" / "f.csv"
    path.parent.mkdir()
    path.write_text(f"{header}\n1,9\n2,8\n3,7\n")
    how = settings(
        "csv",
        pa.schema(FIELDS),
        folder,
        csv=CsvSettings(header=True, is_inferred=True),
        records=RecordSettings(mode="failfast"),
    )
    return [(row["a"], row["k"]) for row in read(path, how, [border])]


@pytest.mark.parametrize("border", [1, 5, 9])
def test_a_hidden_last_column_is_a_part_of_the_records_of_every_range(tmp_path: Path, border: int) -> None:
    assert rows_of(tmp_path, "a,k", border) == [("1", 1), ("2", 1), ("3", 1)]


@pytest.mark.parametrize("border", [1, 9])
def test_a_folder_that_hides_no_column_makes_no_place_for_one(tmp_path: Path, border: int) -> None:
    with pytest.raises(CorruptRecordError, match="more or fewer values"):
        rows_of(tmp_path, "a", border)
