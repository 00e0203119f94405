"""Columns of folders: types and values as Spark's readers infer them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headwater.enumerators.files.selection import SelectedPath
from headwater.readers.files.partitions import partition_scalar, partition_type
from tests.readers.files.reading import settings

NULL = "__HIVE_DEFAULT_PARTITION__"


@pytest.mark.parametrize(
    ("folders", "kind", "values"),
    [
        (["true", "false"], "string", ["true", "false"]),
        (["1", "02", "-3", "+4", NULL], "int32", ["1", "2", "-3", "4", "None"]),
        (["1", "3000000000"], "int64", ["1", "3000000000"]),
        (["1", "30000000000000000000"], "decimal128(20, 0)", ["1", "30000000000000000000"]),
        (["1.5", "2"], "double", ["1.5", "2.0"]),
        (["1.5", "3000000000"], "string", ["1.5", "3000000000"]),
        (["1e5"], "decimal128(6, 0)", ["100000"]),
        (["1.5d", "NaN", "Infinity"], "double", ["1.5", "nan", "inf"]),
        (["1" * 39], "double", ["1.11111111111111"]),
        ([" 1"], "double", ["1.0"]),
        (["0x1F"], "string", ["0x1F"]),
        (["2024-01-01", "2024-02-03"], "date32[day]", ["2024-01-01", "2024-02-03"]),
        (["2024-1-1"], "string", ["2024-1-1"]),
        (["2024-01-01", "2024-01-02 10%3A00%3A00"], "timestamp[us, tz=UTC]", ["2024-01-01", "2024-01-02"]),
        (["2024-01-01T10%3A00%3A00"], "string", ["2024-01-01T10:00:00"]),
        (["a%2Fb", "1", "01"], "string", ["a/b", "1", "01"]),
        (["1", "2024-01-01"], "string", ["1", "2024-01-01"]),
        ([NULL], "string", ["None"]),
    ],
)
def test_types_and_values_of_folders_are_those_of_spark(
    folders: list[str], kind: str, values: list[str]
) -> None:
    found = partition_type(folders)
    assert str(found) == kind
    shown = [str(partition_scalar(raw, found, "UTC").as_py()) for raw in folders]
    assert [each[: len(wanted)] for each, wanted in zip(shown, values, strict=True)] == values


@pytest.mark.parametrize(
    ("raw", "kind"),
    [("1", pa.bool_()), ("1_0", pa.int32()), (" 7", pa.decimal128(5, 2)), ("x", pa.date32())],
)
def test_what_spark_does_not_take_for_a_value_is_none(raw: str, kind: pa.DataType) -> None:
    with pytest.raises((KeyError, ValueError)):
        partition_scalar(raw, kind)


def test_a_time_without_a_zone_is_never_taken_for_one_of_utc() -> None:
    with pytest.raises(ValueError, match=r"neither timeZone nor spark.sql.session.timeZone is set"):
        partition_scalar("2024-01-01 10%3A00%3A00", pa.timestamp("us", "UTC"))


@pytest.mark.parametrize(
    ("url", "base", "found"),
    [
        ("/base", None, {"y": "1", "m": "2"}),
        ("/base/y=1", None, {"m": "2"}),
        ("/base/y=*", None, {"m": "2"}),
        ("/base/*/*", None, {}),
        ("/base/y=1", "/base", {"y": "1", "m": "2"}),
        ("/base/y=1/m=2/f", "/base/y=1", {"m": "2"}),
        ("/", None, {"y": "1", "m": "2"}),
    ],
)
def test_folders_count_below_the_path_or_below_the_base(
    url: str, base: str | None, found: dict[str, str]
) -> None:
    how = settings("text", pa.schema([]), Path(url), base_path=base)
    assert how.paths == (SelectedPath(url),)
    assert how.partitions_of("file:///base/y=1/m=2/f") == found
