"""Messages become the rows that protobuf's own library and Spark's rules make of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.confluent.type import decimal_pb2, variant_pb2
from confluent_kafka.schema_registry.confluent.types import decimal_pb2 as old_decimal_pb2
from google.protobuf import descriptor_pb2
from google.type import date_pb2

from headwater.core.errors import OptionError
from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.protobuf.descriptors import _known_file
from headwater.readers.formats.protobuf.format import ProtobufFormat
from tests.readers.formats.protobuf.decoding import appended, decoded, finished
from tests.readers.formats.protobuf.messages import (
    DESCRIPTOR_SET,
    MESSAGES,
    NEW,
    OPTIONAL,
    REPEATED,
    Writer,
    as_base64,
    expected,
    has_field_zero,
    has_long_size,
)

WHOLE = ProtobufFormat(
    descriptor_set=DESCRIPTOR_SET, message="new.Whole", options=FormatOptions(corrupt_column="_corrupt")
)
OLD = ProtobufFormat(descriptor_set=DESCRIPTOR_SET, message="old.Whole")


def shown(row: Any) -> str:
    """NaN is like NaN, -0.0 is not like 0.0, and maps have no order."""
    if isinstance(row, dict):
        return repr(sorted((repr(key), shown(value)) for key, value in row.items()))
    return repr([shown(value) for value in row]) if isinstance(row, list) else repr(row)


def differences(name: str, count: int, seed: int) -> tuple[int, int]:
    """Compare many values with protobuf's library; return how many it takes and how many it rejects."""
    format_ = ProtobufFormat(
        descriptor_set=DESCRIPTOR_SET, message=name, options=FormatOptions(corrupt_column="_corrupt")
    )
    writer = Writer(random.Random(seed))
    good = 0
    for begin in range(0, count, 1000):
        values = [writer.value(name) for _ in range(min(1000, count - begin))]
        rows, bad = decoded(format_, values)
        for at, (value, row) in enumerate(zip(values, rows, strict=True)):
            want = expected(name, value)
            said = f"seed {seed}, {name}, {value.hex()}"
            corrupt = row.pop("_corrupt")
            if want is not None and "a time" in bad.get(at, ""):
                continue  # out of range where it is said first, then said again: good for the library
            if want is not None and at in bad and has_field_zero(value):
                continue
            if want is None and at not in bad and has_long_size(value):
                continue
            if want is None:
                assert at in bad, said
                assert corrupt == as_base64(value), said
                assert set(row.values()) == {None}, said
            else:
                assert at not in bad, f"{said}: {bad[at]}"
                assert corrupt is None
                assert shown(row) == shown(want), said
                good += 1
    return good, count - good


@pytest.mark.parametrize("name", ["new.Whole", "old.Whole", "edition.Whole"])
def test_protobufs_own_library_takes_and_rejects_the_same_values(name: str, seed: int) -> None:
    good, bad = differences(name, 3000, seed)
    assert good > 1000, "most of them have to say something"
    assert bad > 200


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["new.Whole", "old.Whole", "edition.Whole"])
def test_a_million_values_are_as_protobufs_own_library_has_them(name: str, seed: int) -> None:
    differences(name, 500_000, seed)


def test_a_field_without_presence_is_null_where_it_has_its_default() -> None:
    whole = MESSAGES["new.Whole"](a_int32=0, o_int32=0, a_string="", o_string="")
    (row,), _ = decoded(WHOLE, [whole.SerializeToString()])
    assert (row["a_int32"], row["o_int32"], row["a_string"], row["o_string"]) == (None, 0, None, "")
    with_defaults = ProtobufFormat(descriptor_set=DESCRIPTOR_SET, message="new.Whole", defaults=True)
    (row,), _ = decoded(with_defaults, [b""])
    assert (row["a_int32"], row["o_int32"], row["a_string"], row["color"]) == (0, None, "", "NONE")
    assert row["part"] is None
    assert row["r_int32"] == []


def test_a_default_of_proto2_stands_for_what_is_not_set() -> None:
    whole = MESSAGES["old.Whole"](id=1)
    (row,), _ = decoded(OLD, [whole.SerializeToString()])
    assert row["a_int64"] is None
    assert (row["d_int64"], row["d_string"], row["d_bytes"], row["d_bool"]) == (7, "text", b"\x01x", True)
    assert (row["d_double"], row["d_float"], row["d_uint64"], row["d_color"]) == (7.0, 7.0, -1, "BLUE")


def test_a_null_is_a_row_of_nulls_and_not_bad() -> None:
    rows, bad = decoded(WHOLE, [None, b"", None])
    assert not bad
    assert set(rows[0].values()) == {None}
    assert rows[1]["r_int32"] == []
    assert set(rows[2].values()) == {None}


def test_unsigned_numbers_and_enums_have_the_types_that_were_asked_for() -> None:
    format_ = ProtobufFormat(
        descriptor_set=DESCRIPTOR_SET, message="new.Whole", enums_as_ints=True, upcast_unsigned=True
    )
    schema = format_.schema()
    assert schema.field("a_uint32").type == pa.int64()
    assert schema.field("a_uint64").type == pa.decimal128(20, 0)
    assert schema.field("colors").type.value_type == pa.int32()
    whole = MESSAGES["new.Whole"](a_uint32=2**32 - 1, a_uint64=2**64 - 1, r_uint64=[1, 2**63], color=-3)
    (row,), _ = decoded(format_, [whole.SerializeToString()])
    assert (row["a_uint32"], row["color"]) == (2**32 - 1, -3)
    assert [int(value) for value in [row["a_uint64"], *row["r_uint64"]]] == [2**64 - 1, 1, 2**63]


def test_a_time_is_good_up_to_the_last_microsecond_of_64_bits() -> None:
    """Nanoseconds are an int32, which may be more than a second."""
    most = 2**63 - 1
    seconds, micros = divmod(most, 1_000_000)
    parts = [
        (seconds, micros * 1_000 + 999),
        (seconds, (micros + 1) * 1_000),
        (seconds, 2**31 - 1),
        (seconds - 1, 2**31 - 1),
        (-seconds, -micros * 1_000),
        (-seconds, -(micros + 1) * 1_000),
        (-seconds, -(micros + 2) * 1_000),
        (-seconds, -(2**31)),
        (-seconds, 2**31 - 1),
    ]
    values = []
    for each_seconds, nanos in parts:
        late = MESSAGES["new.Whole"]()
        late.time.seconds = each_seconds
        late.time.nanos = nanos
        values.append(late.SerializeToString())
    rows, bad = decoded(WHOLE, values)
    assert sorted(bad) == [1, 2, 3, 6, 7]
    assert set(bad.values()) == {"has a time that does not fit into 64 bits of microseconds"}
    whole = [row["time"] for at, row in enumerate(rows) if at not in bad]
    assert whole == [("us", most), ("us", -most), ("us", -most - 1), ("us", -seconds * 1_000_000 + 2147483)]


def test_bad_values_say_why_and_the_next_ones_are_read() -> None:
    good = MESSAGES["new.Whole"](r_string=["a"], a_string="x", parts=[{"counts": [1, 2]}]).SerializeToString()
    cut = good[:-1]
    text = b"\x4a\x01\xff"
    deep = b"\xb3\x3e" * 101 + b"\xb4\x3e" * 101
    late = MESSAGES["new.Whole"]()
    late.time.seconds = 2**60
    values = [good, cut, text, good, deep, late.SerializeToString(), good]
    rows, bad = decoded(WHOLE, values)
    assert bad == {
        1: "is not in Protobuf's wire format",
        2: "has a string that is not UTF-8",
        4: "has messages nested deeper than 100",
        5: "has a time that does not fit into 64 bits of microseconds",
    }
    for row in (0, 3, 6):
        assert rows[row]["parts"][0]["counts"] == [1, 2]
        assert rows[row]["r_string"] == ["a"]
    assert rows[2]["_corrupt"] == "SgH/"
    _, bad = decoded(OLD, [b""])
    assert bad == {0: "lacks a required field"}


def test_columns_grow_with_the_values_over_several_calls() -> None:
    whole = MESSAGES["new.Whole"]
    values = [
        whole(
            r_string=["ä" * i] * 3,
            r_bool=[True] * i,
            numbers={"k" * j: j for j in range(i % 50)},
            colors=[5] * i,
            parts=[{"name": "n" * i, "inner": {"texts": ["t"] * 4}}] * (i % 7),
        ).SerializeToString()
        for i in range(400)
    ]
    decoder = WHOLE.decoder()
    for begin in range(0, len(values), 150):
        assert appended(decoder, values[begin : begin + 150]) == {}
    rows = finished(WHOLE, decoder)
    for row, value in zip(rows, values, strict=True):
        assert row.pop("_corrupt") is None
        assert row == expected("new.Whole", value)
    assert finished(WHOLE, decoder) == [], "it starts anew"


def test_the_name_of_a_message_may_do_without_its_package() -> None:
    assert ProtobufFormat(descriptor_set=DESCRIPTOR_SET, message="Inner").schema().names == ["x", "texts"]
    with pytest.raises(
        OptionError, match=r"new\.Whole and old\.Whole and edition\.Whole: write the package too"
    ):
        ProtobufFormat(descriptor_set=DESCRIPTOR_SET, message="Whole").schema()
    with pytest.raises(OptionError, match=r"no message 'new\.Hole'; did you mean 'new\.Whole'"):
        ProtobufFormat(descriptor_set=DESCRIPTOR_SET, message="new.Hole").schema()


def test_a_descriptor_set_that_is_none_or_not_whole_is_refused() -> None:
    with pytest.raises(OptionError, match="the descriptor set cannot be read"):
        ProtobufFormat(descriptor_set=b"\xff\xff", message="x").schema()
    lacking = descriptor_pb2.FileDescriptorProto()
    lacking.CopyFrom(NEW)
    lacking.dependency.append("elsewhere.proto")
    lacking_set = descriptor_pb2.FileDescriptorSet(file=[lacking]).SerializeToString()
    with pytest.raises(OptionError, match=r"lacks the imported file 'elsewhere\.proto'.*--include"):
        ProtobufFormat(descriptor_set=lacking_set, message="new.Whole").schema()


@pytest.mark.parametrize("label", [OPTIONAL, REPEATED])
def test_a_message_that_contains_itself_is_refused_with_its_path(label: int) -> None:
    file = descriptor_pb2.FileDescriptorProto(name="tree.proto", package="t", syntax="proto3")
    file.message_type.add(name="Tree").field.add(
        name="branch", number=1, type=11, type_name=".t.Branch", label=label
    )
    file.message_type.add(name="Branch").field.add(
        name="tree", number=1, type=11, type_name=".t.Tree", label=OPTIONAL
    )
    tree = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    with pytest.raises(OptionError, match=r"field tree of message t\.Branch in t\.Tree is of type"):
        ProtobufFormat(descriptor_set=tree, message="t.Tree").schema()


def test_well_known_types_are_structs_of_their_fields_as_in_spark() -> None:
    schema = ProtobufFormat(descriptor_set=DESCRIPTOR_SET, message="edition.Whole").schema()
    assert schema.field("int32value").type == pa.struct([("value", pa.int32())])
    assert schema.field("any").type == pa.struct([("type_url", pa.string()), ("value", pa.binary())])
    assert schema.field("fieldmask").type == pa.struct([("paths", pa.list_(pa.string()))])
    assert schema.field("timestamp").type == pa.timestamp("us", tz="UTC")
    assert not {"empty", "empty_ones"} & set(schema.names)


def file_of(
    message: descriptor_pb2.DescriptorProto, *imports: str, **more: Any
) -> descriptor_pb2.FileDescriptorProto:
    return descriptor_pb2.FileDescriptorProto(
        name="one.proto", package="one", message_type=[message], dependency=imports, **more
    )


def format_of(file: descriptor_pb2.FileDescriptorProto) -> ProtobufFormat:
    content = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    return ProtobufFormat(descriptor_set=content, message=file.message_type[0].name)


@pytest.mark.parametrize("kind", ["Struct", "Value", "ListValue"])
def test_the_well_known_types_that_contain_themselves_are_refused(kind: str) -> None:
    message = descriptor_pb2.DescriptorProto(name="Holder")
    message.field.add(name="x", number=1, type=11, type_name=f".google.protobuf.{kind}", label=OPTIONAL)
    file = file_of(message, "google/protobuf/struct.proto", syntax="proto3")
    with pytest.raises(
        OptionError, match=rf"google\.protobuf\.{kind}\b.* again, and columns cannot be recursive"
    ):
        format_of(file).schema()


def test_every_file_that_confluents_clients_bring_is_known_without_being_given() -> None:
    names = {
        *(f"google/type/{path.stem}.proto" for path in Path(str(date_pb2.__file__)).parent.glob("*.proto")),
        *(f"google/protobuf/{each}.proto" for each in ("any", "struct", "wrappers", "descriptor", "type")),
    }
    own = (meta_pb2, decimal_pb2, variant_pb2, old_decimal_pb2)
    assert len(names) == 22
    for name in sorted({*names, *(module.DESCRIPTOR.name for module in own)}):
        message = descriptor_pb2.DescriptorProto(name="Holder")
        message.field.add(name="x", number=1, type=5, label=OPTIONAL)
        assert format_of(file_of(message, name, syntax="proto3")).schema().names == ["x"], name
    for module in own:
        theirs = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(theirs)
        theirs.ClearField("options")
        assert _known_file(theirs.name) == theirs
    with pytest.raises(OptionError, match="lacks the imported file 'confluent/other"):
        format_of(file_of(message, "confluent/other.proto", syntax="proto3")).schema()


def test_a_message_without_a_column_is_refused() -> None:
    with pytest.raises(OptionError, match=r"new\.Empty has no field that becomes a column"):
        ProtobufFormat(descriptor_set=DESCRIPTOR_SET, message="new.Empty").schema()


@pytest.mark.parametrize(
    ("value", "is_bad"),
    [
        pytest.param("08021202 3132", True, id="bytes for an int"),
        pytest.param("1102000000000000 00", True, id="64 bits for an int"),
        pytest.param("15 02000000", True, id="32 bits for an int"),
        pytest.param("13 14", True, id="a group for an int"),
        pytest.param("1802", True, id="an int for a message"),
        pytest.param("2102000000000000 00", True, id="64 bits for elements of a list of ints"),
        pytest.param("2802", True, id="a number that a closed enum does not name"),
        pytest.param("3002", True, id="such a number in a list"),
        pytest.param("3202 0102", True, id="such a number in a packed list"),
        pytest.param("2802 2801", True, id="such a number, and a good one behind it"),
        pytest.param("2001 220102", False, id="elements one by one and packed"),
        pytest.param("7802 78ff01", False, id="a number that is no field of the schema"),
        pytest.param("1a03 120131", False, id="another wire type inside of a message"),
        pytest.param("1a02 2802", False, id="an unknown number of an enum inside of a message"),
    ],
)
def test_a_field_whose_value_is_of_no_known_kind_makes_the_message_bad_as_from_protobuf_has_it(
    value: str, is_bad: bool
) -> None:
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="wires.proto", package="wires", syntax="proto2")
    file.enum_type.add(name="Low").value.add(name="ONE", number=1)
    message = file.message_type.add(name="Row")
    for number, (name, kind, label) in enumerate(
        [
            ("id", field.TYPE_INT32, OPTIONAL),
            ("amount", field.TYPE_INT32, OPTIONAL),
            ("part", field.TYPE_MESSAGE, OPTIONAL),
            ("many", field.TYPE_INT32, REPEATED),
            ("low", field.TYPE_ENUM, OPTIONAL),
            ("lows", field.TYPE_ENUM, REPEATED),
        ],
        1,
    ):
        message.field.add(name=name, number=number, type=kind, label=label)
    file.message_type.add(name="Part").field.add(
        name="amount", number=2, type=field.TYPE_INT32, label=OPTIONAL
    )
    file.message_type[1].field.add(
        name="low", number=5, type=field.TYPE_ENUM, label=OPTIONAL, type_name=".wires.Low"
    )
    message.field[2].type_name = ".wires.Part"
    message.field[4].type_name = message.field[5].type_name = ".wires.Low"
    files = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    made_by = ProtobufFormat(descriptor_set=files, message="wires.Row")
    rows, bad = decoded(made_by, [bytes.fromhex(value), b"\x08\x07"])
    assert (0 in bad) == is_bad, bad
    assert not is_bad or set(rows[0].values()) == {None}
    assert rows[1]["id"] == 7


def test_a_key_that_stands_twice_in_a_map_stays_twice_as_in_spark() -> None:
    entries = [MESSAGES["new.Whole"](numbers={"k": number}).SerializeToString() for number in (1, 2)]
    decoder = WHOLE.decoder()
    assert appended(decoder, [b"".join(entries)]) == {}
    numbers = decoder.finish()[WHOLE.schema().names.index("numbers")]
    assert numbers.to_pylist() == [[("k", 1), ("k", 2)]]


# A set of features with (pb.java).utf8_validation, which Python's library has no name for.
_JAVA_VERIFIES = b"\xca\x3e\x02\x10\x02"
_JAVA_DEFAULT = b"\xca\x3e\x02\x10\x01"


@pytest.mark.parametrize(
    ("of_field", "of_file", "is_checked"),
    [
        (b"", b"", False),
        (_JAVA_VERIFIES, b"", True),
        (b"", _JAVA_VERIFIES, True),
        (_JAVA_DEFAULT, _JAVA_VERIFIES, False),
    ],
)
def test_strings_of_editions_are_checked_where_the_feature_of_java_asks_for_it(
    of_field: bytes, of_file: bytes, is_checked: bool
) -> None:
    message = descriptor_pb2.DescriptorProto(name="Texts")
    text = message.field.add(name="text", number=1, type=9, label=OPTIONAL)
    text.options.features.MergeFromString(of_field)
    options = descriptor_pb2.FileOptions()
    options.features.MergeFromString(of_file)
    options.features.utf8_validation = descriptor_pb2.FeatureSet.NONE
    file = file_of(message, syntax="editions", options=options)
    file.edition = descriptor_pb2.EDITION_2023
    _, bad = decoded(format_of(file), [b"\x0a\x01\xff"])
    assert bool(bad) == is_checked


@pytest.mark.parametrize("checks", [False, True])
def test_strings_of_proto2_are_checked_in_maps_and_where_the_file_asks_for_it(checks: bool) -> None:
    message = descriptor_pb2.DescriptorProto(name="Texts")
    message.field.add(name="text", number=1, type=9, label=OPTIONAL)
    entry = message.nested_type.add(name="TextsEntry")
    entry.options.map_entry = True
    for number, name in enumerate(("key", "value"), 1):
        entry.field.add(name=name, number=number, type=9, label=OPTIONAL)
    message.field.add(name="texts", number=2, type=11, type_name=".one.Texts.TextsEntry", label=REPEATED)
    options = descriptor_pb2.FileOptions(java_string_check_utf8=checks)
    rows, bad = decoded(
        format_of(file_of(message, syntax="proto2", options=options)),
        [b"\x0a\x01\xff", b"\x12\x03\x0a\x01\xff", b"\x12\x03\x12\x01\xff"],
    )
    assert bad == dict.fromkeys(range(0 if checks else 1, 3), "has a string that is not UTF-8")
    assert rows[0]["text"] == (None if checks else "\N{REPLACEMENT CHARACTER}")
