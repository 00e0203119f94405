"""Keys and values with a format: columns of the row, whatever the record format and the codec."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from headwater.core.errors import CorruptRecordError, DeadlineError
from headwater.core.metrics import COUNTERS
from headwater.readers.formats.bad_records import BadRecordsLocation, folder_name
from headwater.readers.formats.format import DecodedPart, OnBadValue
from headwater.readers.formats.text import TextValueFormat
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.record_set import RecordSet
from tests.readers.kafka.number_format import AwayFormat, NumberFormat
from tests.readers.kafka.record_sets import COMPRESS, FOREVER, Record, batch, state_of

TEXT = DecodedPart(format=TextValueFormat())


def numbers(on_bad: OnBadValue = "keep", prefix: str = "") -> DecodedPart:
    return DecodedPart(format=NumberFormat(), on_bad=on_bad, prefix=prefix)


def records(values: Sequence[bytes | None]) -> list[Record]:
    return [Record(i, key=b"%d" % i, value=value) for i, value in enumerate(values)]


def emitted(
    columns: Sequence[str],
    parts: dict[str, DecodedPart],
    *sets: bytes,
    bad_records: BadRecordsLocation | None = None,
    start: int = 0,
    stop: int = FOREVER,
) -> list[dict[str, Any]]:
    emitter = KafkaRecordEmitter(columns, parts=parts, bad_records=bad_records)
    state = state_of(start, stop)
    found: list[pa.RecordBatch] = []
    for data in sets:
        found += emitter.emit(RecordSet(data), state)
    found += emitter.flush()
    for each in found:
        each.validate(full=True)
    return [row for each in found for row in each.to_pylist()]


@pytest.mark.parametrize("codec", COMPRESS)
def test_a_text_is_a_string_in_every_codec(codec: int) -> None:
    data = batch(records([b"a", None, b"", "grüße".encode()]), 10, attributes=codec)
    assert emitted(["value", "offset", "key"], {"value": TEXT}, data) == [
        {"value": "a", "offset": 10, "key": b"0"},
        {"value": None, "offset": 11, "key": b"1"},
        {"value": "", "offset": 12, "key": b"2"},
        {"value": "grüße", "offset": 13, "key": b"3"},
    ]


def test_bytes_that_are_no_utf8_become_the_replacement_character() -> None:
    data = batch(records([b"good", b"a\xff\xfeb", None]))
    assert [row["value"] for row in emitted(["value"], {"value": TEXT}, data)] == ["good", "a��b", None]


def test_rows_of_several_record_sets_share_a_batch() -> None:
    emitter = KafkaRecordEmitter(["value.*", "offset"], parts={"value": numbers()})
    state = state_of()
    for at in range(3):
        assert list(emitter.emit(RecordSet(batch(records([b"1", b"2"]), 2 * at)), state)) == []
    (found,) = emitter.flush()
    assert found.column("number").to_pylist() == [1, 2] * 3
    assert found.column("offset").to_pylist() == list(range(6))


@pytest.mark.parametrize("magic", [0, 1])
def test_old_record_formats_go_through_the_same_decoders(magic: int) -> None:
    builder = LegacyRecordBatchBuilder(magic, 0, 1 << 20)
    for offset, value in enumerate((b"1", b"x", None)):
        builder.append(offset, 1_000 + offset, b"%d" % offset, value)
    data = bytes(builder.build())
    parts = {"value": numbers("drop"), "key": TEXT}
    assert emitted(["key", "value.*", "offset"], parts, data) == [
        {"key": "0", "number": 1, "text": "1", "offset": 0},
        {"key": "2", "number": None, "text": None, "offset": 2},
    ]


def test_old_and_new_record_formats_take_turns_in_one_batch_of_a_task() -> None:
    builder = LegacyRecordBatchBuilder(1, 0, 1 << 20)
    builder.append(2, 1_000, b"k", b"3")
    sets = [batch(records([b"1", b"x"])), bytes(builder.build()), batch(records([b"4", b"y"]), 3)]
    rows = emitted(["value.*", "offset"], {"value": numbers("drop")}, *sets)
    assert [(row["number"], row["offset"]) for row in rows] == [(1, 0), (3, 2), (4, 3)]


def test_without_a_star_a_decoded_part_is_one_struct() -> None:
    data = batch(records([b"5", None, b"x"]))
    assert emitted(["key", "value"], {"value": numbers(), "key": numbers()}, data) == [
        {"key": {"number": 0, "text": "0"}, "value": {"number": 5, "text": "5"}},
        {"key": {"number": 1, "text": "1"}, "value": None},
        {"key": {"number": 2, "text": "2"}, "value": {"number": None, "text": "x"}},
    ]


def test_prefixes_tell_the_columns_of_key_and_value_apart() -> None:
    parts = {"value": numbers(prefix="v_"), "key": numbers(prefix="k_")}
    assert emitted(["value.*", "key.*"], parts, batch(records([b"5"]))) == [
        {"v_number": 5, "v_text": "5", "k_number": 0, "k_text": "0"}
    ]


def test_a_bad_value_is_kept_by_default_and_a_null_is_never_bad() -> None:
    data = batch(records([b"1", b"x", None]))
    for on_bad in ("keep", "drop"):
        rows = emitted(["value.*"], {"value": numbers(on_bad)}, data)
        kept = [(1, "1"), (None, "x"), (None, None)] if on_bad == "keep" else [(1, "1"), (None, None)]
        assert [tuple(row.values()) for row in rows] == kept


def test_a_row_is_left_out_if_its_key_or_its_value_is_bad() -> None:
    data = batch(
        [Record(0, key=b"x", value=b"1"), Record(1, key=b"1", value=b"x"), Record(2, key=b"2", value=b"3")]
    )
    rows = emitted(["offset", "key.*"], {"value": numbers("drop"), "key": numbers("drop")}, data)
    assert [row["offset"] for row in rows] == [1, 2], "a part of which no column is wanted is not decoded"
    rows = emitted(["offset", "key", "value"], {"value": numbers("drop"), "key": numbers("drop")}, data)
    assert [row["offset"] for row in rows] == [2]


def test_a_record_whose_key_and_value_are_bad_is_one_record_in_error() -> None:
    data = batch(
        [Record(0, key=b"x", value=b"x"), Record(1, key=b"1", value=b"x"), Record(2, key=b"2", value=b"3")]
    )
    COUNTERS.take()
    emitted(["key", "value"], {"value": numbers("keep"), "key": numbers("drop")}, data)
    assert COUNTERS.take() == {"numRecordsInErrors": 2}


def test_a_batch_of_which_nothing_is_left_is_none() -> None:
    assert emitted(["value.*"], {"value": numbers("drop")}, batch(records([b"x"] * 5))) == []


def test_a_failing_query_names_topic_partition_offset_and_reason() -> None:
    data = batch(records([b"1", b"2", b"x"]), 40)
    with pytest.raises(
        CorruptRecordError, match=r"offset 42 of topic 'orders', partition 3, is no number.*'mode'"
    ) as caught:
        emitted(["value.*"], {"value": numbers("fail")}, data)
    assert caught.value.position == 42
    with pytest.raises(CorruptRecordError, match="'keyMode'"):
        emitted(["key"], {"key": numbers("fail")}, batch([Record(0, key=b"x")]))


@pytest.mark.parametrize("part", ["key", "value"])
def test_a_value_that_cannot_be_decoded_now_is_an_error_that_names_its_record(part: str) -> None:
    away = DecodedPart(format=AwayFormat())
    data = batch([Record(i, key=b"5", value=b"5") for i in range(3)], 40)
    with pytest.raises(
        DeadlineError,
        match=f"the {part} of the record at offset 42 of topic 'orders', partition 3, .*: nobody is there",
    ) as caught:
        emitted([part], {part: away}, data, start=41)
    assert caught.value.position == 42


def test_only_the_records_of_the_range_are_decoded() -> None:
    data = batch(records([b"x", b"1", b"2", b"x"]))
    rows = emitted(["value.*"], {"value": numbers("fail")}, data, start=1, stop=3)
    assert [row["number"] for row in rows] == [1, 2]


def values_from(first: int, count: int) -> bytes:
    """Every tenth value is bad."""
    return batch(
        [
            Record(i, key=b"k", value=b"bad %d" % at if at % 10 == 0 else b"%d" % at)
            for i, at in enumerate(range(first, first + count))
        ],
        first,
    )


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_bad_records_go_to_files_and_not_into_the_output(tmp_path: Path) -> None:
    location = BadRecordsLocation(path=str(tmp_path))
    sets = [batch([Record(0, value=b"1"), Record(1, 77, None, b"\xff"), Record(2, 78, b"key", b"x")], 5)]
    parts = {"value": numbers("fail")}
    rows = emitted(["value.*", "offset"], parts, *sets, bad_records=location, start=6)
    assert rows == []
    (name,) = files_in(tmp_path)
    assert name == "orders/3/00000000000000000006.jsonl"
    lines = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
    place = {"topic": "orders", "partition": 3, "reason": "the value is no number"}
    assert lines == [
        {**place, "offset": 6, "timestamp": 77, "valueBase64": "/w=="},
        {**place, "offset": 7, "timestamp": 78, "value": "x"},
    ]


@pytest.mark.parametrize(
    "cuts", [[500, 3500], [500, 1000, 3500], [500, 1000, 2000, 3000, 3500], [500, 3000, 3500]]
)
def test_files_are_the_same_however_a_batch_is_cut_between_blocks(tmp_path: Path, cuts: list[int]) -> None:
    location = BadRecordsLocation(path=f"file://{tmp_path}/again")
    sets = [values_from(first, 250) for first in range(0, 4000, 250)]
    columns, parts = ["value.*", "offset"], {"value": numbers()}
    emitted(
        columns, parts, *sets, bad_records=BadRecordsLocation(path=f"{tmp_path}/whole"), start=500, stop=3500
    )
    for _ in range(2):
        offsets = []
        for start, stop in pairwise(cuts):
            rows = emitted(columns, parts, *sets, bad_records=location, start=start, stop=stop)
            offsets += [row["offset"] for row in rows]
        assert offsets == [at for at in range(500, 3500) if at % 10]
    whole = files_in(tmp_path / "whole")
    assert files_in(tmp_path / "again") == whole
    assert sorted(whole) == [f"orders/3/{first:020d}.jsonl" for first in (500, 1000, 2000, 3000)]
    assert b"".join(whole[name] for name in sorted(whole)).count(b"\n") == 300


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("_bad", "%5Fbad"),
        (".bad", "%2Ebad"),
        ("a_b.c", "a_b.c"),
        ("day=1", "day%3D1"),
        ("a/../b", "a%2F..%2Fb"),
        ("..", "%2E."),
        ("", ""),
    ],
)
def test_a_name_from_outside_makes_a_folder_that_readers_do_not_skip(name: str, folder: str) -> None:
    assert folder_name(name) == folder


def test_a_task_that_ends_early_writes_no_part_of_a_file(tmp_path: Path) -> None:
    emitter = KafkaRecordEmitter(
        ["value"], parts={"value": numbers()}, bad_records=BadRecordsLocation(path=str(tmp_path))
    )
    list(emitter.emit(RecordSet(values_from(0, 100)), state_of()))
    del emitter
    assert files_in(tmp_path) == {}
