"""The column about the file, as Spark's own `_metadata`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.parity.files.files_parity import METADATA, FilesParity, reading
from tests.parity.files.plain import plain_rows

TEXT = reading("text", "value string")


@pytest.mark.parametrize(
    "name",
    [
        "a b.txt",
        "k=1 %2F/\u00e9.txt",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("a.txt", "50%.txt", "\u00e9+#.txt")),
    ],
)
def test_what_is_known_of_a_file_is_what_spark_says(parity: FilesParity, tmp_path: Path, name: str) -> None:
    path = tmp_path / "in" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"one\ntwo\n")
    sparks = parity.spark.read.text(str(tmp_path / "in")).select("_metadata.*").drop("row_index")
    ours = parity.spark.read.format("headwater").options(
        source="files", format="text", includeMetadata="true"
    )
    schemas = (ours, ours.schema(f"value string, {METADATA}"))
    for each in schemas:
        found = each.load(str(tmp_path / "in")).select("_metadata.*")
        assert found.columns == sparks.columns
        assert plain_rows(found.toArrow()) == plain_rows(sparks.toArrow())
        assert found.count() == 2


@pytest.mark.parametrize("schema", [None, "a int, _metadata struct<x:int>"])
def test_a_column_of_the_file_with_that_name_is_one_like_others(
    parity: FilesParity, tmp_path: Path, schema: str | None
) -> None:
    (tmp_path / "a.json").write_text('{"a":1,"_metadata":{"x":5}}\n')
    rows = []
    for reader in (
        parity.spark.read.format("json"),
        parity.spark.read.format("headwater").options(source="files", format="json"),
    ):
        frame = (reader if schema is None else reader.schema(schema)).load(str(tmp_path))
        rows.append((frame.schema, frame.collect()))
    assert rows[1] == rows[0]


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
