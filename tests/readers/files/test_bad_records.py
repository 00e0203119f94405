"""Files of records of text that could not be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.core.errors import SourceError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.bad_records import Quarantine, part_start
from headwater.readers.formats.bad_records import BadRecordsLocation

PART = next(at for at in range(1 << 20, 1 << 30, 1 << 20) if part_start(at) == at)
FILE = FileStatus("file:///in/a b.json", 9, 5)


def _written(folder: Path) -> dict[str, list[dict[str, object]]]:
    return {
        str(path.relative_to(folder)): [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(folder.rglob("*.jsonl"))
    }


def test_each_part_of_a_file_with_bad_records_is_one_file_with_path_position_reason_and_bytes(
    tmp_path: Path,
) -> None:
    quarantine = Quarantine(BadRecordsLocation(path=str(tmp_path)))
    quarantine.add(FILE, 3, "is not JSON", b"{")
    quarantine.add(FILE, 9, "is not JSON", b"\xff")
    quarantine.add(FILE, PART + 1, "is not JSON", b"[")
    quarantine.finish()
    found = _written(tmp_path)
    assert [name[-26:] for name in found] == [f"{0:020d}.jsonl", f"{PART:020d}.jsonl"]
    first, second = found.values()
    said = {"path": FILE.url, "reason": "the record is not JSON"}
    assert first == [
        {**said, "position": 3, "record": "{"},
        {**said, "position": 9, "recordBase64": "/w=="},
    ]
    assert second == [{**said, "position": PART + 1, "record": "["}]


def test_a_second_read_writes_the_same_files_and_another_version_of_a_file_others(tmp_path: Path) -> None:
    for file in (FILE, FILE, FILE._replace(modified_us=6)):
        quarantine = Quarantine(BadRecordsLocation(path=str(tmp_path)))
        quarantine.add(file, 3, "is not JSON", b"{")
        quarantine.finish()
    assert len(_written(tmp_path)) == 2


def test_nothing_is_written_where_no_record_is_bad(tmp_path: Path) -> None:
    Quarantine(BadRecordsLocation(path=str(tmp_path / "none"))).finish()
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_written_to_is_an_error_with_file_position_and_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    quarantine = Quarantine(BadRecordsLocation(path=str(tmp_path / "file")))
    quarantine.add(FILE, 3, "is not JSON", b"{")
    with pytest.raises(SourceError, match=r"badRecordsPath.*a b\.json"):
        quarantine.finish()
