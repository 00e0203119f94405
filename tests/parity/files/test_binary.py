"""binaryFile: a row for each file, as Spark's."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from tests.parity.files.drawn_files import DrawnFiles
from tests.parity.files.files_parity import Failed, FilesParity, reading

SCHEMA = "path string, modificationTime timestamp, length bigint, content binary"


@pytest.mark.parametrize("streaming", [False, True])
def test_files_are_rows(drawn: DrawnFiles, *, streaming: bool) -> None:
    drawn.same(reading("binaryFile", SCHEMA), st.binary(max_size=5_000), 500, streaming=streaming)


def test_an_empty_file_is_no_row_and_others_are_one_each(parity: FilesParity) -> None:
    found = parity.same(reading("binaryFile", SCHEMA), [b"one", b"", b"\0"])
    assert [[row[3] for row in rows] for rows in found if isinstance(rows, list)] == [[b"one"], [], [b"\0"]]


def test_the_longest_content_is_that_of_the_session(parity: FilesParity) -> None:
    with parity.settings.such("spark.sql.sources.binaryFile.maxLength", "3"):
        found = parity.same(reading("binaryFile", SCHEMA), [b"one", b"four"], one_by_one=True)
    assert [isinstance(each, Failed) for each in found] == [False, True]


def test_the_schema_is_that_of_spark_and_names_are_matched(parity: FilesParity) -> None:
    parity.same(reading("binaryFile"), [b"one", b"two"])
    parity.same(reading("binaryFile", SCHEMA, pathGlobFilter="*1.*"), [b"one", b"two"])


@pytest.mark.parametrize("schema", ["path string, length bigint", "length bigint, path string", "size int"])
def test_a_schema_that_is_another_is_refused_as_in_spark(parity: FilesParity, schema: str) -> None:
    [found] = parity.same(reading("binaryFile", schema), [b"one"])
    assert isinstance(found, Failed)
