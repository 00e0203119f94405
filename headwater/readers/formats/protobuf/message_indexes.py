"""The header of a message in Confluent's wire format: an id, and the place of the message in its file.

Behind the id comes a number of indexes, and the indexes, all as zigzag varints: the place of the message in
its file, of a nested one the places of all around it first. A single zero stands for the first message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.core.varints import read_varint, unzigzag
from headwater.readers.formats.format import Spans
from headwater.readers.formats.wire_format import HEADER_BYTES, HeaderSizes, Reasons, schema_id
from headwater.readers.kernels.arrays import Int64Array

_MOST_BYTES: Final = 64
"""No message is nested so deeply that its indexes need more."""
_MOST_INDEXES: Final = 32
_MOST_KINDS: Final = 8
"""The most distinct headers that are matched in all values at once. Other values are parsed singly, to keep
the cost linear."""
_MOST_INDEX_BYTES: Final = 5
_NO_INDEXES: Final = "has no message indexes behind the id of its schema, as Confluent's wire format has them"


class MessageHeader(NamedTuple):
    """The header of a message."""

    schema_id: int
    indexes: tuple[int, ...]
    size: int


class MessageHeaders:
    """Reads headers. One owner, one thread.

    Args:
        refused: returns why messages with such a header are bad, empty if they are not; is given the number
            of a value, too. Called once for each id and indexes.
        reasons: takes the reasons.
    """

    def __init__(self, refused: Callable[[MessageHeader, int], str], reasons: Reasons) -> None:
        self._refused = refused
        self._reasons = reasons
        self._codes: dict[MessageHeader, int] = {}

    def __call__(self, spans: Spans, there: npt.NDArray[np.bool_]) -> HeaderSizes:
        """Return the sizes of headers, and which messages are bad."""
        headers = HeaderSizes(np.zeros(len(spans.sizes), np.int64), np.zeros(len(spans.sizes), np.int64))
        rows = np.flatnonzero(there)
        for _ in range(_MOST_KINDS):
            if not len(rows):
                break
            rows = self._alike(spans, rows, headers)
        for row in rows.tolist():
            self._one(spans, row, headers)
        return headers

    def _alike(self, spans: Spans, rows: Int64Array, headers: HeaderSizes) -> Int64Array:
        """Take all values with the header of the first one, mostly all of a topic. Return the others."""
        first = int(rows[0])
        begin = self._one(spans, first, headers)
        if not begin:
            return rows[1:]
        same = spans.sizes[rows] >= len(begin)
        for at, byte in enumerate(begin):
            same[same] = spans.data[spans.starts[rows[same]] + at] == byte
        headers.sizes[rows[same]] = headers.sizes[first]
        headers.bad[rows[same]] = headers.bad[first]
        return rows[~same]

    def _one(self, spans: Spans, row: int, headers: HeaderSizes) -> bytes:
        """Take one value; return its header, nothing if it has none."""
        start = int(spans.starts[row])
        begin = spans.data[start : start + min(int(spans.sizes[row]), _MOST_BYTES)].tobytes()
        header = _parsed(begin)
        if header is None:
            headers.bad[row] = self._reasons.code(_NO_INDEXES)
            return b""
        headers.sizes[row] = header.size
        headers.bad[row] = self._code(header, row)
        return begin[: header.size]

    def _code(self, header: MessageHeader, row: int) -> int:
        if header not in self._codes:
            reason = self._refused(header, row)
            self._codes[header] = self._reasons.code(reason) if reason else 0
        return self._codes[header]


def _parsed(begin: bytes) -> MessageHeader | None:
    """Return the header that a value begins with; None if it has none."""
    indexes: list[int] = []
    try:
        count, at = read_varint(begin, HEADER_BYTES, _MOST_INDEX_BYTES)
        if not 0 <= unzigzag(count) <= _MOST_INDEXES:
            return None
        for _ in range(unzigzag(count)):
            index, at = read_varint(begin, at, _MOST_INDEX_BYTES)
            indexes.append(unzigzag(index))
    except (IndexError, ValueError):
        return None
    if min(indexes, default=0) < 0:
        return None
    return MessageHeader(schema_id(begin), tuple(indexes) or (0,), at)
