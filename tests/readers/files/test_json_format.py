"""JSON files as tasks read them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headwater.readers.files import json_documents
from headwater.readers.files.settings import METADATA_TYPE
from headwater.readers.files.text_settings import JsonSettings, RecordSettings
from tests.readers.files.reading import infer, read, settings

NUMBER = pa.schema([("a", pa.int64())])
KEPT = NUMBER.append(pa.field("_corrupt_record", pa.string()))


def test_all_rows_of_a_bad_array_have_its_text_in_batches_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_documents, "_MOST_TEXT", 100)
    text = "[" + ",".join(['{"a":1}'] * 30 + ['{"a":"x"}']) + "]"
    (tmp_path / "f").write_text(f'{text}\n{{"a":2}}\n')
    rows = read(tmp_path / "f", settings("json", KEPT))
    assert [row["a"] for row in rows] == [1] * 30 + [None, 2]
    assert [row["_corrupt_record"] for row in rows] == [text] * 31 + [None]


def test_rows_are_there_where_no_column_of_the_file_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('{"a":1}\n\n[{"a":2},{"a":3}]')
    schema = pa.schema([pa.field("_metadata", METADATA_TYPE)])
    assert len(read(tmp_path / "f", settings("json", schema))) == 3


def test_a_whole_file_is_one_document_whatever_the_borders(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('[{"a":\n1},\n\n{"a":2}]')
    how = settings("json", NUMBER, json=JsonSettings(multi_line=True))
    assert read(tmp_path / "f", how, [3, 9]) == [{"a": 1}, {"a": 2}]


def test_a_part_of_the_records_is_enough_to_infer_from(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f'{{"a{at % 4}":1}}\n' for at in range(100)))
    half = settings("json", NUMBER, records=RecordSettings(sampling_ratio=0.5))
    assert infer(tmp_path / "f", half).names == ["a1", "a3"]
    assert infer(tmp_path / "f", settings("json", NUMBER)).names == ["a0", "a1", "a2", "a3"]
