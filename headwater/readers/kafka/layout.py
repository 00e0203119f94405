"""The memory layout that the compiled kernel and Python share: batch headers, output buffers, faults.

These values are compiled into machine code. So the text of this module is part of the key under which
`headwater.readers.kafka.kernel_cache` keeps that code, and a change here compiles it anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ByteArray: TypeAlias = npt.NDArray[np.uint8]
Int32Array: TypeAlias = npt.NDArray[np.int32]
Int64Array: TypeAlias = npt.NDArray[np.int64]
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

MIN_RECORD_BYTES = 7
"""The smallest record in format v2: one byte each for its length, attributes, timestamp delta, offset delta,
key length, value length and number of headers."""

LOG_APPEND_TIME = 0x08
"""Attribute bit: the timestamp of all records is the broker's, not the producer's."""

MOST_TIMESTAMP_MS = ((1 << 63) - 1) // 1000
"""Spark's timestamps are microseconds in 64 bits."""

FUNCTION_SCAN = 0
FUNCTION_DECODE = 1
"""What the one function of the machine code is to do: `kernel.scan` or `kernel.decode`."""

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

# Positions in the array in which the kernel counts nulls, and names the batch of a fault, and the record if
# its timestamp is the fault.
TALLY_NULL_KEYS = 0
TALLY_NULL_VALUES = 1
TALLY_HEADERLESS = 2
TALLY_NULL_HEADER_VALUES = 3
TALLY_FAULTY_BATCH = 4
TALLY_FAULTY_OFFSET = 5
TALLY_FAULTY_TIMESTAMP = 6
TALLY_FIELDS = 7


def address(array: npt.NDArray[Any]) -> int:
    """Return the address of a contiguous array. Arrow takes a fifth of the time that numpy takes for it."""
    return pa.py_buffer(array.data).address


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


class RowBuffers(NamedTuple):
    """The buffers of every column that is decoded record by record.

    Empty arrays stand for columns that are not asked for.
    """

    key: BinaryBuffers
    value: BinaryBuffers
    offset: Int64Array
    timestamp: Int64Array
    timestamp_type: Int32Array
    headers: HeadersBuffers

    def addresses(self) -> Int64Array:
        """Return where the kernel finds these buffers: the address and the length of each array.

        Valid for as long as the buffers are referenced. `kernel_entry` reads the numbers in this order.
        """
        headers = self.headers
        numbers = (self.offset, self.timestamp, self.timestamp_type, headers.offsets, headers.validity)
        arrays: list[npt.NDArray[Any]] = [*self.key, *self.value, *numbers, *headers.key, *headers.value]
        return np.array([part for array in arrays for part in (address(array), array.size)], np.int64)
