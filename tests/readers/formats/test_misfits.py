"""A value that does not fit its column is told with its field, its text and its type."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headwater.readers.formats.csv.csv_decoder import CsvDecoder
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format import FormatOptions, ValueDecoder
from headwater.readers.formats.glue_frames import GlueFrames
from headwater.readers.formats.json.json_decoder import JsonDecoder
from headwater.readers.formats.wire_format import BehindHeader, Reasons
from tests.readers.formats.avro.values import spans

UTC = FormatOptions(time_zone="UTC")
FIELDS: list[tuple[str, Any]] = [
    ("id", pa.int64()),
    ("a", pa.struct([("zip", pa.int32()), ("items", pa.list_(pa.struct([("price", pa.float64())])))])),
    ("m", pa.map_(pa.string(), pa.int16())),
    ("d", pa.decimal128(10, 2)),
    ("t", pa.timestamp("us", "UTC")),
    ("l", pa.timestamp("us")),
    ("b", pa.bool_()),
]
OF_JSON = pa.schema(FIELDS)
CELLS: list[tuple[str, Any]] = [("id", pa.int64()), ("name", pa.string()), ("x", pa.float64())]
OF_CSV = pa.schema(CELLS)


def told(decoder: ValueDecoder, values: list[bytes]) -> list[str]:
    """Return the reason of each value, as the end of a sentence: nothing of good ones."""
    bad = decoder.append(spans(values))
    reasons = dict(zip(bad.rows.tolist(), bad.reasons.tolist(), strict=True)) if bad is not None else {}
    return [decoder.reason(reasons[row], row) if row in reasons else "" for row in range(len(values))]


@pytest.mark.parametrize(
    ("value", "text", "field", "kind"),
    [
        (b'{"id":"seven"}', '"seven"', "id", "bigint"),
        (b' {"b":1, "id": {"x": [1]}}', "1", "b", "boolean"),
        (b'{"id":{"x":1}}', '{"x":1}}', "id", "bigint"),
        (b'{"id":"se\\"ven","b":true}', '"se\\"ven"', "id", "bigint"),
        (b'{"a":{"zip":1.5 }}', "1.5", "a.zip", "int"),
        (b'{"a":{"items":[{"price":1},{"price":"x"}]}}', '"x"', "a.items[].price", "double"),
        (b'{"a":{"items":7}}', "7", "a.items", "array"),
        (b'{"a":[]}', "[]}", "a", "struct"),
        (b'{"m":{"k":"v"}}', '"v"', "m[]", "smallint"),
        (b'{"m":true}', "true", "m", "map"),
        (b'{"d":"abc"}', '"abc"', "d", "decimal(10,2)"),
        (b'{"t":"never"}', '"never"', "t", "timestamp"),
        (b'{"l":"never\\u0000"}', '"never\\u0000"', "l", "timestamp_ntz"),
        (b'{"id":"' + 100 * b"y" + b'"}', '"' + 59 * "y" + "...", "id", "bigint"),
    ],
)
def test_of_json_with_the_path_of_the_first_field_that_does_not_fit(
    value: bytes, text: str, field: str, kind: str
) -> None:
    good = b'{"id":1}'
    wanted = f"has {text} in the field {field!r}, which does not fit its type {kind}"
    assert told(JsonDecoder(OF_JSON, UTC), [good, value, good]) == ["", wanted, ""]


@pytest.mark.parametrize(
    ("value", "text", "field", "kind"),
    [
        (b"x1,a,2.5", "x1", "id", "bigint"),
        (b'1,"a,b",two', "two", "x", "double"),
        (b'1,a,"two"', "two", "x", "double"),
        (b"x1,a,two", "x1", "id", "bigint"),
        # It is no part of the value: the quotes were taken out.
        (b'1,a,"t""wo"', "a value", "x", "double"),
        (b"1,a," + 100 * b"y", 60 * "y" + "...", "x", "double"),
        (b"1," + 2_000_000 * b"a" + b",two", "a value", "x", "double"),
    ],
    ids=str,
)
def test_of_csv(value: bytes, text: str, field: str, kind: str) -> None:
    dialect = CsvDialect(max_characters=-1)
    wanted = f"has {text} in the field {field!r}, which does not fit its type {kind}"
    assert told(CsvDecoder(OF_CSV, UTC, dialect), [b"1,a,2", value, b"3,b,4"]) == ["", wanted, ""]


def test_behind_a_header_the_text_is_that_of_the_value() -> None:
    reasons = Reasons()
    frames = GlueFrames(reasons)
    decoder = BehindHeader(JsonDecoder(OF_JSON, UTC), frames, reasons, corrupt_at=None, shown=str)
    values = [b"\3\0" + bytes(16) + b'{"id":"seven"}', b"none"]
    first, second = told(decoder, values)
    assert first == "has \"seven\" in the field 'id', which does not fit its type bigint"
    assert "Glue" in second


def test_without_the_value_at_hand_the_field_and_type_are_told() -> None:
    decoder: Any = JsonDecoder(OF_JSON, UTC)
    bad = decoder.append(spans([b'{"a":{"zip":"x"}}']))
    wanted = "has a value in the field 'a.zip', which does not fit its type int"
    assert decoder.reason(int(bad.reasons[0])) == wanted
