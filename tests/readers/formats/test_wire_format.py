"""Values behind a header: what is behind it is decoded, what has none says what it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headwater.readers.formats.format import FormatOptions, Spans
from headwater.readers.formats.json.json_format import ConfluentJsonFormat, JsonValueFormat
from tests.readers.formats.avro.values import decode, rows, spans

HEADER = b"\0\0\0\1\2"
ID = pa.field("id", pa.int64())
BAD = pa.field("bad", pa.string())


def json_format(*fields: pa.Field[Any], corrupt: str | None = "bad") -> ConfluentJsonFormat:
    schema = pa.schema(fields).serialize().to_pybytes()
    return ConfluentJsonFormat(JsonValueFormat(schema, FormatOptions(corrupt_column=corrupt)), corrupt)


def test_json_behind_a_header_is_decoded_and_a_null_is_a_row_of_nulls() -> None:
    made = json_format(ID)
    found, bad = decode(made, [HEADER + b'{"id": 1}', None, HEADER + b'{"id": 2}'])
    assert bad is None
    assert found == [{"id": 1, "bad": None}, {"id": None, "bad": None}, {"id": 2, "bad": None}]


@pytest.mark.parametrize(
    ("value", "reason", "text"),
    [
        (b'{"id": 1}', "does not begin with a zero byte", '{"id": 1}'),
        (b"", "does not begin with a zero byte", ""),
        (b"\0\0\0\1", "does not begin with a zero byte", "\0\0\0\1"),
        (b"\3\0" + bytes(16) + b"{}", "AWS Glue", "\3" + "\0" * 17 + "{}"),
        (b"\3\5" + bytes(16) + b"{}", "AWS Glue", "\3\5" + "\0" * 16 + "{}"),
        (b"\1" + bytes(16) + b"{}", "by a GUID", "\1" + "\0" * 16 + "{}"),
        (HEADER + b"[", "JSON", "["),
    ],
)
@pytest.mark.parametrize("fields", [(ID,), (BAD, ID)], ids=["added", "given"])
def test_a_bad_value_says_why_and_its_text_is_kept(
    value: bytes, reason: str, text: str, fields: tuple[pa.Field[Any], ...]
) -> None:
    made = json_format(*fields)
    decoder = made.decoder()
    bad = decoder.append(spans([HEADER + b'{"id": 1}', value, None]))
    assert bad is not None
    assert bad.rows.tolist() == [1]
    assert reason in decoder.reason(int(bad.reasons[0]))
    assert [(row["id"], row["bad"]) for row in rows(made, decoder)] == [(1, None), (None, text), (None, None)]


def test_texts_of_bad_values_stand_in_their_rows_over_several_calls_and_batches() -> None:
    made = json_format(ID)
    decoder = made.decoder()
    for batch in range(2):
        for at in range(3):
            decoder.append(spans([HEADER + b'{"id": %d}' % at, b"no header %d %d" % (batch, at)]))
        wanted = [
            [{"id": at, "bad": None}, {"id": None, "bad": f"no header {batch} {at}"}] for at in range(3)
        ]
        assert rows(made, decoder) == [row for pair in wanted for row in pair]
    decoder.append(spans([HEADER + b"{}"]))
    assert rows(made, decoder) == [{"id": None, "bad": None}]


def test_nothing_and_nulls_alone_are_decoded() -> None:
    made = json_format(ID, corrupt=None)
    assert decode(made, []) == ([], None)
    assert decode(made, [None, None]) == ([{"id": None}] * 2, None)


def test_values_may_lie_anywhere_in_the_data() -> None:
    data = b"xxxx" + HEADER + b'{"id": 5}'
    decoder = (made := json_format(ID)).decoder()
    places = Spans(
        np.frombuffer(data, np.uint8),
        np.array([4, 0, len(data)], np.int64),
        np.array([len(data) - 4, -1, 0], np.int64),
    )
    bad = decoder.append(places)
    assert bad is not None
    assert bad.rows.tolist() == [2]
    assert [row["id"] for row in rows(made, decoder)] == [5, None, None]
