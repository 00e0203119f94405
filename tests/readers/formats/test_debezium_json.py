"""Envelopes of Debezium as JSON: the row before and after each change."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.barrier_reader import EpochRecord
from headwater.core.emitter import SplitState
from headwater.core.errors import OptionError
from headwater.core.simple_source import NamedSplit
from headwater.core.split import SplitRange
from tests.readers.formats.change_events import CHANGED, EVENTS, ROW, SOURCE, event, with_schema

_FIELDS: list[pa.Field[Any]] = [pa.field("value", pa.binary())]
ROWS = pa.schema(_FIELDS)
COLUMNS = "id int, first_name string, last_name string, email string"


def decoded(*values: Any, schema: str = COLUMNS, **more: Any) -> list[dict[str, Any]]:
    """Decode values, each record by record."""
    decoding = hw.decode("debezium-json", column="value", schema=schema, **more)
    emitter = decoding.create_emitter(ROWS, source="mine")
    state = SplitState(SplitRange(NamedSplit("one"), 0, None))
    raw = [each if isinstance(each, bytes | None) else json.dumps(each).encode() for each in values]
    found = []
    for batch in emitter.emit(EpochRecord(pa.RecordBatch.from_pydict({"value": raw}, schema=ROWS), 1), state):
        batch.validate(full=True)
        found += batch.to_pylist()
    return found


def test_every_kind_of_change_is_a_row_with_and_without_a_schema_beside_it() -> None:
    wanted = [
        ("r", None, ROW),
        ("c", None, ROW),
        ("u", ROW, CHANGED),
        ("d", CHANGED, None),
        ("t", None, None),
    ]
    wrapped = [with_schema(each) for each in EVENTS]
    mixed = [with_schema(each) if at % 2 else each for at, each in enumerate(EVENTS)]
    for values in (EVENTS, wrapped, mixed):
        rows = decoded(*values)
        assert [(row["op"], row["before"], row["after"]) for row in rows] == wanted
        assert {row["ts_ms"] for row in rows} == {1465581029523}
        assert [json.loads(row["source"]) for row in rows] == [SOURCE] * len(rows)
        assert list(rows[0]) == ["before", "after", "op", "ts_ms", "source"]


@pytest.mark.parametrize("envelope", [EVENTS[3], with_schema(EVENTS[3])])
def test_a_tombstone_is_a_row_of_nulls_in_every_mode(envelope: dict[str, Any]) -> None:
    for mode in ("PERMISSIVE", "DROPMALFORMED", "FAILFAST"):
        deleted, tombstone = decoded(envelope, None, mode=mode)
        assert deleted["op"] == "d"
        assert set(tombstone.values()) == {None}


def test_what_is_no_envelope_is_bad_and_not_a_row_of_nulls_in_silence() -> None:
    corrupt = {"columnNameOfCorruptRecord": "corrupt"}
    rows = decoded(EVENTS[1], ROW, b"{oops", with_schema(ROW), None, options=corrupt)
    assert [row["corrupt"] for row in rows] == [
        None,
        json.dumps(ROW),
        "{oops",
        json.dumps(with_schema(ROW)),
        None,
    ]
    assert [row["op"] for row in decoded(EVENTS[1], ROW, mode="DROPMALFORMED")] == ["c"]
    with pytest.raises(hw.HeadwaterError, match=r"row 1, .* is not an envelope of Debezium: it has no 'op'"):
        decoded(EVENTS[1], ROW, mode="FAILFAST")


def test_a_field_of_a_row_that_does_not_fit_is_bad_with_the_rest_of_the_envelope() -> None:
    (row,) = decoded(
        event("c", None, {**ROW, "id": "many"}), options={"columnNameOfCorruptRecord": "corrupt"}
    )
    assert (row["op"], row["after"]["email"], row["after"]["id"]) == ("c", ROW["email"], None)
    assert "many" in row["corrupt"]


def test_numbers_and_times_are_what_the_user_names_them() -> None:
    after = {"micros": 1465581029523000, "at": "2016-06-10T17:50:29.523Z", "price": "12.50", "bits": "AQI="}
    schema = "micros long, at timestamp, price string, bits binary"
    (row,) = decoded(event("c", None, after), schema=schema, options={"timeZone": "UTC"})
    assert row["after"]["micros"] == 1465581029523000
    assert row["after"]["at"].isoformat() == "2016-06-10T17:50:29.523000+00:00"
    assert (row["after"]["price"], row["after"]["bits"]) == ("12.50", b"\x01\x02")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"schema": "a struct<b array<decimal(10,2)>>"}, "'valueSchema': 'a.b' is a decimal.*Base64.*string"),
        ({"schema": None}, "'valueSchema': is required for the format 'debezium-json'"),
        ({"options": {"columnNameOfCorruptRecord": "op"}}, "'op' is a field of envelopes"),
        ({"options": {"valueAvroSchema": "{}"}}, "'valueAvroSchema': has no meaning for the format"),
    ],
)
def test_what_envelopes_cannot_be_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        hw.decode("debezium-json", **{"column": "value", "schema": "id int", **given})


def test_several_records_make_one_batch() -> None:
    decoding = hw.decode("debezium-json", column="value", schema=COLUMNS)
    assert decoding.schema(ROWS).names == ["before", "after", "op", "ts_ms", "source"]
    assert decoded() == []
