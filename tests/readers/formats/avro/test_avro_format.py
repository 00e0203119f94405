"""Plain Avro: types as Spark's from_avro has them, resolution as Avro's specification has it."""

from __future__ import annotations

import base64
import datetime as dt
import json
import pickle
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.errors import FormatSchemaError
from headwater.readers.formats.avro.avro_format import AvroValueFormat
from headwater.readers.formats.format import FormatOptions
from tests.readers.formats.avro.values import decode, encode, record, resolved, rows, spans

UTC = dt.UTC
MOMENT = dt.datetime(2024, 5, 6, 7, 8, 9, 123000, tzinfo=UTC)
COLOR = {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN"]}
INNER = record({"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"]}, name="Inner")


def field(kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": "x", "type": kind, **more}


def made(kind: Any) -> AvroValueFormat:
    return AvroValueFormat(json.dumps(record(field(kind))))


@pytest.mark.parametrize(
    ("kind", "value", "arrow", "shown"),
    [
        ("boolean", True, pa.bool_(), True),
        ("int", -5, pa.int32(), -5),
        ("int", -(1 << 31), pa.int32(), -(1 << 31)),
        ("long", (1 << 63) - 1, pa.int64(), (1 << 63) - 1),
        ("long", -(1 << 63), pa.int64(), -(1 << 63)),
        ("float", 0.5, pa.float32(), 0.5),
        ("double", 0.1, pa.float64(), 0.1),
        ("string", "zażółć" * 9, pa.string(), "zażółć" * 9),
        ("bytes", b"\0\xff", pa.binary(), b"\0\xff"),
        ({"type": "fixed", "name": "F", "size": 3}, b"abc", pa.binary(), b"abc"),
        (COLOR, "GREEN", pa.string(), "GREEN"),
        (
            {"type": "int", "logicalType": "date"},
            dt.date(1969, 1, 2),
            pa.date32(),
            dt.date(1969, 1, 2),
        ),
        ({"type": "long", "logicalType": "timestamp-millis"}, MOMENT, pa.timestamp("us", tz="UTC"), MOMENT),
        ({"type": "long", "logicalType": "timestamp-micros"}, MOMENT, pa.timestamp("us", tz="UTC"), MOMENT),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 17, pa.int64(), 17),
        (
            {"type": "long", "logicalType": "local-timestamp-micros"},
            MOMENT.replace(tzinfo=None),
            pa.timestamp("us"),
            MOMENT.replace(tzinfo=None),
        ),
        ({"type": "string", "logicalType": "uuid"}, "no uuid", pa.string(), "no uuid"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 2},
            Decimal("-1234567890123456789012345678.91"),
            pa.decimal128(30, 2),
            Decimal("-1234567890123456789012345678.91"),
        ),
        (
            {"type": "fixed", "name": "D", "size": 9, "logicalType": "decimal", "precision": 5, "scale": 1},
            Decimal("-0.1"),
            pa.decimal128(5, 1),
            Decimal("-0.1"),
        ),
        ({"type": "array", "items": ["null", "int"]}, [1, None, 3], pa.list_(pa.int32()), [1, None, 3]),
        ({"type": "map", "values": "long"}, {"a": 1}, pa.map_(pa.string(), pa.int64()), [("a", 1)]),
        (
            INNER,
            {"a": 1, "b": "x"},
            pa.struct([("a", pa.int32()), ("b", pa.string())]),
            {"a": 1, "b": "x"},
        ),
        (["null", "string"], None, pa.string(), None),
        (["int", "long"], 3, pa.int64(), 3),
        (["float", "null", "double"], 0.5, pa.float64(), 0.5),
        (
            ["null", "int", "string"],
            "x",
            pa.struct([("member0", pa.int32()), ("member1", pa.string())]),
            {"member0": None, "member1": "x"},
        ),
    ],
)
def test_a_type_becomes_the_column_that_from_avro_makes(
    kind: Any, value: Any, arrow: Any, shown: Any
) -> None:
    reads = made(kind)
    assert reads.schema().field("x").type == arrow
    written = value
    if isinstance(kind, dict) and kind.get("logicalType") in {"uuid", "timestamp-nanos"}:
        kind = kind["type"]
    shown_rows, bad = decode(reads, [encode(record(field(kind)), {"x": written}), None])
    assert bad is None
    assert shown_rows == [{"x": shown}, {"x": None}]


@pytest.mark.parametrize(
    ("writer", "reader", "value", "becomes"),
    [
        ("int", "long", -7, -7),
        ("int", "float", 7, 7.0),
        ("int", "double", -7, -7.0),
        ("long", "float", 7, 7.0),
        ("long", "double", -(1 << 40), -float(1 << 40)),
        ("float", "double", 0.5, 0.5),
        ("string", "bytes", "ü", "ü".encode()),
        ("bytes", "string", b"a\xffb", "a\ufffdb"),
        ("int", ["null", "double"], 1, 1.0),
        (["null", "int"], "int", 1, 1),
        (["int", "string"], ["string", "long"], 5, {"member0": None, "member1": 5}),
        (["int", "string"], "string", "x", "x"),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "double"}, [1, 2], [1.0, 2.0]),
        ({"type": "map", "values": "int"}, {"type": "map", "values": ["null", "long"]}, {"k": 2}, [("k", 2)]),
        ({**COLOR, "symbols": ["BLUE", "RED"]}, {**COLOR, "default": "GREEN"}, "BLUE", "GREEN"),
        ({**COLOR, "namespace": "old"}, COLOR, "RED", "RED"),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            {"type": "long", "logicalType": "timestamp-micros"},
            MOMENT,
            MOMENT,
        ),
        (
            "long",
            {"type": "long", "logicalType": "timestamp-millis"},
            1000,
            dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        ),
    ],
)
def test_the_writers_type_is_resolved_to_the_readers(
    writer: Any, reader: Any, value: Any, becomes: Any
) -> None:
    assert resolved(writer, reader, value) == becomes


@pytest.mark.parametrize(
    ("writer", "reader", "value", "reason"),
    [
        ("string", "int", "x", "x is string in the writer's schema, int in the reader's"),
        ("double", "float", 0.5, "double in the writer's"),
        (["null", "int"], "int", None, "may not be null"),
        (["int", "string"], "string", 1, "x is int"),
        ("boolean", ["null", "string"], True, "none of the reader's union"),
        (COLOR, {**COLOR, "symbols": ["RED"]}, "GREEN", "symbol"),
        (COLOR, {**COLOR, "name": "Colour"}, "RED", "the enum Color"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 3},
            Decimal("1.25"),
            "scale 2 in the writer's schema, 3",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 2},
            Decimal("10.00"),
            "more digits",
        ),
        ("long", {"type": "long", "logicalType": "timestamp-millis"}, 1 << 62, "too far away"),
    ],
)
def test_what_cannot_be_resolved_is_a_bad_value_with_a_reason(
    writer: Any, reader: Any, value: Any, reason: str
) -> None:
    assert reason in str(resolved(writer, reader, value))


def test_fields_are_found_by_name_and_alias_and_missing_ones_have_their_default() -> None:
    writer = record(
        {"name": "gone", "type": {"type": "array", "items": {"type": "map", "values": ["null", INNER]}}},
        {"name": "old", "type": "int"},
        {"name": "kept", "type": "string"},
    )
    defaults: dict[str, Any] = {
        "text": ("string", "d"),
        "list": ({"type": "array", "items": "int"}, [1, 2]),
        "map": ({"type": "map", "values": "string"}, {"k": "v"}),
        "both": (["null", "long"], None),
        "number": (["double", "null"], 1.5),
        "inner": (record({"name": "a", "type": "int", "default": 7}, name="I2"), {}),
        "bytes": ("bytes", "\u00ff"),
    }
    reader = record(
        {"name": "kept", "type": "string"},
        *({"name": name, "type": kind, "default": value} for name, (kind, value) in defaults.items()),
        {"name": "new", "aliases": ["old"], "type": "long"},
    )
    value = {"gone": [{"a": None, "b": {"a": 1, "b": "x"}}, {}], "old": 4, "kept": "k"}
    shown, bad = decode(AvroValueFormat(json.dumps(reader), json.dumps(writer)), [encode(writer, value)] * 2)
    assert bad is None
    assert shown[1] == {
        "kept": "k",
        "text": "d",
        "list": [1, 2],
        "map": [("k", "v")],
        "both": None,
        "number": 1.5,
        "inner": {"a": 7},
        "bytes": b"\xff",
        "new": 4,
    }


def test_a_missing_field_without_a_default_makes_its_record_bad() -> None:
    writer, reader = record(field("int")), record(field("int"), {"name": "y", "type": "int"})
    made = AvroValueFormat(json.dumps(reader), json.dumps(writer))
    decoder = made.decoder()
    bad = decoder.append(spans([encode(writer, {"x": 1})]))
    assert bad is not None
    assert "no field 'y'" in decoder.reason(int(bad.reasons[0]))


def test_a_bad_value_is_a_row_of_nulls_and_leaves_nothing_in_lists_and_strings() -> None:
    kind = record(field({"type": "array", "items": "string"}), {"name": "y", "type": "string"})
    good = encode(kind, {"x": ["a", "b"], "y": "c"})
    made = AvroValueFormat(json.dumps(kind), options=FormatOptions(corrupt_column="bad"))
    shown, bad = decode(made, [good, good[:-1], None, good])
    assert shown == [
        {"x": ["a", "b"], "y": "c", "bad": None},
        {"x": None, "y": None, "bad": base64.b64encode(good[:-1]).decode()},
        {"x": None, "y": None, "bad": None},
        {"x": ["a", "b"], "y": "c", "bad": None},
    ]
    assert bad is not None
    assert bad.rows.tolist() == [1]


def test_the_column_for_bad_values_grows_with_them() -> None:
    kind = record(field("int"))
    made = AvroValueFormat(json.dumps(kind), options=FormatOptions(corrupt_column="bad"))
    values = [bytes([0xFF]) * (1 << 10) + bytes([number]) for number in range(64)]
    shown, bad = decode(made, [encode(kind, {"x": 7}), *values])
    assert shown[0] == {"x": 7, "bad": None}
    assert [row["bad"] for row in shown[1:]] == [base64.b64encode(value).decode() for value in values]
    assert bad is not None
    assert len(bad.rows) == len(values)


def test_columns_grow_with_what_values_hold() -> None:
    kind = record(field({"type": "array", "items": {"type": "array", "items": "string"}}))
    value = {"x": [[str(i) * 5 for i in range(j % 50)] for j in range(300)]}
    made = AvroValueFormat(json.dumps(kind))
    decoder = made.decoder()
    for _ in range(2):
        decoder.append(spans([encode(kind, value)] * 20))
    assert rows(made, decoder) == [value] * 40


def test_a_schema_that_is_no_record_makes_one_column() -> None:
    assert decode(AvroValueFormat('"string"'), [b"\x02a", None])[0] == [{"value": "a"}, {"value": None}]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"type": "record", "name": "R"}',
        '["int", "int"]',
        '{"type": "unheard"}',
        "[" * 100_000,
        json.dumps(record(field(["null", "R"]))),
    ],
)
def test_a_schema_that_columns_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(FormatSchemaError):
        AvroValueFormat(text)


def test_types_that_name_each_other_over_and_over_are_refused() -> None:
    kind: Any = record(field("int"), name="T0")
    for i in range(1, 30):
        kind = record({"name": "a", "type": kind}, {"name": "b", "type": f"T{i - 1}"}, name=f"T{i}")
    with pytest.raises(FormatSchemaError, match="more than"):
        AvroValueFormat(json.dumps(kind))


def test_a_value_has_1024_elements_without_bytes_at_the_most() -> None:
    empty = {"type": "array", "items": record(name="I")}
    reader = record(
        field({"type": "array", "items": record({"name": "y", "type": "int", "default": 1}, name="I")})
    )
    writer = record(field(empty), {"name": "skipped", "type": {**empty, "items": "I"}})
    made = AvroValueFormat(json.dumps(reader), json.dumps(writer))

    def value(read: int, skipped: int) -> bytes:
        return encode(writer, {"x": [{}] * read, "skipped": [{}] * skipped})

    values = [value(1_024, 0), value(1_025, 0), value(24, 1_000), value(25, 1_000)]
    values += [b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", value(3, 0)]
    decoder = made.decoder()
    bad = decoder.append(spans(values))
    assert bad is not None
    assert bad.rows.tolist() == [1, 3, 4]
    assert decoder.reason(int(bad.reasons[0])) == "has more than 1,024 elements without bytes"
    assert [len(row["x"] or ()) for row in rows(made, decoder)] == [1_024, 0, 24, 0, 0, 3]


def test_it_is_the_same_after_pickling() -> None:
    format_ = made("int")
    assert pickle.loads(pickle.dumps(format_)) == format_


def test_mutated_values_never_break_anything() -> None:
    kind = record(
        field({"type": "array", "items": {"type": "map", "values": ["null", INNER, "string"]}}),
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3}},
        {"name": "e", "type": COLOR},
        {"name": "f", "type": ["null", {"type": "array", "items": "long"}]},
    )
    value = {
        "x": [{"a": None, "b": {"a": 1, "b": "text"}, "c": "ü" * 40}] * 3,
        "d": Decimal("-12.345"),
        "e": "RED",
        "f": [1, 2, 3],
    }
    good = encode(kind, value)
    rng = random.Random(7)
    made = AvroValueFormat(json.dumps(kind))
    decoder = made.decoder()
    for _ in range(20):
        batch: list[bytes | None] = []
        for _ in range(500):
            mutated = bytearray(good)
            for _ in range(rng.randrange(1, 4)):
                mutated[rng.randrange(len(mutated))] = rng.randrange(256)
            batch.append(bytes(mutated[: rng.randrange(len(mutated)) if rng.random() < 0.3 else None]))
        decoder.append(spans([*batch, good]))
        assert rows(made, decoder)[-1]["f"] == [1, 2, 3]


def test_an_integer_for_a_union_of_float_and_double_is_a_float_before_it_is_a_double() -> None:
    assert resolved("int", ["float", "double"], (1 << 24) + 1) == float(1 << 24)
    assert resolved("long", ["float", "double"], (1 << 24) + 1) == float(1 << 24)
    assert resolved("int", ["double", "float"], (1 << 24) + 1) == float((1 << 24) + 1)


def test_a_decimal_without_a_byte_is_bad() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    assert resolved("bytes", decimal, b"") == "has a decimal without a byte"


def test_aliases_of_fields_count_in_records_of_the_same_name() -> None:
    wrote = record({"name": "old", "type": "int"}, name="One")
    reads = record({"name": "new", "type": "int", "aliases": ["old"]}, name="One")
    assert resolved(wrote, reads, {"old": 7}) == {"new": 7}
    reads = {**reads, "name": "Two"}
    assert "no field 'new'" in resolved(wrote, reads, {"old": 7})
    assert resolved(wrote, {**reads, "aliases": ["One"]}, {"old": 7}) == {"new": 7}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(
            """{"type": "record", "name": "ns.Event", "fields": [
                {"name": "before", "type": ["null", {"type": "record", "name": "row", "namespace": "",
                    "fields": [{"name": "x", "type": "int"}]}]},
                {"name": "after", "type": ["null", "row"]}]}""",
            id="a type in no namespace",
        ),
        pytest.param(
            """{"type": "record", "name": "ns.Event", "fields": [
                {"name": "before", "type": ["null", {"type": "record", "name": "row", "namespace": null,
                    "fields": [{"name": "x", "type": "int"}]}]},
                {"name": "after", "type": ["null", "ns.row"]}]}""",
            id="a namespace that is null is the one around",
        ),
        pytest.param(
            """{"type": "record", "name": "Event", "namespace": "ns", "fields": [
                {"name": "before", "type": ["null", {"type": "record", "name": "row", "namespace": "",
                    "fields": [{"name": "x", "type": {"type": "record", "name": "part", "fields": [
                        {"name": "y", "type": "int"}]}}]}]},
                {"name": "after", "type": ["null", "ns.part"]}]}""",
            id="types of a record in no namespace are in the one around it",
        ),
        pytest.param(
            """/* A comment. */ {"type": "record", "name": "Event", "fields": [ // another
                {"name": "before", "type": "int", "doc": "no // comment"},
                {"name": "after", "type": "int"}]}""",
            id="comments",
        ),
        pytest.param(
            """{"type": "record", "name": "Größe", "namespace": "日本", "fields": [
                {"name": "before", "type": {"type": "enum", "name": "État", "symbols": ["é"]}},
                {"name": "after", "type": "日本.État", "aliases": ["später"]}]}""",
            id="letters of every alphabet",
        ),
    ],
)
def test_names_and_texts_are_resolved_as_by_javas_parser(schema: str) -> None:
    assert AvroValueFormat(schema).schema().names == ["before", "after"]


@pytest.mark.parametrize(
    ("kind", "default", "shown"),
    [
        ("double", "NaN", "nan"),
        ("float", "Infinity", "inf"),
        ("double", "-Infinity", "-inf"),
        ({"type": "record", "name": "In", "fields": [field("float", default="+NaN")]}, {}, "{'x': nan}"),
    ],
)
def test_a_default_may_be_a_number_that_json_has_no_word_for(kind: Any, default: Any, shown: str) -> None:
    reader = record(field(kind, default=default), {"name": "id", "type": "int"})
    writer = record({"name": "id", "type": "int"})
    values, bad = decode(AvroValueFormat(json.dumps(reader), json.dumps(writer)), [b"\x02"])
    assert bad is None
    assert [str(value["x"]) for value in values] == [shown]


def test_of_a_key_that_stands_twice_in_a_map_the_last_value_stays_in_every_nesting() -> None:
    maps = {"type": "map", "values": "int"}
    twice = bytes.fromhex("04 026b02 026b04 00")
    apart = bytes.fromhex("02 026b02 02 026a06 02 026b08 00")
    other = bytes.fromhex("04 026a02 026b04 00")
    values, bad = decode(made(maps), [twice, other, None, apart, b"\0", twice])
    assert bad is None
    last = [[("k", 2)], [("j", 1), ("k", 2)], None, [("j", 3), ("k", 4)], [], [("k", 2)]]
    assert [value["x"] for value in values] == last
    values, bad = decode(made({"type": "array", "items": maps}), [b"\4" + twice + other + b"\0", b"\0"])
    assert bad is None
    assert [value["x"] for value in values] == [[[("k", 2)], [("j", 1), ("k", 2)]], []]
    inner = bytes.fromhex("04 0261") + twice + b"\x02a" + other + b"\0"
    values, bad = decode(made({"type": "map", "values": maps}), [inner])
    assert bad is None
    assert [value["x"] for value in values] == [[("a", [("j", 1), ("k", 2)])]]


NEXT = {"name": "next", "type": ["null", "Node"], "default": None}
NODE = {"type": "record", "name": "Node", "fields": [{"name": "id", "type": "long"}, NEXT]}
TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "parts", "type": {"type": "map", "values": {"type": "array", "items": "Tree"}}},
        {"name": "other", "type": ["null", NODE], "default": None},
    ],
}


def chain(length: int) -> dict[str, Any] | None:
    node: dict[str, Any] | None = None
    for number in range(length):
        node = {"id": number, "next": node}
    return node


@pytest.mark.parametrize(
    ("writer", "value", "reader", "shown"),
    [
        pytest.param(NODE, chain(3), record({"name": "id", "type": "long"}), {"id": 2}, id="below"),
        pytest.param(
            NODE,
            chain(3),
            record(
                {"name": "id", "type": "long"},
                {"name": "next", "type": ["null", record({"name": "id", "type": "long"}, name="Node")]},
            ),
            {"id": 2, "next": {"id": 1}},
            id="read some levels deep",
        ),
        pytest.param(
            record({"name": "list", "type": {"type": "array", "items": TREE}}, {"name": "x", "type": "int"}),
            {
                "list": [
                    {
                        "id": 1,
                        "parts": {"a": [{"id": 2, "parts": {}, "other": chain(4)}] * 3, "b": []},
                        "other": chain(2),
                    }
                ]
                * 2,
                "x": 7,
            },
            record({"name": "x", "type": "int"}),
            {"x": 7},
            id="through lists, maps and records of other types",
        ),
        pytest.param(
            NODE,
            chain(400),
            record({"name": "id", "type": "long"}),
            {"id": 399},
            id="deeper than schemas may be",
        ),
    ],
)
def test_a_record_in_itself_is_skipped_where_the_reader_does_not_have_it(
    writer: Any, value: Any, reader: Any, shown: Any
) -> None:
    made_by = AvroValueFormat(json.dumps(reader), json.dumps(writer))
    encoded = encode(writer, value)
    values, bad = decode(made_by, [encoded, encoded[:-1], encoded])
    assert bad is not None
    assert bad.rows.tolist() == [1]
    assert [values[0], values[2]] == [shown, shown]


def test_a_record_that_holds_nothing_but_itself_is_bad_and_ends() -> None:
    writer = record({"name": "id", "type": "int"}, {"name": "loop", "type": "R"})
    made_by = AvroValueFormat(json.dumps(record({"name": "id", "type": "int"})), json.dumps(writer))
    decoder = made_by.decoder()
    bad = decoder.append(spans([b"\2" * 20_000]))
    assert bad is not None
    assert "deeper than 10,000 levels" in decoder.reason(int(bad.reasons[0]))
