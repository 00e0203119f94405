"""One column of rows becomes typed columns as the rows are emitted."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.barrier_reader import EpochRecord
from headwater.core.emitter import SplitState
from headwater.core.errors import CorruptRecordError, OptionError, SourceError
from headwater.core.simple_source import NamedSplit
from headwater.core.split import SplitRange
from headwater.readers.formats.row_emitter import spans_of

_FIELDS: list[pa.Field[Any]] = [pa.field("id", pa.int64()), pa.field("body", pa.binary())]
ROWS = pa.schema(_FIELDS)
VALUES = [b"skipped", b'{"a": 1, "b": "x"}', None, b"nope", b'{"a": 2}']


def emitted(decoding: hw.contracts.Decoding, values: list[bytes | None]) -> list[dict[str, Any]]:
    """Emit values as they lie in a slice of a larger batch; return the rows."""
    batch = pa.RecordBatch.from_pydict({"id": list(range(len(values))), "body": values}, schema=ROWS)
    state = SplitState(SplitRange(NamedSplit("one"), 7, None))
    emitter = decoding.create_emitter(ROWS, source="mine")
    batches = list(emitter.emit(EpochRecord(batch.slice(1), 11), state))
    assert state.position == 11
    for made in batches:
        made.validate(full=True)
        assert made.schema.equals(decoding.schema(ROWS))
    return [row for made in batches for row in made.to_pylist()]


def json_of_body(**more: Any) -> hw.contracts.Decoding:
    return hw.decode("json", column="body", schema="a long, b string", **more)


def test_fields_stand_in_the_place_of_the_column_and_bad_values_are_kept() -> None:
    assert emitted(json_of_body(options={"columnNameOfCorruptRecord": "bad"}), VALUES) == [
        {"id": 1, "a": 1, "b": "x", "bad": None},
        {"id": 2, "a": None, "b": None, "bad": None},
        {"id": 3, "a": None, "b": None, "bad": "nope"},
        {"id": 4, "a": 2, "b": None, "bad": None},
    ]


def test_bad_values_go_to_a_file_that_split_and_position_name(tmp_path: Path) -> None:
    decoding = json_of_body(mode="FAILFAST", options={"badRecordsPath": str(tmp_path)})
    for _ in range(2):
        assert [row["id"] for row in emitted(decoding, VALUES)] == [1, 2, 4]
    assert emitted(decoding, [b"", b'{"a": 1}']) != []
    (file,) = tmp_path.glob("mine/*.jsonl")
    (line,) = map(json.loads, file.read_text().splitlines())
    assert "is not a JSON object" in line.pop("reason")
    assert line == {"split": "one", "position": 7, "row": 2, "body": "nope"}
    with pytest.raises(OptionError, match=r"'badRecordsPath': must be an absolute path"):
        json_of_body(options={"badRecordsPath": "relative"})
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match=r"cannot be written to .*option 'badRecordsPath'"):
        emitted(json_of_body(options={"badRecordsPath": f"{tmp_path}/file"}), VALUES)


def test_bad_values_leave_out_their_row_or_fail_with_its_place() -> None:
    assert [row["id"] for row in emitted(json_of_body(mode="DROPMALFORMED"), VALUES)] == [1, 2, 4]
    assert emitted(json_of_body(mode="DROPMALFORMED"), [b"", b"bad", b"worse"]) == []
    with pytest.raises(
        CorruptRecordError,
        match=r"'body' of row 2, counted from the position, is not a JSON object",
    ) as failed:
        emitted(json_of_body(mode="FAILFAST"), VALUES)
    assert (failed.value.source, failed.value.split, failed.value.position) == ("mine", "one", 7)


def test_the_decoded_column_may_be_a_struct_and_other_columns_may_be_left_out() -> None:
    assert emitted(json_of_body(columns=["BODY", "id"]), VALUES)[:2] == [
        {"body": {"a": 1, "b": "x"}, "id": 1},
        {"body": None, "id": 2},
    ]
    prefixed = json_of_body(columns=["body.*"], options={"valuePrefix": "body_"})
    assert emitted(prefixed, VALUES)[0] == {"body_a": 1, "body_b": "x"}


def test_other_formats_decode_too() -> None:
    text = hw.decode("text", column="body")
    assert emitted(text, [b"", "grüße".encode(), None]) == [
        {"id": 1, "body": "grüße"},
        {"id": 2, "body": None},
    ]
    schema = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "double"}]}'
    avro = hw.decode("avro", column="body", options={"valueAvroSchema": schema})
    assert emitted(avro, [b"", struct.pack("<d", 2.5)]) == [{"id": 1, "n": 2.5}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": ["idd", "body"]}, "'idd' is not a column; there are id, body, body.*"),
        ({"columns": ["id"]}, r"has neither 'body' nor 'body.\*'"),
        ({"columns": ["body", "BODY"]}, "a column comes twice"),
        ({"columns": ["body"], "options": {"valuePrefix": "x"}}, "requires 'body"),
        ({"column": "nobody"}, "'nobody' is to be decoded, and is not a column; there are id, body"),
        ({"column": "id"}, "the column 'id' is int64, and only bytes or strings can be decoded"),
        ({"schema": "ID long"}, "two columns are called 'ID'"),
    ],
)
def test_what_the_rows_do_not_have_is_refused(arguments: dict[str, Any], message: str) -> None:
    decoding = hw.decode("json", **{"column": "body", "schema": "a long", **arguments})
    with pytest.raises(OptionError, match=message):
        decoding.schema(ROWS)


def test_spans_tell_nulls_and_slices_without_copying() -> None:
    column = pa.array([None, b"ab", b"", None, b"c"], pa.binary())
    spans = spans_of(column.slice(1))
    assert [spans.value(row) for row in range(4)] == [b"ab", b"", None, b"c"]
    assert spans_of(pa.array([], pa.string())).sizes.tolist() == []
    assert base64.b64encode(spans.data[:2].tobytes()) == b"YWI="


@pytest.mark.parametrize(
    ("format_", "header"), [("json", b""), ("confluent-json", b"\0\0\0\0\1")], ids=["json", "confluent-json"]
)
def test_a_blank_value_is_null_as_a_whole_as_from_json_has_it(format_: str, header: bytes) -> None:
    decoding = hw.decode(format_, column="body", schema="a long", columns=["body"])
    blanks = [b"", b"   ", b"\n", b" \t\r\n"]
    others = [b"{}", b'  {"a": 1}', b"\x0b ", b"\x01", b"\xc2\xa0"]
    values = [b"skipped", *[header + value for value in [*blanks, *others]], None]
    bodies = [row["body"] for row in emitted(decoding, values)]
    nulls = {"a": None}
    assert bodies == [None, None, None, None, nulls, {"a": 1}, nulls, nulls, nulls, None]
