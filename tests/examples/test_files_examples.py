"""The files example runs as its heading says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq


def test_files_stream_reads_what_is_there_deletes_it_and_keeps_bad_lines(
    run: Callable[..., str], tmp_path: Path
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    for number in range(3):
        (inbox / f"{number}.json").write_text(json.dumps({"user": "ann", "amount": number}) + "\n")
    (inbox / "3.json").write_text("no json\n")
    run("examples/files_stream.py", str(inbox), str(tmp_path / "out"), "--available-now")
    rows = pq.read_table(str(tmp_path / "out" / "rows")).to_pylist()
    assert sorted(row["amount"] for row in rows if row["user"]) == [0, 1, 2]
    assert [row["_corrupt_record"] for row in rows if not row["user"]] == ["no json"]
    assert list(inbox.iterdir()) == []
