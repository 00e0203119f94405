"""Mutated files of columns: where both readers give rows, these are the same ones."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from tests.parity.files.files_parity import Failed, FilesParity, Meant, Outcome, difference, is_meant, reading
from tests.parity.files.test_avro import avro
from tests.readers.files.test_damaged_files import mutated

MADE = (
    ("parquet", "none"),
    ("parquet", "snappy"),
    ("orc", "uncompressed"),
    ("orc", "zlib"),
    ("avro", "null"),
)
SCHEMA = "a bigint, b double, s string, l array<bigint>"


def content(kind: str, codec: Any) -> bytes:
    rows = range(300)
    table = pa.table(
        {
            "a": rows,
            "b": [at / 7 for at in rows],
            "s": [f"text {at}" for at in rows],
            "l": [[at] for at in rows],
        }
    )
    writers: dict[str, Callable[[io.BytesIO], object]] = {
        "parquet": lambda out: pq.write_table(table, out, compression=codec),
        "orc": lambda out: orc.write_table(table, out, compression=codec),
        "avro": lambda out: out.write(avro("long", list(rows), codec, interval=300)),
    }
    out = io.BytesIO()
    writers[kind](out)
    return out.getvalue()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("kind", "codec"), MADE)
def test_no_mutated_file_gives_other_rows(
    parity: FilesParity, rng: random.Random, kind: str, codec: str
) -> None:
    good = content(kind, codec)
    # One of a few changes in its first half, where the values are, leaves a file that can be read.
    files = [bytearray(good) for _ in range(60)]
    for file in files:
        file[rng.randrange(4, len(good) // 2)] ^= 1 << rng.randrange(8)
    changed = [*map(bytes, files), *(mutated(good, rng) for _ in range(20))]
    how = reading(kind, "c bigint" if kind == "avro" else SCHEMA)
    sparks, ours = parity.both(how, changed, one_by_one=True)
    for each, one, other in zip(changed, sparks, ours, strict=True):
        meant: dict[str, Meant] = {"damage that one library passes over": one_fails}
        assert is_meant(each, one, other, meant), difference(how, each, one, other)


def one_fails(_: bytes, spark: Outcome, ours: Outcome) -> bool:
    return isinstance(spark, Failed) or isinstance(ours, Failed)


def test_damage_that_one_library_passes_over_differs(parity: FilesParity) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2, 3]}), out, compression="none", use_dictionary=False)
    data = bytearray(out.getvalue())
    # The header of the page: its values' number and encoding, then those of levels that are not there.
    levels = data.index(b"\x2c\x15\x06\x15\x00\x15\x06\x15\x06") + 8
    data[levels] ^= 1
    sparks, ours = parity.differs(
        "damage that one library passes over", reading("parquet", "a bigint"), bytes(data)
    )
    assert isinstance(sparks, Failed)
    assert ours == [(1,), (2,), (3,)]
