"""Makes Arrow arrays of filled buffers, without a copy. The arrays keep the memory of the buffers alive."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.readers.kafka.columns import HEADERS_TYPE
from headwater.readers.kafka.layout import BinaryBuffers, HeadersBuffers
from headwater.readers.kernels.arrays import ByteArray

_HALF_PAIR = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT = "\ufffd".encode()
_MOST_TOPICS = 4
_MOST_REPEATED_ROWS = 1 << 16


def fixed(kind: pa.DataType, values: npt.NDArray[Any]) -> pa.Array[Any]:
    """Return an array of numbers or times without nulls."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values.data)], 0)


def binary(kind: pa.DataType, rows: int, buffers: BinaryBuffers, nulls: int) -> pa.Array[Any]:
    """Return an array of bytes or strings; it has no validity buffer if it has no nulls."""
    offsets = buffers.offsets[: rows + 1]
    values = buffers.data[: buffers.offsets[rows]]
    parts = [_validity(buffers.validity, rows, nulls), pa.py_buffer(offsets.data), pa.py_buffer(values.data)]
    return pa.Array.from_buffers(kind, rows, parts, nulls)


def headers(rows: int, buffers: HeadersBuffers, headerless: int, null_values: int) -> pa.Array[Any]:
    """Return the lists of headers; a record without headers has null, as in Spark."""
    count = int(buffers.offsets[rows])
    keys = _utf8(binary(pa.string(), count, buffers.key, 0))
    entries = pa.Array.from_buffers(
        HEADERS_TYPE.value_type,
        count,
        [None],
        0,
        children=[keys, binary(pa.binary(), count, buffers.value, null_values)],
    )
    parts = [_validity(buffers.validity, rows, headerless), pa.py_buffer(buffers.offsets[: rows + 1].data)]
    return pa.Array.from_buffers(HEADERS_TYPE, rows, parts, headerless, children=[entries])


def _validity(bits: ByteArray, rows: int, nulls: int) -> pa.Buffer | None:
    return pa.py_buffer(bits[: (rows + 7) >> 3].data) if nulls else None


def _utf8(keys: pa.Array[Any]) -> pa.Array[Any]:
    """Return header keys with U+FFFD in the place of bytes that are not UTF-8, as in Java's client.

    Spark relies on strings being valid.
    """
    try:
        keys.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array(
            [_as_java_decodes(key or b"") for key in keys.cast(pa.binary()).to_pylist()], pa.string()
        )
    return keys


def _as_java_decodes(key: bytes) -> str:
    """Java and Python put as many U+FFFD, but for half a surrogate pair: one in Java, two or three here."""
    return _HALF_PAIR.sub(_REPLACEMENT, key).decode("utf-8", "replace")


class TopicColumn:
    """Makes the column ``topic``: the topic's name in each row.

    A few topics are remembered with their names repeated, and each batch takes a slice of that.
    """

    def __init__(self) -> None:
        self._repeated: dict[str, pa.Array[Any]] = {}

    def column(self, topics: Sequence[str], rows: Sequence[int]) -> pa.Array[Any]:
        """Return each of these topics as many times as it has rows, in this order."""
        if len(set(topics)) == 1:
            return self._one(topics[0], sum(rows))
        return pa.concat_arrays([self._one(topic, count) for topic, count in zip(topics, rows, strict=True)])

    def _one(self, topic: str, rows: int) -> pa.Array[Any]:
        # Taken out and put in again at the end: the topic that was used longest ago is the first.
        known = self._repeated.pop(topic, None)
        if known is None or len(known) < rows:
            known = _repeated(topic, 1 << (rows - 1).bit_length())
        if len(known) <= _MOST_REPEATED_ROWS:
            self._repeated[topic] = known
        if len(self._repeated) > _MOST_TOPICS:
            del self._repeated[next(iter(self._repeated))]
        return known.slice(0, rows)


def _repeated(text: str, times: int) -> pa.Array[Any]:
    """Return an array of the same string, this many times.

    ``pa.repeat`` would import pandas to make a scalar: a tenth of a second in each new worker.
    """
    encoded = text.encode()
    ends = np.arange(0, times * len(encoded) + 1, len(encoded), dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), times, [None, pa.py_buffer(ends.data), pa.py_buffer(encoded * times)], 0
    )
