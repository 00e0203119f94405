"""``stopAtRecord`` among decoded values: which record is the end."""

from __future__ import annotations

from typing import Any

from headwater.core.end_condition import end_condition
from headwater.readers.formats.format import DecodedPart
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.ending_emitter import EndingEmitter, parts_to_look_at
from headwater.readers.kafka.record_set import RecordSet
from tests.readers.kafka.number_format import NumberFormat
from tests.readers.kafka.record_sets import Record, batch, state_of

PARTS = {"value": DecodedPart(format=NumberFormat())}


def read(condition: str, *values: bytes | None) -> tuple[list[int], int | None]:
    """The offsets of the rows, and the position where the partition has ended; None if it has not."""
    looked_for = end_condition(condition)
    columns, seen = parts_to_look_at(looked_for, PARTS)
    rows = KafkaRecordEmitter(["value.*", "offset"], parts=PARTS)
    emitter = EndingEmitter(rows, KafkaRecordEmitter(columns, parts=seen), looked_for)
    state = state_of()
    records = [Record(delta, value=value) for delta, value in enumerate(values)]
    emitted = [*emitter.emit(RecordSet(batch(records)), state), *emitter.flush()]
    offsets: list[Any] = [offset for each in emitted for offset in each.column("offset").to_pylist()]
    return offsets, state.position if state.has_ended else None


def test_a_value_that_cannot_be_decoded_is_no_end_though_its_fields_are_null() -> None:
    assert read('{"value.number": null}', b"1", b"bad", b"2", None, b"3") == ([0, 1, 2], 4)
    assert read('{"value.number": null}', b"1", b"bad") == ([0, 1], None)


def test_of_a_value_that_is_decoded_in_part_the_part_counts() -> None:
    assert read('{"value.text": "bad"}', b"1", b"bad", b"2") == ([0], 2)
