"""The memory layout that the compiled kernel and Python share: batch headers, output buffers, faults.

These values are compiled into machine code. So the text of this module is part of the key under which
`headwater.readers.kernels.cache` keeps that code, and a change here compiles it anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from headwater.readers.kernels.arrays import ByteArray, Int32Array, Int64Array, address

BatchArray: TypeAlias = npt.NDArray[Any]
"""One-dimensional, of dtype `BATCH`."""

BATCH = np.dtype(
    [
        (name, np.int64)
        for name in (
            "start",  # of the records, in the bytes; of the whole message in formats v0 and v1
            "end",
            "base_offset",
            "last_offset",
            "magic",
            "crc",
            "attributes",
            "base_timestamp",
            "max_timestamp",
            "producer_id",
            "count",
            "fault",  # 0, or why the header cannot be believed; the last batch of a scan then
        )
    ]
)
BATCH_OVERHEAD = 61
"""Bytes before the records of a batch in format v2."""

CHECKED_BEFORE_RECORDS = 40
"""In format v2 the checksum begins with the attributes, this far before the records."""

MIN_RECORD_BYTES = 7
"""The smallest record in format v2: one byte each for its length, attributes, timestamp delta, offset delta,
key length, value length and number of headers."""

LOG_APPEND_TIME = 0x08
"""Attribute bit: the timestamp of all records is the broker's, not the producer's."""

MOST_TIMESTAMP_MS = ((1 << 63) - 1) // 1000
"""Spark's timestamps are microseconds in 64 bits."""

OUT_FIELDS = 42
"""How many integers `RowBuffers.addresses` returns."""
FUNCTION_SCAN = 0
FUNCTION_DECODE = 1
FUNCTION_VERIFY = 2
"""Which function the machine code runs: `scan`, `decode` or `first_wrong`."""

# Why bytes cannot be decoded; `headwater.readers.kafka.faults` has the messages. All are below 0, because the
# kernel returns a number of rows otherwise.
FAULT_BATCH_TOO_SHORT = -1
FAULT_MAGIC = -2
FAULT_OFFSET = -3
FAULT_COUNT = -4
FAULT_RECORD_LENGTH = -5
FAULT_FIELD = -6
FAULT_HEADER = -7
FAULT_BYTES_LEFT = -8
FAULT_TIMESTAMP = -9
FAULT_CHECKSUM = -10

# Positions in the array in which the kernel counts nulls, and names the batch of a fault, and the record if
# its timestamp is the fault. One is set by the caller: whether checksums are looked at.
TALLY_NULL_KEYS = 0
TALLY_NULL_VALUES = 1
TALLY_HEADERLESS = 2
TALLY_NULL_HEADER_VALUES = 3
TALLY_FAULTY_BATCH = 4
TALLY_FAULTY_OFFSET = 5
TALLY_FAULTY_TIMESTAMP = 6
TALLY_CHECKS = 7
TALLY_FIELDS = 8


class BinaryBuffers(NamedTuple):
    """The three buffers of an Arrow binary or string array. All are empty if the column is not asked for."""

    offsets: Int32Array
    validity: ByteArray
    data: ByteArray


class HeadersBuffers(NamedTuple):
    """The buffers of ``list<struct<key: string, value: binary>>``."""

    offsets: Int32Array
    validity: ByteArray
    key: BinaryBuffers
    value: BinaryBuffers


class SpanBuffers(NamedTuple):
    """Where keys or values lie in the kernel's input: for a format, which decodes them there."""

    starts: Int64Array
    sizes: Int64Array


class RowBuffers(NamedTuple):
    """The buffers of every column that is decoded record by record.

    Empty arrays stand for columns that are not asked for.
    """

    key: BinaryBuffers
    value: BinaryBuffers
    key_spans: SpanBuffers
    value_spans: SpanBuffers
    offset: Int64Array
    timestamp: Int64Array
    timestamp_type: Int32Array
    headers: HeadersBuffers

    def addresses(self) -> Int64Array:
        """Return where the kernel finds these buffers: the address and the length of each array.

        Valid for as long as the buffers are referenced. `kernel.entry` reads the numbers in this order.
        """
        headers = self.headers
        numbers = (self.offset, self.timestamp, self.timestamp_type, headers.offsets, headers.validity)
        spans = (*self.key_spans, *self.value_spans)
        arrays: list[npt.NDArray[Any]] = [
            *self.key,
            *self.value,
            *spans,
            *numbers,
            *headers.key,
            *headers.value,
        ]
        places = [(address(array), array.size) if array.size else (0, 0) for array in arrays]
        return np.array(places, np.int64).ravel()
