"""ORC as Spark reads it: types, names in any case, and damaged files."""

from __future__ import annotations

import io
import random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from tests.parity.files.files_parity import Failed, FilesParity, reading
from tests.parity.files.test_parquet import WRITTEN

TYPES = (
    *("boolean", "int8", "int16", "int32", "int64", "float32", "float64", "string", "binary", "date"),
    *("decimal 9", "decimal 38", "list", "map", "struct", "list of structs"),
)
WIDER = {
    "int8": "int",
    "int16": "bigint",
    "int32": "bigint",
    "float32": "double",
    "struct": "struct<a:bigint>",
}


def file_of(**columns: pa.Array[Any]) -> bytes:
    out = io.BytesIO()
    orc.write_table(pa.table(columns), out)
    return out.getvalue()


@pytest.mark.parametrize("written", TYPES)
def test_types_are_those_of_spark(parity: FilesParity, written: str) -> None:
    content = file_of(c=WRITTEN[written][0])
    parity.same(reading("orc"), [content])
    if written in WIDER:
        parity.same(reading("orc", f"C {WIDER[written]}"), [content])


def test_names_go_by_any_case_and_by_places_where_there_are_none(parity: FilesParity) -> None:
    numbers = pa.array([1, 2], pa.int32())
    files = [
        file_of(A=numbers, b=numbers),
        file_of(B=numbers),
        file_of(_col0=numbers, _col1=pa.array([3, 4], pa.int32()), _col2=numbers),
    ]
    parity.same(reading("orc", "a int, b int"), files, one_by_one=True)
    assert isinstance(parity.same(reading("orc", "a int"), [file_of(A=numbers, a=numbers)])[0], Failed)


def test_damaged_files_fail_or_are_skipped(parity: FilesParity, rng: random.Random) -> None:
    good = file_of(c=pa.array(range(1_000)))
    files = [good, b"no orc file", good[:-20], good[: len(good) // 2]]
    assert all(
        isinstance(each, Failed)
        for each in parity.same(reading("orc", "c bigint"), files[1:], one_by_one=True)
    )
    parity.same(reading("orc", "c bigint", ignoreCorruptFiles="true"), files)
