"""How a batch of files is cut into tasks, and which options make sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from headwater.core.errors import OptionError
from tests.connector.sources.files.files_queries import (
    NOW_S,
    VALUE,
    Drop,
    Query,
    batch,
    batch_and_tasks,
    text,
    values,
)

pytestmark = pytest.mark.usefixtures("patience")


@pytest.mark.parametrize("kind", ["parquet", "feather", "orc", "avro", "csv", "json", "text"])
def test_a_large_file_is_read_by_several_tasks_each_row_once(kind: str, inbox: Path) -> None:
    table = pa.table({"value": [f"row {number}" for number in range(3_000)]})
    write_rows(kind, inbox / "f", table)
    rows, tasks = batch_and_tasks(
        None if kind != "csv" else VALUE, format=kind, path=str(inbox), minPartitions="5"
    )
    assert sorted(values(rows)) == sorted(values(table))
    assert len(tasks) == 5
    assert batch(VALUE, format=kind, path=str(inbox), columns="value").num_rows == 3_000


@pytest.mark.parametrize("kind", ["parquet", "feather", "orc", "avro", "csv", "json", "text"])
def test_a_folder_may_be_all_that_is_wanted(kind: str, inbox: Path) -> None:
    folder = inbox / "day=7"
    folder.mkdir()
    write_rows(kind, folder / "f", pa.table({"value": [f"row {number}" for number in range(30)]}))
    assert batch(format=kind, path=str(inbox), columns="day").to_pylist() == [{"day": 7}] * 30


def test_text_is_one_column(inbox: Path, drop: Drop) -> None:
    drop("a", NOW_S)
    with pytest.raises(OptionError, match=r"one column of strings, .* the schema has a string, b string"):
        batch(
            pa.schema([pa.field("a", pa.string()), pa.field("b", pa.string())]),
            format="text",
            path=str(inbox),
        )


def test_small_files_are_packed_into_few_tasks_and_compressed_ones_are_not_cut(
    inbox: Path, drop: Drop
) -> None:
    for number in range(40):
        drop(f"f{number:02}.gz" if number < 3 else f"f{number:02}", NOW_S, "\n" * 10)
    (inbox / "f00.gz").unlink()
    (inbox / "f01.gz").unlink()
    (inbox / "f02.gz").unlink()
    rows, tasks = batch_and_tasks(format="text", path=str(inbox), parallelism="4")
    assert rows.num_rows == 370
    assert len(tasks) <= 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "jsn"}, "'format'.*must be one of"),
        ({"format": "xml"}, "'format': cannot be xml.*spark.read.format"),
        ({}, "'format'.*is required"),
        ({"format": "csv", "path": ""}, "'path'"),
        ({"format": "csv", "path": "[1]"}, "'path'.*JSON list"),
        ({"format": "csv", "path": "/data/[a"}, "'path'.*not closed"),
        ({"format": "csv", "paths": '["/data/[a"]'}, "'paths'.*not closed"),
        ({"format": "csv", "pathGlobFilter": "{a"}, "'pathGlobFilter'.*not closed"),
        (
            {"format": "csv", "maxFilesPerTrigger": "1", "maxBytesPerTrigger": "1"},
            "'maxBytesPerTrigger'.*together",
        ),
        ({"format": "csv", "cleanSource": "archive"}, "'sourceArchiveDir'.*required"),
        (
            {"format": "csv", "cleanSource": "archive", "sourceArchiveDir": "/data/old"},
            "'sourceArchiveDir'.*below",
        ),
        (
            {"format": "csv", "cleanSource": "archive", "sourceArchiveDir": "file:///data/old"},
            "'sourceArchiveDir'.*below",
        ),
        (
            {"format": "csv", "cleanSource": "archive", "sourceArchiveDir": "s3://b/old"},
            "'sourceArchiveDir'.*on the file system",
        ),
        ({"format": "csv", "modifiedAfter": "2024-01-01T00:00:00"}, "'modifiedAfter'.*only for a batch"),
        ({"format": "csv", "maxFilePerTrigger": "1"}, "did you mean 'maxFilesPerTrigger'"),
        ({"format": "csv", "path": "nope://x"}, "'path'.*nope"),
        ({"format": "csv", "columns": "b"}, "'columns'.*given with .schema"),
        ({"format": "csv", "sep": "\\x"}, "'sep'.*backslash"),
        ({"format": "csv", "storageOptions": "[]"}, "'storageOptions'.*JSON object"),
        ({"format": "csv", "includeMetadata": "true"}, "'includeMetadata'.*_metadata"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said), Query(VALUE, **{"path": "/data", **options}) as query:
        query.step()


def test_a_state_location_must_be_safe() -> None:
    with pytest.raises(OptionError, match="'stateLocation': the file system 'http' is not known to have"):
        Query(VALUE, format="text", path="/data", stateLocation="http://host/x")


@pytest.mark.parametrize("option", ["stateLocation", "badRecordsPath"])
def test_what_is_written_must_not_be_read(inbox: Path, option: str) -> None:
    def ask(path: str, **options: Any) -> None:
        options[option] = f"{inbox}/own"
        with Query(VALUE, format="csv", path=path, **options):
            pass

    for path in (str(inbox), f"file://{inbox}"):
        with pytest.raises(OptionError, match=rf"'{option}': must not be below what is read \({path}\)"):
            ask(path, recursiveFileLookup="true")
    with pytest.raises(OptionError, match=rf"'{option}': must not be below what is read"):
        ask(f"{inbox}/*/*/*")
    # Other folders than `key=value` are not looked into.
    ask(str(inbox))
    ask(str(inbox / "in"), recursiveFileLookup="true")


def test_secrets_in_storage_options_are_not_shown(inbox: Path) -> None:
    with text(inbox, storageOptions='{"secret":"hush"}') as query:
        assert "hush" not in repr(query._configured)


def write_rows(kind: str, path: Path, table: pa.Table) -> None:
    """Write a table with one column of strings, in many small parts where the format has such."""
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=100)
    elif kind == "feather":
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(str(path), table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=100)
    elif kind == "orc":
        pyarrow.orc.write_table(table, str(path), stripe_size=1024, batch_size=64)
    elif kind == "avro":
        schema = {"type": "record", "name": "row", "fields": [{"name": "value", "type": ["null", "string"]}]}
        with path.open("wb") as file:
            fastavro.writer(file, schema, table.to_pylist(), codec="deflate")
    elif kind == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        path.write_text("\n".join(values(table)))
