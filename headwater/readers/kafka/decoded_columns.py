"""Decodes keys and values where they were fetched, and finds out which rows stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.core.metrics import RECORDS_IN_ERRORS, count
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.formats.columns.row_arrays import struct_of, without_rows
from headwater.readers.formats.format import BadValues, DecodedPart, Spans, part_of
from headwater.readers.kafka.bad_records import BadRecord, BadRecordFiles
from headwater.readers.kernels.arrays import ByteArray, Int64Array

_HEADER_NAMES: Final[Mapping[str, bytes]] = {"key": b"__key_schema_id", "value": b"__value_schema_id"}
_MOST_VARINT_BYTES: Final = 5
_MOST_HEADERS: Final = 10_000


class RecordRun(NamedTuple):
    """Consecutive rows of one partition, while the bytes that were fetched are there.

    Attributes:
        split: the partition.
        rows: how many.
        spans: where the keys and values lie that have a format.
        offsets: of each row.
        timestamps_us: of each row, if there are files of bad records; else nothing.
        has_headers: whether headers stand behind the values: in records of format v2.
    """

    split: KafkaPartitionSplit
    rows: int
    spans: Mapping[str, Spans]
    offsets: Int64Array
    timestamps_us: Int64Array
    has_headers: bool


class DecodedColumns:
    """Decodes keys and values into columns of Arrow batches. One owner, one thread.

    Args:
        parts: ``key``, ``value`` or both.
        columns: the columns of a row, see `row_schema`.
        bad_records: takes the records that cannot be decoded, if they are not to be rows.
        counts_bad: whether these are counted.
    """

    def __init__(
        self,
        parts: Mapping[str, DecodedPart],
        columns: Sequence[str],
        bad_records: BadRecordFiles | None,
        *,
        counts_bad: bool,
    ) -> None:
        self._parts = {part: parts[part] for part in parts if part in {part_of(name) for name in columns}}
        self._decoders = {part: each.format.decoder() for part, each in self._parts.items()}
        self._structs = {
            part for part, each in self._parts.items() if part in columns and not each.format.is_single_value
        }
        self._bad_records = bad_records
        self._counts_bad = counts_bad
        self._nulls: dict[str, list[npt.NDArray[np.bool_]]] = {part: [] for part in self._structs}
        self._dropped: list[Int64Array] = []
        self._rows = 0

    @property
    def names(self) -> frozenset[str]:
        """``key``, ``value``, both or none: the decoded parts."""
        return frozenset(self._parts)

    @property
    def needs(self) -> frozenset[str]:
        """The columns of Kafka that `append` needs beside keys and values."""
        if not self._parts:
            return frozenset()
        return frozenset({"offset"} if self._bad_records is None else {"offset", "timestamp"})

    def append(self, run: RecordRun) -> None:
        """Decode the next rows.

        Raises:
            CorruptRecordError: a key or value cannot be decoded, and that is to be an error.
            SourceError: see `ValueDecoder.append`; or a record names a schema in a header where its format
                takes the id in front.
        """
        bad_values: dict[str, BadValues] = {}
        for part, decoder in self._decoders.items():
            spans = run.spans[part]
            if run.has_headers and self._parts[part].names_schemas:
                _refuse_schema_header(run, part)
            if part in self._structs:
                self._nulls[part].append(decoder.nulls(spans))
            try:
                bad = decoder.append(spans)
            except SourceError as error:
                raise _at_record(error, run, part) from error
            if bad is not None and len(bad.rows):
                bad_values[part] = bad
        if bad_values:
            self._take_bad(run, bad_values)
        self._rows += run.rows

    def finish(self) -> dict[str, list[pa.Array[Any]]]:
        """Return the columns of each part by the names that `row_schema` takes, and start anew."""
        columns: dict[str, list[pa.Array[Any]]] = {}
        for part, decoder in self._decoders.items():
            arrays = list(decoder.finish())
            columns[part] = columns[f"{part}.*"] = arrays
            if part in self._structs:
                columns[part] = [self._struct(part, arrays)]
        self._rows = 0
        return columns

    def without_dropped(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """Return a batch without those of its rows that are to be left out; None if none is left."""
        if not self._dropped:
            return batch
        dropped = self._dropped
        self._dropped = []
        return without_rows(batch, dropped)

    def _struct(self, part: str, children: Sequence[pa.Array[Any]]) -> pa.Array[Any]:
        nulls = np.concatenate(self._nulls[part])
        self._nulls[part] = []
        return struct_of(self._parts[part].format.schema(), children, nulls)

    def _take_bad(self, run: RecordRun, bad_values: Mapping[str, BadValues]) -> None:
        if self._counts_bad:
            bad_rows = np.concatenate([bad.rows for bad in bad_values.values()])
            count(RECORDS_IN_ERRORS, len(np.unique(bad_rows)))
        if self._bad_records is not None:
            self._write(run, bad_values, self._bad_records)
        else:
            for part, bad in bad_values.items():
                if self._parts[part].on_bad == "fail":
                    raise self._refusal(run, part, bad)
        drops = [
            bad.rows
            for part, bad in bad_values.items()
            if self._bad_records is not None or self._parts[part].on_bad == "drop"
        ]
        self._dropped += [self._rows + rows for rows in drops]

    def _refusal(self, run: RecordRun, part: str, bad: BadValues) -> CorruptRecordError:
        offset = int(run.offsets[bad.rows[0]])
        reason = self._decoders[part].reason(int(bad.reasons[0]))
        option = "mode" if part == "value" else "keyMode"
        return CorruptRecordError(
            f"the {part} of the record at offset {offset} of topic {run.split.topic!r}, partition "
            f"{run.split.partition}, {reason}. Option {option!r} is FAILFAST: PERMISSIVE makes nulls of it, "
            "DROPMALFORMED leaves the row out, and option 'badRecordsPath' puts the record into a file",
            source="kafka",
            split=run.split.split_id,
            position=offset,
        )

    def _write(self, run: RecordRun, bad_values: Mapping[str, BadValues], files: BadRecordFiles) -> None:
        reasons: dict[int, list[str]] = {}
        for part, bad in bad_values.items():
            for row, code in zip(bad.rows.tolist(), bad.reasons.tolist(), strict=True):
                reasons.setdefault(row, []).append(f"the {part} {self._decoders[part].reason(code)}")
        for row in sorted(reasons):
            values = {part: spans.value(row) for part, spans in run.spans.items()}
            record = BadRecord(
                int(run.offsets[row]), int(run.timestamps_us[row]) // 1000, "; ".join(reasons[row]), values
            )
            files.add(run.split, record)


def _at_record(error: SourceError, run: RecordRun, part: str) -> SourceError:
    """Return an error of a decoder, whose position is the number of a value, as one of a record."""
    if not isinstance(error.position, int):
        return error
    offset = int(run.offsets[error.position])
    return type(error)(
        f"the {part} of the record at offset {offset} of topic {run.split.topic!r}, partition "
        f"{run.split.partition}, cannot be decoded now: {error.message}",
        source="kafka",
        split=run.split.split_id,
        position=offset,
    )


def _refuse_schema_header(run: RecordRun, part: str) -> None:
    """Refuse records whose schema is named elsewhere than where the format looks for it.

    Their bytes may look like an id and a value all the same: they are neither decoded nor called bad.
    """
    header = schema_header(part, run.spans[part])
    if header is None:
        return
    offset = int(run.offsets[header.row])
    raise SourceError(
        f"the record at offset {offset} of topic {run.split.topic!r}, partition {run.split.partition}, names "
        f"the schema of its {part} in the header {header.name!r}, which is not supported: "
        f"let producers write the id in front, with {part}.schema.id.serializer="
        "io.confluent.kafka.serializers.schema.id.PrefixSchemaIdSerializer",
        source="kafka",
        split=run.split.split_id,
        position=offset,
    )


class SchemaHeader(NamedTuple):
    """The first record of a run that has such a header."""

    row: int
    name: str


def schema_header(part: str, spans: Spans) -> SchemaHeader | None:
    """Return the first record whose header names the schema of its key or value; None if there is none.

    Newer serializers of Confluent can write such headers. All records of a run are searched at once, one
    header of each after the other. Most have none, which one byte of each tells.

    Args:
        part: ``key`` or ``value``.
        spans: where the keys or values lie in records of format v2, whose headers are behind the value.
            Nulls are passed over.
    """
    data = spans.data
    rows = np.flatnonzero(spans.sizes >= 0)
    at = spans.starts[rows] + spans.sizes[rows]
    if part == "key":
        sizes, at = _varints(data, at)
        at += np.maximum(sizes, 0)
    some = data[_inside(data, at)] != 0
    rows, at = rows[some], at[some]
    remaining, at = _varints(data, at)
    name = np.frombuffer(_HEADER_NAMES[part], np.uint8)
    matches: list[int] = []
    for _ in range(_MOST_HEADERS):
        open_ = (remaining > 0) & (at < len(data))
        rows, at, remaining = rows[open_], at[open_], remaining[open_] - 1
        if not len(rows):
            break
        sizes, at = _varints(data, at)
        same = np.flatnonzero(sizes == len(name))
        if len(same):
            places = at[same][:, None] + np.arange(len(name))
            same = same[(data[_inside(data, places)] == name).all(axis=1)]
            matches += rows[same[:1]].tolist()
        at += np.maximum(sizes, 0)
        sizes, at = _varints(data, at)
        at += np.maximum(sizes, 0)
    return SchemaHeader(min(matches), _HEADER_NAMES[part].decode()) if matches else None


def _varints(data: ByteArray, at: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the zigzag varints at these places, and where they end."""
    byte = data[_inside(data, at)].astype(np.int64)
    raw = byte & 0x7F
    ends = at + 1
    for shift in range(7, 7 * _MOST_VARINT_BYTES, 7):
        more = np.flatnonzero(byte & 0x80)
        if not len(more):
            break
        byte = np.zeros_like(byte)
        byte[more] = data[_inside(data, ends[more])]
        raw[more] |= (byte[more] & 0x7F) << shift
        ends[more] += 1
    return (raw >> 1) ^ -(raw & 1), ends


def _inside(data: ByteArray, at: Int64Array) -> Int64Array:
    """Return places inside of the data: headers are not checked, and broken ones may lead anywhere."""
    return np.minimum(np.maximum(at, 0), len(data) - 1)
