"""binaryFile: a row for each file, as Spark's."""

from __future__ import annotations

import random

import pytest

from tests.parity.files.files_parity import Failed, FilesParity, reading

SCHEMA = "path string, modificationTime timestamp, length bigint, content binary"


@pytest.mark.parametrize("streaming", [False, True])
def test_files_are_rows(parity: FilesParity, rng: random.Random, *, streaming: bool) -> None:
    files = [rng.randbytes(rng.randrange(1, 5_000)) for _ in range(20)]
    found = parity.same(reading("binaryFile", SCHEMA), [*files, b""], streaming=streaming)
    assert [rows[0][3] for rows in found[:20] if isinstance(rows, list)] == files
    assert found[20] == [], "an empty file is no row"


def test_the_longest_content_is_that_of_the_session(parity: FilesParity) -> None:
    name = "spark.sql.sources.binaryFile.maxLength"
    parity.spark.conf.set(name, "3")
    try:
        found = parity.same(reading("binaryFile", SCHEMA), [b"one", b"four"], one_by_one=True)
        assert [isinstance(each, Failed) for each in found] == [False, True]
    finally:
        parity.spark.conf.unset(name)


def test_the_schema_is_that_of_spark_and_names_are_matched(parity: FilesParity) -> None:
    parity.same(reading("binaryFile"), [b"one", b"two"])
    parity.same(reading("binaryFile", SCHEMA, pathGlobFilter="*1.*"), [b"one", b"two"])


@pytest.mark.parametrize("schema", ["path string, length bigint", "length bigint, path string", "size int"])
def test_a_schema_that_is_another_is_refused_as_in_spark(parity: FilesParity, schema: str) -> None:
    [found] = parity.same(reading("binaryFile", schema), [b"one"])
    assert isinstance(found, Failed)
