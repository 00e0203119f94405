"""Mutated files: rows, or an error that names the file. No other error, and never the end of a worker."""

from __future__ import annotations

import io
import random
import zlib
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from headwater.core.errors import CorruptRecordError, SourceError
from tests.readers.files.reading import infer, read, read_batches, settings

ROWS = pa.table({"a": pa.array(range(500)), "b": [i / 7 for i in range(500)], "c": [[i] for i in range(500)]})
MUTATIONS = 60


def content(kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "parquet":
        pq.write_table(ROWS, out)
    elif kind == "orc":
        orc.write_table(ROWS, out)
    else:
        fields = [{"name": "a", "type": "long"}, {"name": "b", "type": "double"}]
        schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": fields})
        fastavro.writer(out, schema, ROWS.select(["a", "b"]).to_pylist(), codec="deflate", sync_interval=500)
    return out.getvalue()


def mutated(good: bytes, rng: random.Random) -> bytes:
    data = bytearray(good)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data)) if rng.random() < 0.5 else len(data) - 1 - rng.randrange(len(data) // 2)
        if rng.random() < 0.6:
            data[at] = rng.randrange(256)
        elif rng.random() < 0.5:
            del data[at : at + rng.randrange(1, 20)]
        else:
            data[at:at] = rng.randbytes(rng.randrange(1, 20))
    return bytes(data)


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_a_mutated_file_is_read_or_named(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    path = tmp_path / "f"
    good = content(kind)
    path.write_bytes(good)
    how = settings(kind, infer(path, settings(kind, pa.schema([]))))
    assert len(read(path, how)) == len(ROWS)
    named: list[str | None] = []
    for _ in range(MUTATIONS):
        path.write_bytes(mutated(good, rng))
        try:
            read(path, how)
        except CorruptRecordError as error:
            named.append(error.split)
    assert set(named) == {f"file://{path}"}


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_bit_that_flips_gives_all_rows_or_an_error(kind: str, tmp_path: Path) -> None:
    # Some hide a page or a stripe, and some of Parquet's footer end the process in pyarrow's accessors.
    table = pa.table({"a": pa.array([1, 2, 3]), "s": ["x", "y", "z"]})
    out = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, out, compression="none", use_dictionary=False, store_schema=False)
    else:
        orc.write_table(table, out)
    good = out.getvalue()
    path = tmp_path / "f"
    counts: Counter[int] = Counter()
    for bit in range(4 * 8, len(good) * 8, 3 if kind == "parquet" else 7):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        try:
            counts[sum(batch.num_rows for batch in read_batches(path, settings(kind, table.schema)))] += 1
        except CorruptRecordError:
            counts[-1] += 1
    assert counts.keys() == {3, -1}


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_a_mutated_file_is_skipped_from_the_damage_on(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    path = tmp_path / "f"
    good = content(kind)
    path.write_bytes(good)
    schema = infer(path, settings(kind, pa.schema([])))
    for _ in range(MUTATIONS // 3):
        path.write_bytes(mutated(good, rng))
        assert len(read(path, settings(kind, schema, ignore_corrupt=True))) >= 0


def test_avro_gives_the_rows_before_a_damaged_value(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.string())])
    fields = [{"name": "a", "type": "string"}]
    out = io.BytesIO()
    rows = [{"a": f"v{at:03}"} for at in range(300)]
    written: Any = {"type": "record", "name": "r", "fields": fields}
    fastavro.writer(out, fastavro.parse_schema(written), rows, sync_interval=500)
    good = out.getvalue()
    path = tmp_path / "f"
    for at in (0, 1, 117, 299):
        damaged = bytearray(good)
        damaged[good.index(b"v%03d" % at) - 1] = 0xFF
        path.write_bytes(damaged)
        assert read(path, settings("avro", schema, ignore_corrupt=True)) == rows[:at]


def test_a_block_of_avro_whose_deflate_breaks_off_gives_the_values_before_that(tmp_path: Path) -> None:
    written: Any = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]}
    rows = [{"a": at * 7919 % 1_000_003} for at in range(2_000)]
    content = io.BytesIO()
    for row in rows:
        fastavro.schemaless_writer(content, written, row)
    packed = zlib.compress(content.getvalue(), wbits=-zlib.MAX_WBITS)[:-1_000]
    out = io.BytesIO()
    marker = b"S" * 16
    fastavro.writer(out, fastavro.parse_schema(written), [], codec="deflate", sync_marker=marker)
    for number in (len(rows), len(packed)):
        fastavro.schemaless_writer(out, "long", number)
    path = tmp_path / "f"
    path.write_bytes(out.getvalue() + packed + marker)
    schema = pa.schema([("a", pa.int64())])
    found = read(path, settings("avro", schema, ignore_corrupt=True))
    assert found == rows[: len(found)]
    assert 1_000 < len(found) < 2_000
    with pytest.raises(CorruptRecordError, match="ends in the middle of a value"):
        read(path, settings("avro", schema))


def test_a_block_of_avro_with_more_values_than_it_names_is_damaged_behind_these(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int64())])
    written: Any = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]}
    out = io.BytesIO()
    marker = b"S" * 16
    values = [1, 2, 3, 1, 4, 0, 5]
    rows = [{"a": value} for value in values]
    fastavro.writer(out, fastavro.parse_schema(written), rows, sync_marker=marker)
    data = bytearray(out.getvalue())
    count = data.index(marker) + len(marker)
    assert data[count] == 2 * len(rows)
    data[count] = 2 * 3
    path = tmp_path / "f"
    path.write_bytes(data)
    # What follows would be taken for a block of one value, and the end of an array.
    assert read(path, settings("avro", schema, ignore_corrupt=True)) == rows[:3]
    with pytest.raises(CorruptRecordError, match="more than the 3 values"):
        read(path, settings("avro", schema))


def orc_content(rng: random.Random) -> bytes:
    """Return a file of ORC with all of its encodings."""
    rows = 60
    texts = [f"x{at % 7}" for at in range(rows)]
    columns: dict[str, Any] = {
        "long": pa.array(range(rows)),
        "double": [at / 7 for at in range(rows)],
        "list": [[at] for at in range(rows)],
        "text": texts,
        "time": pa.array([at * 1_000_000 for at in range(rows)], pa.timestamp("us")),
        "day": pa.array(range(rows), pa.date32()),
        "decimal": pa.array([Decimal(at) for at in range(rows)], pa.decimal128(30, 2)),
        "map": pa.array([[(text, 1)] for text in texts], pa.map_(pa.string(), pa.int32())),
        "struct": [{"x": at, "y": str(at) if at % 3 else None} for at in range(rows)],
        "boolean": [at % 3 == 0 for at in range(rows)],
        "byte": pa.array([at % 100 for at in range(rows)], pa.int8()),
    }
    compression: Any = rng.choice(["uncompressed", "zlib", "snappy", "zstd", "lz4"])
    out = io.BytesIO()
    orc.write_table(
        pa.table(columns), out, compression=compression, dictionary_key_size_threshold=rng.choice([0.0, 1.0])
    )
    return out.getvalue()


@pytest.mark.parametrize(
    "count", [100, pytest.param(20_000, marks=[pytest.mark.long, pytest.mark.timeout(1_800)])]
)
def test_no_mutated_file_of_orc_ends_this_process(count: int, tmp_path: Path, rng: random.Random) -> None:
    path = tmp_path / "f"
    read_whole = 0
    named: set[str | None] = set()
    for _ in range(count):
        path.write_bytes(mutated(orc_content(rng), rng))
        try:
            schema = infer(path, settings("orc", pa.schema([])))
            batches = read_batches(path, settings("orc", schema))
            read_whole += sum(batch.num_rows for batch in batches) == 60
        except CorruptRecordError as error:
            named.add(error.split)
        except SourceError as error:
            # Another time than the one that was written is no damage, and pyarrow does not hold each.
            if "timestamps before 1677" not in error.message:
                raise
            named.add(error.split)
    assert named == {f"file://{path}"}
    assert read_whole
