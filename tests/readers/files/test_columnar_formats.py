"""Parquet, Arrow, ORC and Avro.

Types as Spark has them, ranges that together are the file, and filters that never drop a row too many.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pyarrow import orc

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.enumerators.files.listing import LocalLister
from headwater.enumerators.files.selection import FileSelection, SelectedPath
from headwater.readers.files.inference import infer_schema
from headwater.readers.files.rows import drop_failing
from tests.readers.files.reading import infer, read, settings

untyped: Any = pa
"""For calls that the stubs of pyarrow do not have."""
NUMBERS = pa.schema([pa.field("n", pa.int64())])
ANY = examples(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40
)
OPERATORS = {"==": "__eq__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def inferred(kind: str, folder: Path, **more: Any) -> pa.Schema:
    return infer_schema(
        [LocalLister(SelectedPath(str(folder)), str(folder))],
        settings(kind, NUMBERS, folder, **more),
        is_stream=False,
        selection=FileSelection(paths=()),
    )


@ANY
@given(
    values=st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=1, max_size=40),
    groups=st.integers(1, 10),
    operator=st.sampled_from(sorted(OPERATORS)),
    bound=st.integers(-6, 6),
    borders=st.lists(st.integers(1, 2_000), max_size=3),
)
def test_a_filter_leaves_the_rows_that_pass_whatever_row_groups_and_borders(
    *, values: list[int | None], groups: int, operator: str, bound: int, borders: list[int], tmp_path: Path
) -> None:
    pq.write_table(pa.table({"n": values}, NUMBERS), tmp_path / "f", row_group_size=groups)
    assert [row["n"] for row in read(tmp_path / "f", settings("parquet", NUMBERS), borders)] == values
    filtered = read(tmp_path / "f", settings("parquet", NUMBERS, filters=(("n", operator, bound),)), borders)
    assert [row["n"] for row in filtered] == [
        value for value in values if value is not None and getattr(value, OPERATORS[operator])(bound)
    ]


def test_filters_that_a_column_cannot_answer_are_left_to_spark() -> None:
    batch = pa.RecordBatch.from_pydict(
        {"i": pa.array([1, None], pa.int32()), "f": [float("nan"), 1.0], "s": ["a", "b"]}
    )
    for left in (("i", "==", 1 << 40), ("f", ">", 0.5), ("gone", "==", 1), ("s", "<", Decimal(1))):
        assert drop_failing(batch, [left]).num_rows == 2
    assert drop_failing(batch, [("i", "null", None)]).num_rows == 1
    assert drop_failing(batch, [("i", "not null", None), ("s", "in", ["a", "c"])]).num_rows == 1


def test_types_that_spark_does_not_have_become_those_that_it_has(tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "u8": pa.array([1], pa.uint8()),
        "u64": pa.array([1], pa.uint64()),
        "big": pa.array(["x"], pa.large_string()),
        "words": pa.array(["x"]).dictionary_encode(),
        "plain": pa.array([1], pa.timestamp("ms")),
        "nanos": pa.array([1_500], pa.timestamp("ns", "Europe/Oslo")),
        "fixed": pa.array([b"ab"], pa.binary(2)),
        "list": pa.array([[{"a": 1}]], pa.large_list(pa.struct([("a", pa.uint16())]))),
    }
    pa.ipc.new_file(str(tmp_path / "f"), (table := pa.table(columns)).schema).write_table(table)
    with pa.ipc.new_file(str(tmp_path / "f"), table.schema) as writer:
        writer.write_table(table)
    schema = inferred("arrow", tmp_path)
    assert [str(kind) for kind in schema.types] == [
        "int16",
        "decimal128(20, 0)",
        "string",
        "string",
        "timestamp[us, tz=UTC]",
        "timestamp[us, tz=UTC]",
        "binary",
        "list<item: struct<a: int32>>",
    ]
    (row,) = read(tmp_path / "f", settings("arrow", schema))
    assert (row["u64"], row["words"], row["nanos"].microsecond, row["list"]) == (
        Decimal(1),
        "x",
        1,
        [{"a": 1}],
    )


def test_an_avro_record_in_itself_is_skipped_where_it_is_no_column(tmp_path: Path) -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "next", "type": ["null", "r"]}]
    with (tmp_path / "f").open("wb") as file:
        rows = [{"id": 1, "next": {"id": 2, "next": None}}, {"id": 3, "next": None}]
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, rows)
    assert read(tmp_path / "f", settings("avro", pa.schema([("id", pa.int64())]))) == [{"id": 1}, {"id": 3}]
    with pytest.raises(CorruptRecordError, match="next is of the type r, which contains itself"):
        inferred("avro", tmp_path)


def test_avro_types_and_a_file_that_does_not_fit(tmp_path: Path) -> None:
    fields: list[dict[str, Any]] = [
        {"name": "n", "type": ["null", "long"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "extra", "type": {"type": "map", "values": "int"}},
        {"name": "color", "type": {"type": "enum", "name": "c", "symbols": ["RED"]}},
    ]
    now, day = dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.date(2024, 1, 1)
    row = {
        "n": 1,
        "at": now,
        "day": day,
        "price": Decimal("1.50"),
        "tags": ["a"],
        "extra": {"k": 1},
        "color": "RED",
    }
    with (tmp_path / "f").open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, [row])
    schema = inferred("avro", tmp_path)
    assert read(tmp_path / "f", settings("avro", schema)) == [{**row, "extra": [("k", 1)]}]
    with pytest.raises(CorruptRecordError, match="is string in this file and int32 in the schema"):
        read(tmp_path / "f", settings("avro", pa.schema([pa.field("color", pa.int32())])))
    (tmp_path / "f").write_bytes(b"no avro")
    with pytest.raises(CorruptRecordError, match=r"no avro file.*/f"):
        read(tmp_path / "f", settings("avro", schema))


def test_row_groups_count_where_the_footer_counts_fewer_rows(tmp_path: Path) -> None:
    path = tmp_path / "f"
    pq.write_table(pa.table({"n": [1, 2, 3]}), path)
    whole = path.read_bytes()
    for count, is_read in ((0, True), (2, True), (4, False)):
        # The number of rows of the file stands between its schema and its row groups.
        path.write_bytes(whole.replace(b"\x16\x06\x19\x1c", bytes([0x16, 2 * count, 0x19, 0x1C])))
        if is_read:
            assert [row["n"] for row in read(path, settings("parquet", NUMBERS))] == [1, 2, 3]
            continue
        with pytest.raises(CorruptRecordError, match="it has 4 rows, and its row groups have 3"):
            read(path, settings("parquet", NUMBERS))


@pytest.mark.parametrize("skips", [False, True])
def test_a_layout_that_arrow_does_not_read_is_named_and_never_skipped(tmp_path: Path, *, skips: bool) -> None:
    path = tmp_path / "f"
    pq.write_table(pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))}), path)
    # Keys that may be null.
    path.write_bytes(path.read_bytes().replace(b"\x25\x00\x18\x03key", b"\x25\x02\x18\x03key"))
    for ask in (infer, read):
        with pytest.raises(SourceError, match=r"Arrow's library does not read them \(Map keys") as error:
            ask(path, settings("parquet", NUMBERS, ignore_corrupt=skips))
        assert not isinstance(error.value, CorruptRecordError)


def test_one_file_shows_the_schema_and_all_with_merge_schema(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1], "s": [{"a": 1}]}), tmp_path / "a")
    pq.write_table(pa.table({"N": [2], "m": ["x"], "s": [{"b": 1}]}), tmp_path / "b")
    assert inferred("parquet", tmp_path).names == ["n", "s"]
    merged = inferred("parquet", tmp_path, merge_schema=True)
    assert merged.names == ["n", "s", "m"]
    assert str(merged.field("s").type) == "struct<a: int64, b: int64>"
    pq.write_table(pa.table({"n": ["x"]}), tmp_path / "c")
    with pytest.raises(CorruptRecordError, match=r"column 'n' is int64 in one file and string.*/a, .*/c"):
        inferred("parquet", tmp_path, merge_schema=True)


ENCODED = untyped.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"])
LISTS: list[list[int] | None] = [[1, 2], None, [3]]
OTHER_LAYOUTS: dict[str, tuple[pa.Array[Any], list[Any]]] = {
    "runs": (ENCODED, ["a", "a", "b"]),
    "runs in a struct": (
        untyped.StructArray.from_arrays([ENCODED], ["x"]),
        [{"x": "a"}, {"x": "a"}, {"x": "b"}],
    ),
    "runs in a list": (untyped.ListArray.from_arrays([0, 1, 1, 3], ENCODED), [["a"], [], ["a", "b"]]),
    "views": (pa.array(LISTS, untyped.list_view(pa.int64())), LISTS),
    "large views": (pa.array(LISTS, untyped.large_list_view(pa.int64())), LISTS),
    "views that cross": (
        untyped.ListViewArray.from_arrays([2, 0, 1], [1, 2, 2], pa.array([1, 2, 3])),
        [[3], [1, 2], [2, 3]],
    ),
    "views in a struct": (
        untyped.StructArray.from_arrays([pa.array(LISTS, untyped.list_view(pa.int64()))], ["x"]),
        [{"x": value} for value in LISTS],
    ),
    "views of views": (
        pa.array([[[1], None], None, [[2]]], untyped.list_view(untyped.list_view(pa.int64()))),
        [[[1], None], None, [[2]]],
    ),
    "large lists": (pa.array(LISTS, pa.large_list(pa.int64())), LISTS),
    "lists of a fixed size": (
        pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)),
        [[1, 2], None, [3, 4]],
    ),
    "wide decimals": (pa.array([Decimal("1.50")] * 3, untyped.decimal256(20, 2)), [Decimal("1.50")] * 3),
    "names of a type": (
        untyped.ExtensionArray.from_storage(untyped.uuid(), pa.array([b"x" * 16] * 3, pa.binary(16))),
        [b"x" * 16] * 3,
    ),
}


@pytest.mark.parametrize("layout", OTHER_LAYOUTS)
def test_values_are_the_same_in_every_layout_that_arrow_has_for_them(layout: str, tmp_path: Path) -> None:
    column, values = OTHER_LAYOUTS[layout]
    path = arrow_file(tmp_path / "f", c=column)
    schema = infer(path, settings("arrow", NUMBERS))
    assert [row["c"] for row in read(path, settings("arrow", schema))] == values


@pytest.mark.parametrize(
    "column",
    [
        pa.array([untyped.MonthDayNano([1, 2, 3])]),
        pa.array([1], untyped.decimal256(50, 2)),
        pa.array([[1]], pa.list_(untyped.decimal256(50, 2))),
        untyped.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
    ],
)
def test_a_type_whose_values_spark_cannot_hold_is_refused_by_name(
    column: pa.Array[Any], tmp_path: Path
) -> None:
    path = arrow_file(tmp_path / "f", c=column)
    with pytest.raises(CorruptRecordError, match=r"column 'c' is .*, which no column can be inferred of"):
        infer(path, settings("arrow", NUMBERS))


@pytest.mark.parametrize("kind", ["arrow", "orc", "parquet", "json"])
@pytest.mark.parametrize(
    "name", ["a.b", "a..b", ".", "a.b.c", "a`b", "`a`.`b`", "a.`d.e`", 'a"b', "a b", "grün", "A.b"]
)
def test_a_name_with_dots_or_quotes_is_a_name_beside_structs_of_its_parts(
    name: str, kind: str, tmp_path: Path
) -> None:
    rows = pa.table({name: [1, 2], "a": [{"b": 7, "d.e": {"x": 8}}] * 2, "z": [5, 6]})
    path = tmp_path / "f"
    match kind:
        case "arrow":
            columns: dict[str, Any] = dict(zip(rows.column_names, rows.columns, strict=True))
            arrow_file(path, **columns)
        case "orc":
            orc.write_table(rows, path)
        case "parquet":
            pq.write_table(rows, path)
        case _:
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows.to_pylist()))
    schema = infer(path, settings(kind, NUMBERS))
    assert set(schema.names) == set(rows.column_names)
    assert read(path, settings(kind, schema)) == [
        {each: row[each] for each in schema.names} for row in rows.to_pylist()
    ]
    for each in rows.column_names:
        how = settings(kind, pa.schema([schema.field(each)]))
        assert read(path, how) == rows.select([each]).to_pylist()


def arrow_file(path: Path, **columns: pa.Array[Any]) -> Path:
    table = pa.table(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path


BROKEN: dict[str, pa.Array[Any]] = {
    "a text behind the buffer": untyped.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1 << 20, 4], pa.int32()).buffers()[1], pa.py_buffer(b"abcd")]
    ),
    "a text that ends before it begins": untyped.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 4, 2], pa.int32()).buffers()[1], pa.py_buffer(b"abcd")]
    ),
    "a list behind its elements": untyped.Array.from_buffers(
        pa.list_(pa.int64()),
        2,
        [None, pa.array([0, 1 << 20, 1], pa.int32()).buffers()[1]],
        children=[pa.array([1])],
    ),
    "a number of no word": untyped.DictionaryArray.from_arrays(
        pa.array([0, 1 << 20], pa.int32()), pa.array(["a"]), safe=False
    ),
    "bytes that are no text": pa.array([b"\xff", b"a"]).view(pa.string()),
}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("kind", ["file", "stream", "feather"])
@pytest.mark.parametrize("fault", BROKEN)
def test_an_offset_that_leads_out_of_its_buffer_is_damage_wherever_it_stands(
    fault: str, kind: str, tmp_path: Path, *, nested: bool
) -> None:
    column = BROKEN[fault]
    if nested:
        column = untyped.StructArray.from_arrays([untyped.StructArray.from_arrays([column], ["y"])], ["x"])
    path = tmp_path / "f"
    table = pa.table({"c": column, "n": [1, 2]})
    make: Any = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression="lz4" if kind == "feather" else None)
    with pa.OSFile(str(path), "wb") as file, make(file, table.schema, options=options) as writer:
        writer.write_batch(table.to_batches()[0])
    schema = infer(path, settings("arrow", NUMBERS))
    with pytest.raises(CorruptRecordError, match="no arrow file, or a damaged one"):
        read(path, settings("arrow", schema))
    assert read(path, settings("arrow", schema, ignore_corrupt=True)) == []
    assert read(path, settings("arrow", NUMBERS)) == [{"n": 1}, {"n": 2}]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps this limit")
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_file_that_takes_more_memory_than_a_worker_may_have_is_no_damage(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    table = pa.table({"b": pa.array([bytes(1 << 28)] * 2)})
    if kind == "parquet":
        pq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    else:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with (
            pa.OSFile(str(path), "wb") as file,
            pa.ipc.new_file(file, table.schema, options=options) as writer,
        ):
            writer.write_table(table)
    del table
    # As Spark bounds its workers.
    program = f"""
import resource
import pyarrow as pa
from tests.readers.files.reading import read, settings
how = settings({kind!r}, pa.schema([("b", pa.binary())]), ignore_corrupt=True)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
read({str(path)!r}, how)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (
        "SourceError: this " + kind + " file takes more memory than a Python worker may have" in done.stderr
    )


def test_a_mutated_arrow_file_is_read_or_damage(tmp_path: Path, rng: random.Random) -> None:
    words = pa.array(["a", None, "grüß", "x" * 50])
    column = untyped.StructArray.from_arrays([untyped.ListArray.from_arrays([0, 1, 1, 3, 4], words)], ["x"])
    good = arrow_file(tmp_path / "good", c=column, d=words.dictionary_encode(), n=pa.array(range(4)))
    data = good.read_bytes()
    schema = infer(good, settings("arrow", NUMBERS))
    path = tmp_path / "f"
    outcomes = {True: 0, False: 0}
    for _ in range(500):
        mutated = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            mutated[rng.randrange(len(mutated))] = rng.randrange(256)
        path.write_bytes(mutated)
        try:
            read(path, settings("arrow", schema))
            outcomes[True] += 1
        except CorruptRecordError:
            outcomes[False] += 1
    assert all(outcomes.values())
