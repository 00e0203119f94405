"""The column about the file, as Spark's own `_metadata`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.parity.files.files_parity import METADATA, WRITTEN_S, FilesParity, Row, reading
from tests.parity.files.plain import plain_rows
from tests.parity.golden.local_reads import read_batch

TEXT = reading("text", "value string")


@pytest.mark.parametrize(
    "name",
    [
        "a b.txt",
        "k=1 %2F/\u00e9.txt",
        *(name for name in ("a.txt", "50%.txt", "\u00e9+#.txt")),
    ],
)
def test_what_is_known_of_a_file_is_what_spark_says(parity: FilesParity, tmp_path: Path, name: str) -> None:
    path = tmp_path / "in" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"one\ntwo\n")
    os.utime(path, (WRITTEN_S, WRITTEN_S))

    def ask() -> tuple[tuple[str, ...], list[Row]]:
        frame = parity.settings.spark.read.text(str(tmp_path / "in")).select("_metadata.*").drop("row_index")
        return tuple(frame.columns), plain_rows(frame.toArrow())

    columns, rows = parity.answers.ask(("metadata", name), ask)
    for schema in (None, parity.settings.parsed(f"value string, {METADATA}")):
        options = {"source": "files", "format": "text", "includeMetadata": "true"}
        _, ours = read_batch({**options, "path": str(tmp_path / "in")}, schema, parity.settings.of_tasks)
        found = pa.Table.from_struct_array(ours["_metadata"])
        assert tuple(found.column_names) == columns
        assert plain_rows(found) == rows
        assert found.num_rows == 2


@pytest.mark.parametrize("schema", [None, "a int, _metadata struct<x:int>"])
def test_a_column_of_the_file_with_that_name_is_one_like_others(
    parity: FilesParity, tmp_path: Path, schema: str | None
) -> None:
    (tmp_path / "a.json").write_text('{"a":1,"_metadata":{"x":5}}\n')

    def ask() -> tuple[str, list[Row]]:
        reader = parity.settings.spark.read.format("json")
        frame = (reader if schema is None else reader.schema(schema)).load(str(tmp_path))
        return frame.schema.json(), plain_rows(frame.toArrow())

    given = None if schema is None else parity.settings.parsed(schema)
    options = {"source": "files", "format": "json", "path": str(tmp_path)}
    ours_schema, ours = read_batch(options, given, parity.settings.of_tasks)
    assert (ours_schema.json(), plain_rows(ours)) == parity.answers.ask(("a column _metadata", schema), ask)


def test_a_filter_of_names_counts_for_a_file_that_is_named_as_in_spark(
    parity: FilesParity, tmp_path: Path
) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.csv"]
    for path in paths:
        path.write_bytes(b"x")
    for pattern in ("*.txt", "*.csv"):
        for url in (str(paths[0]), [str(path) for path in paths], str(tmp_path)):
            how = replace(TEXT, options={"pathGlobFilter": pattern})
            sparks, ours = parity.both_of(paths, url, how, streaming=False)
            assert ours == sparks


@pytest.mark.parametrize(
    "pattern", ["{a/b,c/d}/*.txt", "{a/{b,x},c/d}", "[ac]/?/*", "*/*/e.txt", "{a,c}/{b,d}"]
)
def test_patterns_of_paths_select_what_they_do_in_spark(
    parity: FilesParity, tmp_path: Path, pattern: str
) -> None:
    paths = [tmp_path / name for name in ("a/b/e.txt", "c/d/e.txt", "c/x/f.txt")]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(path.name.encode())
    sparks, ours = parity.both_of(paths, f"{tmp_path}/{pattern}", TEXT, streaming=False)
    assert ours == sparks
    assert any(ours)
