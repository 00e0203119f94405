"""Settings of the session that say how files are read, beside Spark's own readers."""

from __future__ import annotations

import gzip
import io

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from tests.parity.files.files_parity import Failed, FilesParity, Reading, reading


def columnar(kind: str, table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out) if kind == "parquet" else po.write_table(table, out)
    return out.getvalue()


def test_damaged_files_are_skipped_as_the_session_says_unless_the_option_does(parity: FilesParity) -> None:
    how = Reading("text", "value string", suffix=".gz")
    cut = gzip.compress(b"".join(b"%d\n" % at for at in range(50_000)))[:5_000]
    files = [cut, gzip.compress(b"good\n")]
    with parity.settings.such("spark.sql.files.ignoreCorruptFiles", "true"):
        assert parity.same(how, files)[1] == [("good",)]
        asked = Reading("text", "value string", {"ignoreCorruptFiles": "false"}, ".gz")
        assert isinstance(parity.both(asked, files)[1][0], Failed)
    assert isinstance(parity.both(how, files)[1][0], Failed)


NUMBERS = columnar("parquet", pa.table({"A": [1]}))
TEXT = columnar("parquet", pa.table({"a": [b"x"]}))
BY_SESSION = [
    ("spark.sql.caseSensitive", "true", reading("parquet", "a bigint"), NUMBERS),
    ("spark.sql.caseSensitive", "true", reading("csv", header="true"), b"id,ID\n1,2\n"),
    (
        "spark.sql.legacy.timeParserPolicy",
        "LEGACY",
        reading("csv", "a date", dateFormat="dd/MM/yyyy"),
        b"1/2/2024\n",
    ),
    ("spark.sql.parquet.binaryAsString", "true", reading("parquet"), TEXT),
    (
        "spark.sql.timestampType",
        "TIMESTAMP_NTZ",
        reading("csv", inferSchema="true"),
        b"2024-01-01 00:00:00\n",
    ),
    ("spark.sql.parquet.mergeSchema", "true", reading("parquet"), NUMBERS),
    ("spark.sql.orc.mergeSchema", "true", reading("orc"), columnar("orc", pa.table({"a": [1]}))),
]


@pytest.mark.parametrize(
    ("setting", "value", "how", "content"),
    BY_SESSION,
    ids=[f"{setting}-{how.kind}" for setting, _, how, _ in BY_SESSION],
)
def test_settings_that_are_not_kept_are_refused_where_they_matter(
    parity: FilesParity, setting: str, value: str, how: Reading, content: bytes
) -> None:
    with parity.settings.such(setting, value):
        spark, ours = parity.differs("settings of the session", how, content)
        assert not isinstance(spark, Failed)
        assert isinstance(ours, Failed)
        assert f"{setting}={value}" in ours.said
        parity.same(reading("csv"), [b"x\n"])


@pytest.mark.parametrize("value", ["true", "false"])
@pytest.mark.parametrize("header", [b"ID,B", b"id,b", b"ID,c"])
def test_a_header_is_compared_with_the_schema_by_the_case_of_the_session(
    parity: FilesParity, value: str, header: bytes
) -> None:
    how = reading("csv", "ID int, B int", header="true", enforceSchema="false")
    with parity.settings.such("spark.sql.caseSensitive", value):
        spark, ours = parity.both(how, [header + b"\n1,2\n"])
        assert spark == ours


def test_a_folder_whose_name_differs_from_a_column_in_case_alone_is_refused_where_case_counts(
    parity: FilesParity,
) -> None:
    how = reading("json", "a int, K int")
    content = b'{"a": 1, "K": 5}\n'
    with parity.settings.such("spark.sql.caseSensitive", "true"):
        spark, ours = parity.differs("settings of the session", how, content, at="k=1/a.json")
        assert not isinstance(spark, Failed)
        assert isinstance(ours, Failed)
        assert "a folder is called as the column 'K' but for case" in ours.said


def test_types_of_folders_by_the_session_differ(parity: FilesParity) -> None:
    name = "spark.sql.sources.partitionColumnTypeInference.enabled"
    with (
        parity.settings.such(name, "false"),
        pytest.raises(AssertionError, match=r"(?s)Spark: struct<value:string,k:string>.*ours:  .*k:int>"),
    ):
        parity.differs("types of folders by the session", reading("text"), b"x", at="k=1/a.txt")
