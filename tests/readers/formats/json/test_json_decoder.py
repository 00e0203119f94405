"""JSON objects as columns: what each type takes, what makes a row bad, and what becomes of it."""

from __future__ import annotations

import base64
import json
import math
import random
import struct
import time
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import OptionError
from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.json.json_format import JsonValueFormat
from tests.readers.formats.json.json_values import CORRUPT, Decoded, decode, spans

LONG = {"a": pa.int64()}
STRING = {"a": pa.string()}
NOT_JSON = "is not JSON"
MISMATCH = "in the field 'a', which does not fit its type bigint"
NOT_AN_OBJECT = "is not a JSON object"


def one(kind: pa.DataType, value: str, **options: Any) -> Any:
    """Return what a column makes of a value, which must fit."""
    decoded = decode({"a": kind}, [f'{{"a":{value}}}'], **options)
    assert decoded.bad == {}, value
    return decoded.rows[0].get("a")


def fits(kind: pa.DataType, value: str) -> bool:
    decoded = decode({"a": kind}, [f'{{"a":{value}}}'])
    assert bool(decoded.bad) != bool(decoded.rows[0])
    return not decoded.bad


def test_an_object_becomes_a_row() -> None:
    schema = {
        "id": pa.int64(),
        "name": pa.string(),
        "price": pa.float64(),
        "ok": pa.bool_(),
        "at": pa.timestamp("us", "UTC"),
        "place": pa.struct([("city", pa.string()), ("zip", pa.int32())]),
        "tags": pa.list_(pa.string()),
        "counts": pa.map_(pa.string(), pa.int16()),
    }
    text = """{"id": 7, "name": "é\\n", "price": 1.5, "ok": true, "at": "2026-11-21T10:00:00Z",
        "place": {"zip": 5, "city": "X"}, "tags": ["a", null], "counts": {"b": 1}, "unknown": [{}]}"""
    micros = int(datetime(2026, 11, 21, 10, tzinfo=UTC).timestamp()) * 1_000_000
    assert decode(schema, [text]).rows == [
        {
            "id": 7,
            "name": "é\n",
            "price": 1.5,
            "ok": True,
            "at": micros,
            "place": {"city": "X", "zip": 5},
            "tags": ["a", None],
            "counts": [("b", 1)],
        }
    ]


def test_nulls_and_blank_values_are_rows_of_nulls_and_never_bad() -> None:
    assert decode(LONG, [None, "", " \n", "{}", '{"a":null}'], corrupt=CORRUPT) == ([{}] * 5, {})


BROKEN = (
    *("{", '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{"a":01}', '{"a":tru}', "{a:1}", '{"a":1 2}'),
    *('{"a":"x\n"}', '{"a":"\\x"}', '{"a":1.}', '{"a":.5}', '{"a":+1}', '{"b":[1}', '{"b":[1,]}'),
)


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_json_is_a_row_of_nulls_with_its_text(text: str) -> None:
    decoded = decode({"b": pa.int64(), "a": pa.string()}, [text], corrupt=CORRUPT)
    assert decoded.rows == [{CORRUPT: text}]
    assert decoded.bad == {0: NOT_JSON}


@pytest.mark.parametrize("text", ["1", "[]", '[{"a":1}]', '"x"', "true", "null"])
def test_a_value_that_is_no_object_is_bad(text: str) -> None:
    assert decode(LONG, [text], corrupt=CORRUPT) == ([{CORRUPT: text}], {0: NOT_AN_OBJECT})


def test_a_value_of_another_type_is_null_and_the_other_fields_stay() -> None:
    text = '{"a":"x","b":2}'
    decoded = decode({"a": pa.int64(), "b": pa.int64()}, [text], corrupt=CORRUPT)
    assert decoded == ([{"b": 2, CORRUPT: text}], {0: f'has "x" {MISMATCH}'})


def test_a_list_or_map_with_a_wrong_value_is_null_as_a_whole_but_structs_in_it_lose_only_the_field() -> None:
    schema = {
        "l": pa.list_(pa.int64()),
        "m": pa.map_(pa.string(), pa.list_(pa.int64())),
        "s": pa.list_(pa.struct([("x", pa.int64()), ("y", pa.int64())])),
        "z": pa.int64(),
    }
    values = [
        '{"l":[1,"x",{"q":[2]}],"z":1}',
        '{"m":{"p":[1],"q":[1,[]],"r":[]},"z":1}',
        '{"s":[{"x":"","y":2}]}',
    ]
    decoded = decode(schema, values)
    assert decoded.rows == [{"z": 1}, {"z": 1}, {"s": [{"x": None, "y": 2}]}]
    assert decoded.bad.keys() == {0, 1, 2}


def test_of_fields_with_one_name_the_last_one_counts() -> None:
    schema = {
        "a": pa.int64(),
        "s": pa.string(),
        "l": pa.list_(pa.string()),
        "n": pa.struct([("x", pa.string()), ("l", pa.list_(pa.int64()))]),
    }
    first = '"a":1,"s":"long text","l":["a","b"],"n":{"x":"x","l":[1,2]}'
    last = '"a":2,"s":"b","l":["c"],"n":{"l":[3]}'
    assert (
        decode(schema, [f"{{{first},{last}}}", f"{{{last}}}"]).rows
        == [{"a": 2, "s": "b", "l": ["c"], "n": {"x": None, "l": [3]}}] * 2
    )


def test_of_fields_with_one_name_one_that_does_not_fit_leaves_the_earlier_one() -> None:
    schema = {
        "a": pa.int64(),
        "x": pa.binary(),
        "l": pa.list_(pa.int64()),
        "m": pa.map_(pa.string(), pa.list_(pa.int64())),
        "n": pa.struct([("x", pa.int64())]),
    }
    first = '"a":1,"x":"QUJD","l":[1],"m":{"k":[1,2]},"n":{"x":1}'
    good = {"a": 1, "x": b"ABC", "l": [1], "m": [("k", [1, 2])], "n": {"x": 1}}
    bad = '"a":"b","x":"!","l":[2,"x"],"m":{"k":[2],"q":[1,"x"]},"n":[]'
    decoded = decode(schema, [f"{{{first},{bad}}}"])
    assert decoded.rows == [good]
    assert "which does not fit its type" in decoded.bad[0]
    many = ',"l":["x"]' * 9
    assert decode(schema, [f"{{{first}{many}}}"]).rows == [
        {name: value for name, value in good.items() if name != "l"}
    ]
    assert decode(schema, ['{"x":"QUJD","x":"REVGRw=="}', '{"x":"REVGRw==","x":""}']).rows == [
        {"x": b"DEFG"},
        {"x": b""},
    ]


def test_a_date_may_be_a_number_of_days_as_old_versions_of_spark_wrote_it() -> None:
    kind = pa.date32()
    assert one(kind, '"0"') == 0
    assert one(kind, '"-5"') == -5
    assert one(kind, '"20200102"') == 20200102
    assert one(kind, '"-10000000"') == -9999807
    assert not fits(kind, '"+"')
    assert not fits(kind, '"2147483648"')


def test_times_reach_as_far_as_their_microseconds_have_64_bits() -> None:
    for kind, zone in ((pa.timestamp("us", "UTC"), "Z"), (pa.timestamp("us"), "")):
        assert one(kind, f'"294247-01-10T04:00:54.775807{zone}"') == (1 << 63) - 1
        assert one(kind, f'"-290308-12-21T19:59:05.224192{zone}"') == -(1 << 63)
        assert not fits(kind, f'"294247-01-10T04:00:54.775808{zone}"')
        assert not fits(kind, f'"-290308-12-21T19:59:05.224191{zone}"')
    assert one(pa.timestamp("us", "UTC"), '"1970-01GMT-01T00:00:01Z"') == 1_000_000


def test_what_follows_an_object_is_ignored() -> None:
    assert decode(LONG, ['{"a":1} x', '{"a":2}{"a":3}']) == ([{"a": 1}, {"a": 2}], {})


def test_single_quotes_and_escaped_names_are_taken() -> None:
    assert decode(LONG, ["{'a':1}", '{"\\u0061":2}']).rows == [{"a": 1}, {"a": 2}]
    assert one(pa.string(), "'say \"a\\'\"'") == 'say "a\'"'


def test_names_that_json_has_to_escape_are_found() -> None:
    assert decode({'a"\\': pa.int64()}, ['{"a\\"\\\\":1}', '{"a":2}']).rows == [{'a"\\': 1}, {}]


@pytest.mark.parametrize(
    ("kind", "bits"), [(pa.int16(), 16), (pa.int32(), 32), (pa.int64(), 64)], ids=["short", "int", "long"]
)
def test_integers_have_their_range(kind: pa.DataType, bits: int) -> None:
    most = (1 << bits - 1) - 1
    assert one(kind, str(most)) == most
    assert one(kind, str(-most - 1)) == -most - 1
    assert not any(fits(kind, text) for text in (str(most + 1), str(-most - 2), "1.0", "1e2", '"1"', "true"))


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=40, deadline=None)
def test_a_double_is_the_one_nearest_to_its_text(value: float) -> None:
    for text in (repr(value), f"{value:.25e}", f"{value:.17g}"):
        assert one(pa.float64(), text) == float(text)


@given(st.integers(0, 10**40), st.integers(-360, 330), st.booleans())
@settings(max_examples=60, deadline=None)
def test_digits_beyond_a_double_are_rounded(digits: int, exponent: int, negative: bool) -> None:
    text = f"{'-' * negative}{digits}e{exponent}"
    assert struct.pack("d", one(pa.float64(), text)) == struct.pack("d", float(text))


def test_a_float_is_rounded_once() -> None:
    assert one(pa.float32(), "1.00000017881393432617187499") == 1.0000001192092896
    assert one(pa.float32(), "1.00000017881393432617187501") == 1.000000238418579


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", math.nan),
        ("Infinity", math.inf),
        ("-INF", -math.inf),
        ("+INF", math.inf),
        ("-Infinity", -math.inf),
    ],
)
def test_numbers_that_are_none_are_taken_with_and_without_quotes(text: str, value: float) -> None:
    for kind in (pa.float64(), pa.float32()):
        assert str(one(kind, text)) == str(one(kind, f'"{text}"')) == str(value)


@given(st.integers(-(10**20), 10**20), st.integers(-25, 5))
@settings(max_examples=60, deadline=None)
def test_a_decimal_is_rounded_half_up_and_must_have_room(digits: int, exponent: int) -> None:
    text = f"{digits}e{exponent}"
    value = Decimal(text).quantize(Decimal("0.01"), ROUND_HALF_UP)
    kind = pa.decimal128(12, 2)
    if abs(value) < 10**10:
        assert one(kind, text) == one(kind, f'"{text}"') == value
    else:
        assert not fits(kind, text)


@pytest.mark.parametrize(("text", "number"), [("1,234.5", "1234.5"), (",-,1", "-1"), ("15e,-,1,", "1.5")])
def test_commas_in_the_text_of_a_decimal_mean_nothing_wherever_they_are(text: str, number: str) -> None:
    assert one(pa.decimal128(9, 3), f'"{text}"') == Decimal(number)


def test_decimals_have_up_to_38_digits() -> None:
    most = "9" * 38
    assert one(pa.decimal128(38, 0), most) == Decimal(most)
    assert one(pa.decimal128(38, 38), f"-0.{most}") == Decimal(f"-0.{most}")
    assert not fits(pa.decimal128(38, 0), f"{most}.5")


@given(st.text())
@settings(max_examples=60, deadline=None)
def test_strings_come_out_as_they_went_in(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    for ascii_only in (True, False):
        assert one(pa.string(), json.dumps(text, ensure_ascii=ascii_only)) == text


@given(st.binary(max_size=12))
@settings(max_examples=60, deadline=None)
def test_bytes_that_are_no_utf_8_become_u_fffd_as_in_java(content: bytes) -> None:
    content = bytes(byte for byte in content if byte >= 0x20 and byte not in b'"\\')
    found = decode(STRING, [b'{"a":"' + content + b'"}']).rows[0]["a"]
    surrogates = b"".join(b"\xed" + bytes([byte]) for byte in range(0xA0, 0xC0))
    if not any(content[i : i + 2] in surrogates for i in range(len(content))):
        assert found == content.decode("utf-8", "replace")


def test_what_is_no_string_is_the_text_that_java_writes() -> None:
    texts = {
        "1": "1",
        "1.50": "1.5",
        "1e5": "100000.0",
        "1e7": "1.0E7",
        "0.001": "0.001",
        "1e-4": "1.0E-4",
        "-0.0": "-0.0",
        "-0": "0",
        "1e999": '"Infinity"',
        "-INF": '"-Infinity"',
        "[-0, NaN]": '[0,"NaN"]',
        '["\\ud83d\\ude00😀\\ud83d"]': '["\\uD83D\\uDE00\\uD83D\\uDE00\\uD83D"]',
        "true": "true",
        '{"q": [1, 2.50, "x\\u00e9\\n", null]}': '{"q":[1,2.5,"xé\\n",null]}',
    }
    assert {text: one(pa.string(), text) for text in texts} == texts


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=60, deadline=None)
def test_a_double_as_text_means_the_same_double(value: float) -> None:
    assert float(one(pa.string(), f"{value:.20e}")) == value


@given(st.binary())
@settings(max_examples=100, deadline=None)
def test_base64_becomes_bytes(content: bytes) -> None:
    assert one(pa.binary(), json.dumps(base64.b64encode(content).decode())) == content


def test_base64_may_have_white_space_between_its_groups() -> None:
    assert one(pa.binary(), '"QUJD\t\nREVG "') == b"ABCDEF"
    # Escapes count as what they mean, beside control characters that are not escaped.
    assert one(pa.binary(), '"\\nQU\\u004aD\x1f\\u000dREVG"') == b"ABCDEF"
    assert one(pa.binary(), '"\\n\x1f"') == b""
    for broken in ('"\\"\x1f"', '"\x1f\\u00e9QUJ"', '"\x1f\\x"', '"\x1f\\n', '"\x1f\\"'):
        assert decode({"a": pa.binary()}, [f'{{"a":{broken}}}']).bad == {0: NOT_JSON}
    assert decode({"a": pa.binary()}, ['{"a":"Q\tUJD"}']).bad == {0: NOT_JSON}


def test_a_time_without_a_zone_has_that_of_the_option() -> None:
    kind = pa.timestamp("us", "UTC")
    base = one(kind, '"2026-07-01T10:00:00Z"')
    assert one(kind, '"2026-07-01T10:00:00"', time_zone="Europe/Paris") == base - 2 * 3_600_000_000
    assert one(kind, '"2026-07-01T10:00:00"', time_zone="-03:00") == base + 3 * 3_600_000_000
    assert one(kind, '"2426-07-01T10:00:00"', time_zone="Europe/Paris") == one(kind, '"2426-07-01T08:00:00Z"')
    assert one(kind, '"2026-07-01T10:00:00 America/New_York"') == base + 4 * 3_600_000_000
    assert one(kind, '"2026-07-01 10:00:00.5+01:30"') == base - 5_400_000_000 + 500_000


@pytest.mark.parametrize(
    "text", ["10:00:00", "T10:00", "2026-02-30", "2026-07-01T24:00:00", "x", "", "2026-07-01Z"]
)
def test_what_is_no_time_is_bad(text: str) -> None:
    assert not fits(pa.timestamp("us", "UTC"), f'"{text}"')


def test_a_time_zone_that_does_not_exist_makes_a_value_bad_but_an_option_an_error() -> None:
    assert not fits(pa.timestamp("us", "UTC"), '"2026-07-01T10:00:00 Nowhere/Town"')
    made = JsonValueFormat(pa.schema([]).serialize().to_pybytes(), FormatOptions(time_zone="Nowhere/Town"))
    with pytest.raises(OptionError, match="Nowhere/Town"):
        made.decoder()


def test_columns_grow_where_values_need_more_room_than_was_foreseen() -> None:
    schema = {"l": pa.list_(pa.list_(pa.string())), "m": pa.map_(pa.string(), pa.string()), "s": pa.string()}
    texts = [["x" * (i % 50)] * (i % 7) for i in range(3000)]
    pairs = {str(i): "y" * i for i in range(300)}
    found = decode(schema, [json.dumps({"l": texts, "m": pairs, "s": "z"})] * 3).rows
    assert found == [{"l": texts, "m": list(pairs.items()), "s": "z"}] * 3


def test_a_decoder_makes_one_batch_after_the_other() -> None:
    decoder = JsonValueFormat(
        pa.schema([("a", pa.int64())]).serialize().to_pybytes(), FormatOptions()
    ).decoder()
    for first in range(3):
        assert decoder.append(spans([b'{"a":%d}' % first])) is None
        assert decoder.append(spans([None, b'{"a":9}'])) is None
        assert decoder.finish()[0].to_pylist() == [first, None, 9]


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_hostile_bytes_never_break_a_column(data: st.DataObject) -> None:
    schema = {
        "a": pa.int64(),
        "s": pa.string(),
        "t": pa.timestamp("us", "UTC"),
        "p": pa.decimal128(9, 3),
        "x": pa.binary(),
        "l": pa.list_(pa.struct([("a", pa.float64())])),
        "m": pa.map_(pa.string(), pa.list_(pa.string())),
    }
    good = b"""{"a":1,"s":"\\u00e9","t":"2026-11-21T10:00:00Z","p":"1.5","x":"QQ==",
        "l":[{"a":1}],"m":{"k":["v",1.5]}}"""
    value = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(value)))
        piece = data.draw(
            st.sampled_from([b"", b'"', b"\\", b"{", b"]", b",", b"\xff", b"null", b"1e9", b"'", b"\x00"])
        )
        value[at : at + data.draw(st.integers(0, 3))] = piece
    decode(schema, [bytes(value), good, bytes(value)], corrupt=CORRUPT)


@pytest.mark.parametrize("special", [[], ['quo"ted']], ids=["plain names", "names with escapes"])
@pytest.mark.parametrize("escaped", [False, True])
def test_fields_of_wide_structs_come_in_any_order_and_beside_unknown_ones(
    special: list[str], escaped: bool, rng: random.Random
) -> None:
    names = [*special, *(f"é{at}" if at % 3 else f"column {at}" for at in range(300))]
    schema = {**dict.fromkeys(names, pa.int64()), "inner": pa.struct([(name, pa.int64()) for name in names])}
    rows: list[dict[str, Any]] = []
    for _ in range(5):
        inner = {name: at for at, name in enumerate(rng.sample(names, 100))}
        rows.append({**{name: -at for at, name in enumerate(rng.sample(names, 280))}, "inner": inner})
    unknown = {f"no {at}": at for at in range(300)}
    texts = []
    for row in rows:
        members = [*row.items(), *unknown.items()]
        rng.shuffle(members)
        texts.append(json.dumps({**dict(members), "inner": row["inner"] | unknown}, ensure_ascii=escaped))
        # Of fields with one name the last one counts.
        texts[-1] = texts[-1].removesuffix("}") + ',"column 0":7}'
        row["column 0"] = 7
    decoded = decode(schema, texts)
    nulls = dict.fromkeys(names)
    assert decoded == Decoded([{**row, "inner": nulls | row["inner"]} for row in rows], {})


def test_fields_in_another_order_take_time_by_their_bytes_and_not_by_the_width(rng: random.Random) -> None:
    names = [f"column {at}" for at in range(8_000)]
    made = JsonValueFormat(
        pa.schema([(name, pa.int64()) for name in names]).serialize().to_pybytes(), FormatOptions()
    )

    def seconds(order: list[str]) -> float:
        values = spans([json.dumps(dict.fromkeys(order, 1)).encode()] * 2)
        decoder = made.decoder()
        samples = []
        for _ in range(3):
            began = time.thread_time()
            assert decoder.append(values) is None
            samples.append(time.thread_time() - began)
        return min(samples)

    # Were each name compared with all others, it would take some hundred times as long.
    assert seconds(rng.sample(names, len(names))) < 30 * seconds(names)
