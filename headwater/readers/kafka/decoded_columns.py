"""Decodes keys and values where they were fetched, and finds out which rows stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import CorruptRecordError, SourceError, meant
from headwater.core.metrics import RECORDS_IN_ERRORS, count
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.formats.columns.row_arrays import struct_of, without_rows
from headwater.readers.formats.format import BadValues, DecodedPart, Spans, part_of
from headwater.readers.formats.wire_format import CorruptColumn, base64_text
from headwater.readers.kafka.bad_records import BadRecord, BadRecordFiles
from headwater.readers.kafka.schema_headers import (
    HEADER_NAMES,
    UnknownHeaderError,
    schema_headers,
    with_prefixes,
)
from headwater.readers.kernels.arrays import Int64Array


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
        self._prefixes: dict[str, dict[bytes, bytes | None]] = {part: {} for part in self._parts}
        # The bytes of bad values, which decoders may have got with an id in front that counts here alone.
        self._as_written: dict[str, CorruptColumn] = {}
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
            SourceError: see `ValueDecoder.append`; or the header of a record that should name a schema names
                none.
        """
        bad_values: dict[str, BadValues] = {}
        for part, decoder in self._decoders.items():
            spans = self._with_schemas_in_front(part, run)
            try:
                if part in self._structs:
                    self._nulls[part].append(decoder.nulls(spans))
                bad = decoder.append(spans)
            except SourceError as error:
                raise _at_record(error, run, part) from error
            if bad is not None and len(bad.rows):
                bad_values[part] = bad
                if part in self._as_written:
                    self._as_written[part].add(run.spans[part], bad, self._rows)
        if bad_values:
            self._take_bad(run, bad_values)
        self._rows += run.rows

    def finish(self) -> dict[str, list[pa.Array[Any]]]:
        """Return the columns of each part by the names that `row_schema` takes, and start anew."""
        columns: dict[str, list[pa.Array[Any]]] = {}
        for part, decoder in self._decoders.items():
            arrays = list(decoder.finish())
            if part in self._as_written:
                import pyarrow.compute as pc

                at = self._parts[part].format.base64_at
                assert at is not None
                arrays[at] = pc.coalesce(self._as_written[part].finish(self._rows), arrays[at])
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

    def _with_schemas_in_front(self, part: str, run: RecordRun) -> Spans:
        """Return keys or values that name their schemas in front, where a header of a record names one.

        Raises:
            SourceError: a header names none.
        """
        spans = run.spans[part]
        headers = schema_headers(part, spans) if run.has_headers and self._parts[part].names_schemas else None
        if headers is None:
            return spans
        form = self._parts[part].format
        if form.base64_at is not None:
            self._as_written.setdefault(part, CorruptColumn(base64_text))
        known_prefixes = self._prefixes[part]

        def prefix_of(header: bytes) -> bytes | None:
            if header not in known_prefixes:
                known_prefixes[header] = form.prefix_of(header)
            return known_prefixes[header]

        try:
            return with_prefixes(spans, headers, prefix_of)
        except UnknownHeaderError as error:
            raise _unknown_header(part, run, error.row) from error

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
        reason = self._decoders[part].reason(int(bad.reasons[0]), int(bad.rows[0]))
        option = "mode" if part == "value" else "keyMode"
        return meant(
            CorruptRecordError(
                f"the {part} of the record at offset {offset} of topic {run.split.topic!r}, partition "
                f"{run.split.partition}, {reason}. Option {option!r} is FAILFAST: PERMISSIVE makes nulls of "
                "it, DROPMALFORMED leaves the row out, and option 'badRecordsPath' puts the record into a "
                "file",
                source="kafka",
                split=run.split.split_id,
                position=offset,
            )
        )

    def _write(self, run: RecordRun, bad_values: Mapping[str, BadValues], files: BadRecordFiles) -> None:
        reasons: dict[int, list[str]] = {}
        for part, bad in bad_values.items():
            for row, code in zip(bad.rows.tolist(), bad.reasons.tolist(), strict=True):
                reasons.setdefault(row, []).append(f"the {part} {self._decoders[part].reason(code, row)}")
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


def _unknown_header(part: str, run: RecordRun, row: int) -> SourceError:
    """Return the error of a header that names no schema. Its value is neither decoded nor called bad."""
    offset = int(run.offsets[row])
    return SourceError(
        f"the record at offset {offset} of topic {run.split.topic!r}, partition {run.split.partition}, has a "
        f"header {HEADER_NAMES[part].decode()!r} that names no schema as Confluent's serializers do: by a "
        "zero and an id, or a one and a GUID",
        source="kafka",
        split=run.split.split_id,
        position=offset,
    )
