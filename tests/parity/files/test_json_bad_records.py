"""Where records of JSON go that cannot be read: through Spark, and read twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.parity.files.files_parity import FilesParity, reading

LINES = b'{"a":1}\n{"a":"x"}\n[{"a":2},{"a":"y"}]\n{"a":3,"b":{"c":[1]}}\n\xff\n'


def frame(spark: SparkSession, path: Path, schema: str, **options: str) -> DataFrame:
    reader = spark.read.format("headwater").options(source="files", format="json", **options)
    return reader.schema(schema).load(str(path))


def test_bad_records_go_to_files_that_are_the_same_after_a_second_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in.json").write_bytes(LINES)
    bad = tmp_path / "bad"
    rows = frame(spark, tmp_path / "in.json", "a int", badRecordsPath=str(bad), mode="FAILFAST")
    for _ in range(2):
        assert [row.a for row in rows.collect()] == [1, 3]
    (file,) = bad.rglob("*.jsonl")
    found = [json.loads(line) for line in file.read_text().splitlines()]
    url = (tmp_path / "in.json").as_uri()
    assert [(each["path"], each["position"]) for each in found] == [(url, 8), (url, 18), (url, 60)]
    assert [each.get("record") for each in found] == ['{"a":"x"}', '[{"a":2},{"a":"y"}]', None]
    assert found[2]["recordBase64"] == "/w=="
    assert all("the record " in each["reason"] for each in found)


def test_what_no_column_takes_is_rescued(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(LINES)
    rows = frame(spark, tmp_path / "in.json", "a int, _rescued string", rescuedDataColumn="_rescued")
    assert [tuple(row) for row in rows.collect()] == [
        (1, None),
        (None, '{"a":"x"}'),
        (2, None),
        (None, '{"a":"y"}'),
        (3, '{"b":{"c":[1]}}'),
        (None, None),
    ]


def test_types_that_json_does_not_become_are_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(LINES)
    with pytest.raises(PySparkException, match="interval"):
        frame(spark, tmp_path / "in.json", "a interval day to second").collect()
    with pytest.raises(PySparkException, match="singleVariantColumn"):
        frame(spark, tmp_path / "in.json", "a int", singleVariantColumn="v").collect()
    with pytest.raises(PySparkException, match="lineSep"):
        frame(spark, tmp_path / "in.json", "a int", encoding="UTF-16LE").collect()


def test_failfast_names_the_file_and_the_byte(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(LINES)
    with pytest.raises(PySparkException, match=r"(?s)FAILFAST.*in\.json.*position 8"):
        frame(spark, tmp_path / "in.json", "a int", mode="FAILFAST").collect()


def test_the_session_may_name_the_column_for_corrupt_records(parity: FilesParity) -> None:
    with parity.settings.such("spark.sql.columnNameOfCorruptRecord", "bad"):
        (found,) = parity.same(reading("json", "a int, bad string"), [b'{"a":1}\n{'])
        parity.same(reading("json", "a int, b string", columnNameOfCorruptRecord="b"), [b'{"a":1}\n{'])
    assert found == [(1, None), (None, "{")]
