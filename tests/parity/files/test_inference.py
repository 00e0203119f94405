"""What becomes of damaged files where a schema is inferred, beside Spark's own readers."""

from __future__ import annotations

import gzip
import io
from dataclasses import replace

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from tests.parity.files.avro_files import avro_file
from tests.parity.files.files_parity import Failed, FilesParity, reading

LINES = {
    "csv": "".join(f"{at},{at % 7}\n" for at in range(50_000)).encode(),
    "json": "".join(f'{{"a":{at}}}\n' for at in range(50_000)).encode(),
}


def columnar(kind: str) -> bytes:
    if kind == "avro":
        return avro_file({"a": "long"}, [{"a": 1}, {"a": 2}])
    out = io.BytesIO()
    table = pa.table({"a": [1, 2]})
    pq.write_table(table, out) if kind == "parquet" else po.write_table(table, out)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_of_damaged_text_what_can_be_read_counts(parity: FilesParity, kind: str) -> None:
    how = replace(reading(kind, inferSchema="true"), suffix=f".{kind}.gz")
    how = how if kind == "csv" else replace(how, options={})
    other = gzip.compress(b"1,x\n" if kind == "csv" else b'{"b":"x"}\n')
    cut = gzip.compress(LINES[kind])[:5_000]
    assert all(isinstance(each, Failed) for each in parity.both(how, [cut, other])[1])
    skipping = replace(how, options={**how.options, "ignoreCorruptFiles": "true"})
    for files in ([cut, other], [b"no gzip", other], [other, b"no gzip"], [b"no gzip"]):
        parity.same(skipping, files)


@pytest.mark.parametrize("kind", ["avro", "orc", "parquet"])
@pytest.mark.parametrize("merges", ["false", "true"])
def test_the_next_file_shows_the_columns_where_it_does_in_spark(
    parity: FilesParity, kind: str, merges: str
) -> None:
    good = columnar(kind)
    how = reading(kind, mergeSchema=merges, ignoreCorruptFiles="true")
    for files in ([good, b"junk"], [b"junk", good]):
        sparks, ours = parity.both(how, files)
        assert ours == sparks
    assert isinstance(parity.both(how, [b"junk", b"more"])[1][0], Failed)


def test_a_file_of_avro_without_a_byte_differs(parity: FilesParity) -> None:
    how, good = reading("avro"), {"b.avro": columnar("avro")}
    sparks, ours = parity.differs("a file of Avro without a byte", how, b"", at="a.avro", beside=good)
    assert isinstance(sparks, Failed)
    assert ours == []
    parity.same(replace(how, schema="a bigint"), [b"", *good.values()])
