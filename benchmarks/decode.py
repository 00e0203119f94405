#!/usr/bin/env python3
"""Measures the decoder alone, on one core, without network and without Spark.

``python benchmarks/decode.py``.

Record sets of about a megabyte in batches of 16 KiB, as a Fetch response holds them, go through the emitter.
Every Arrow batch is dropped when the next one is asked for, as Spark does. Cases take turns, round after
round, so that other load on the machine hits all of them. Medians are shown.
"""

from __future__ import annotations

import argparse
import random
import statistics
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import cramjam
import google_crc32c
import pyarrow as pa
from kafka.record.default_records import DefaultRecordBatchBuilder

from benchmarks import orders, wide_values
from headwater.core.emitter import SplitState
from headwater.core.split import SplitRange
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.formats.avro.avro_format import AvroValueFormat
from headwater.readers.formats.format import DecodedPart, FormatOptions
from headwater.readers.formats.json.json_format import JsonValueFormat
from headwater.readers.formats.protobuf.format import ProtobufFormat
from headwater.readers.kafka.columns import KAFKA_COLUMNS
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.record_set import KERNEL, RecordSet

if TYPE_CHECKING:
    from headwater.readers.formats.format import Format

__all__ = ["main", "record_sets"]

_SPLIT = KafkaPartitionSplit("benchmark", 0)
_SEVEN = KAFKA_COLUMNS[:-1]
_BATCH_BYTES = 16 << 10
_SET_BYTES = 1 << 20
_SETS = 16
_ZSTD = 4
_HEADER_BYTES = 61
_DISTINCT = 5_000


@dataclass(frozen=True)
class Case:
    """One way of decoding one kind of records.

    Attributes:
        name: of the row.
        sets: record sets, one following the other.
        columns: of the rows.
        check_crcs: whether checksums are checked.
        parts: what has a format.
        wanted: millions of rows a second that are to be reached; None: nothing is promised.
    """

    name: str
    sets: Sequence[bytes]
    columns: Sequence[str]
    check_crcs: bool = True
    parts: Mapping[str, DecodedPart] = field(default_factory=dict)
    wanted: float | None = None

    def run(self) -> tuple[int, float]:
        """Decode everything once; return rows and seconds."""
        emitter = KafkaRecordEmitter(self.columns, parts=self.parts, check_crcs=self.check_crcs)
        state = SplitState(SplitRange(_SPLIT, 0, 1 << 62))
        rows = 0
        began = time.thread_time()
        for data in self.sets:
            for batch in emitter.emit(RecordSet(data), state):
                rows += batch.num_rows
        for batch in emitter.flush():
            rows += batch.num_rows
        return rows, time.thread_time() - began


def main(arguments: Sequence[str] | None = None) -> int:
    """Print rows/s and MB/s of each case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=["formats"], help="decode values that have a format, and no others")
    args = parser.parse_args(arguments)
    rounds = args.rounds
    began = time.perf_counter()
    KERNEL.load()
    print(f"kernel ready after {time.perf_counter() - began:.2f} s")
    cases = [*([] if args.only else _cases(random.Random(1))), *_typed_cases(), *_wide_cases()]
    samples: dict[str, list[float]] = {case.name: [] for case in cases}
    rows = {case.name: case.run()[0] for case in cases}
    for _ in range(rounds):
        for case in cases:
            samples[case.name].append(case.run()[1])
    print(f"{'':34}{'M rows/s':>10}{'ns/row':>8}{'MB/s in':>9}{'us/set':>8}{'wanted':>10}")
    for case in cases:
        seconds = statistics.median(samples[case.name])
        count = rows[case.name]
        size = sum(map(len, case.sets))
        rates = f"{count / seconds / 1e6:10.1f}{seconds / count * 1e9:8.0f}{size / seconds / 1e6:9.0f}"
        wanted = "" if case.wanted is None else f"{f'>= {case.wanted:g}':>10}"
        print(f"{case.name:34}{rates}{seconds / len(case.sets) * 1e6:8.0f}{wanted}")
    return 0


def _cases(rng: random.Random) -> list[Case]:
    small = record_sets(lambda _: rng.randbytes(100), _SET_BYTES)
    large = record_sets(lambda _: rng.randbytes(1_000), _SET_BYTES)
    packed = record_sets(lambda n: _order(n, rng), _SET_BYTES, zstd=True)
    trickle = record_sets(lambda _: rng.randbytes(100), 1_000)
    return [
        Case("100 B, 7 columns", small, _SEVEN),
        Case("100 B, 7 columns, no CRC", small, _SEVEN, check_crcs=False),
        Case("100 B, with headers (none there)", small, KAFKA_COLUMNS),
        Case("100 B, value", small, ["value"]),
        Case("100 B, value, no CRC", small, ["value"], check_crcs=False),
        Case("1 KB, 7 columns", large, _SEVEN),
        Case("1 KB, 7 columns, no CRC", large, _SEVEN, check_crcs=False),
        Case("1 KB, value", large, ["value"]),
        Case("zstd 100 B, 7 columns", packed, _SEVEN),
        Case("zstd 100 B, value", packed, ["value"]),
        Case("trickle: sets of 9 rows, 100 B", trickle, _SEVEN),
    ]


def _typed_cases() -> list[Case]:
    """Return the same rows in every format, six columns of a value."""
    rows = orders.orders(_DISTINCT)
    texts = [orders.json_text(row) for row in rows]
    some_bad = [
        orders.mismatched(row) if number % 10 == 0 else text
        for number, (row, text) in enumerate(zip(rows, texts, strict=True))
    ]
    shuffled = [orders.json_text(orders.shuffled(row)) for row in rows]
    address: dict[str, pa.DataType] = {
        "city": pa.string(),
        "zip": pa.string(),
        "lat": pa.float64(),
        "lon": pa.float64(),
    }
    columns: dict[str, pa.DataType] = {
        "id": pa.int64(),
        "amount": pa.float64(),
        "user": pa.string(),
        "at": pa.timestamp("us", tz="UTC"),
        "ok": pa.bool_(),
        "address": pa.struct(list(address.items())),
    }
    as_json = JsonValueFormat(pa.schema(columns).serialize().to_pybytes(), FormatOptions())
    as_protobuf = ProtobufFormat(descriptor_set=orders.descriptor_set(), message=orders.MESSAGE)
    as_avro = [orders.avro(row) for row in rows]
    messages = [orders.protobuf(row) for row in rows]
    return [
        _typed_case("JSON, 6 columns", texts, as_json, 3),
        _typed_case("JSON, fields in any order", shuffled, as_json),
        _typed_case("JSON, 10 % have a wrong type", some_bad, as_json, 1.5),
        _typed_case("Avro, 6 columns", as_avro, AvroValueFormat(orders.AVRO_SCHEMA), 7),
        _typed_case("Avro, 10 % are cut off", _cut(as_avro), AvroValueFormat(orders.AVRO_SCHEMA), 3.5),
        _typed_case("Protobuf, 6 columns", messages, as_protobuf, 7),
        _typed_case("Protobuf, 10 % are cut off", _cut(messages), as_protobuf, 3.5),
    ]


def _wide_cases() -> list[Case]:
    """Return rows of 1,000 columns, and rows with a list of 50 objects of 20 fields, in every format."""
    return [
        _typed_case(f"{name}, {what}", values, made_by)
        for what, rows in (
            ("1,000 columns", wide_values.wide(50, 1_000)),
            ("a list of objects", wide_values.nested(50, 50, 20)),
        )
        for name in wide_values.FORMATS
        if name != "CSV" or "list" not in rows[0]
        for made_by, values in [wide_values.written(name, rows)]
    ]


def _typed_case(name: str, values: Sequence[bytes], made_by: Format, wanted: float | None = None) -> Case:
    sets = record_sets(lambda n: values[n % len(values)], _SET_BYTES)
    return Case(name, sets, ["value.*"], parts={"value": DecodedPart(format=made_by)}, wanted=wanted)


def _cut(values: Sequence[bytes]) -> list[bytes]:
    return [value[:-1] if number % 10 == 0 else value for number, value in enumerate(values)]


def _order(n: int, rng: random.Random) -> bytes:
    return b'{"id":%d,"user":"user-%04d","amount":%d.%02d,"city":"%s","ok":true,"ts":%d}' % (
        n,
        rng.randrange(10_000),
        rng.randrange(1_000),
        rng.randrange(100),
        rng.choice([b"Berlin", b"Lisbon", b"Tallinn"]),
        1_700_000_000_000 + n,
    )


def record_sets(value: Callable[[int], bytes], set_bytes: int, *, zstd: bool = False) -> list[bytes]:
    """Return record sets whose uncompressed size is about ``set_bytes``, one following the other."""
    sets = []
    offset = 0
    for _ in range(_SETS):
        batches = b""
        size = 0
        while size < set_bytes:
            builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, min(_BATCH_BYTES, set_bytes))
            count = 0
            while builder.append(
                count,
                1_700_000_000_000 + (offset + count) // 10,
                b"%08d" % (offset + count),
                value(offset + count),
                [],
            ):
                count += 1
            plain = bytes(builder.build())
            size += len(plain)
            batches += _sealed(plain, offset, zstd=zstd)
            offset += count
        sets.append(batches)
    return sets


def _sealed(plain: bytes, base_offset: int, *, zstd: bool) -> bytes:
    """Return the batch as it lies in the log: at its offset, compressed, with its checksum."""
    body = bytes(cramjam.zstd.compress(plain[_HEADER_BYTES:], 3)) if zstd else plain[_HEADER_BYTES:]
    checked = struct.pack(">h", _ZSTD if zstd else 0) + plain[23:_HEADER_BYTES] + body
    return struct.pack(">qiibI", base_offset, 9 + len(checked), 0, 2, google_crc32c.value(checked)) + checked


if __name__ == "__main__":
    sys.exit(main())
