"""The wire format of AWS Glue's schema registry.

Before each value are a 3, a byte for the compression (0 none, 5 zlib), and the UUID of its schema's version.
"""

from __future__ import annotations

import functools
import uuid
import zlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headwater.core.errors import SourceError
from headwater.readers.compression import MOST_BLOCK_BYTES
from headwater.readers.formats.format import Spans
from headwater.readers.formats.wire_format import HEADER_BYTES, Behind, Reasons, prefix
from headwater.readers.kernels.arrays import ByteArray, Int64Array

_FRAME_BYTES: Final = 18
_VERSION: Final = 3
_PLAIN, _ZLIB = 0, 5
_MOST_KINDS: Final = 8
"""The most versions that are matched in all values at once. Other values are taken singly, to keep the cost
linear."""
NO_FRAME: Final = (
    "does not begin with a 3, a 0 or 5, and the UUID of a schema version, as AWS Glue's wire format does"
)


class GlueFrames:
    """Takes values out of frames, of many values at once; those that are compressed one by one.

    Args:
        reasons: takes the reasons why values are bad.
        id_of: an id for the UUID of a schema version, which values get in front as in Confluent's wire
            format; None: values get nothing in front.
        most_bytes: what the compressed values of one call may become. A value that alone becomes more is bad.
    """

    def __init__(
        self,
        reasons: Reasons,
        id_of: Callable[[str], int] | None = None,
        most_bytes: int = MOST_BLOCK_BYTES,
    ) -> None:
        self._reasons = reasons
        self._id_of = id_of
        self._most_bytes = most_bytes

    def __call__(self, spans: Spans) -> Behind:
        """Return the values behind frames.

        Raises:
            SourceError: compressed values become more together than they may.
        """
        rows, heads = _frames(spans)
        bad = np.where(spans.sizes >= 0, self._reasons.code(NO_FRAME), 0)
        bad[rows] = 0
        starts = np.zeros(len(bad), np.int64)
        sizes = np.full(len(bad), -1, np.int64)
        starts[rows] = spans.starts[rows] + _FRAME_BYTES
        sizes[rows] = spans.sizes[rows] - _FRAME_BYTES
        behind = Behind(Spans(spans.data, starts, sizes), bad)
        compressed = rows[heads[:, 1] == _ZLIB]
        if len(compressed):
            behind = self._inflated(behind, compressed)
        if self._id_of is None or not len(rows):
            return behind
        return _with_prefixes(behind, rows, self._prefixes(heads, self._id_of))

    def _inflated(self, behind: Behind, rows: Int64Array) -> Behind:
        """Return values of which these are decompressed, behind the data, each with room in front."""
        spans, bad = behind
        room = bytes(HEADER_BYTES)
        pieces: list[bytes] = []
        at = len(spans.data)
        left = self._most_bytes
        for row in rows.tolist():
            value, reason = inflated(spans.value(row) or b"", self._most_bytes)
            if reason:
                bad[row] = self._reasons.code(reason)
                spans.sizes[row] = -1
                continue
            left -= len(value)
            if left < 0:
                raise SourceError(
                    f"the values that were fetched with it become more than {self._most_bytes} bytes when "
                    "they are decompressed",
                    position=row,
                )
            pieces += (room, value)
            spans.starts[row] = at + len(room)
            spans.sizes[row] = len(value)
            at += len(room) + len(value)
        data = np.concatenate([spans.data, np.frombuffer(b"".join(pieces), np.uint8)])
        return Behind(Spans(data, spans.starts, spans.sizes), bad)

    def _prefixes(self, heads: ByteArray, id_of: Callable[[str], int]) -> ByteArray:
        """Return the head of each value, for its frame."""
        names = np.ascontiguousarray(heads[:, 2:]).view(np.uint64)
        prefixes = np.empty((len(heads), HEADER_BYTES), np.uint8)

        @functools.cache
        def prefix_of(name: bytes) -> ByteArray:
            return np.frombuffer(prefix(id_of(str(uuid.UUID(bytes=name)))), np.uint8)

        left = np.arange(len(heads))
        for _ in range(_MOST_KINDS):
            if not len(left):
                break
            # All of the version of the first one: mostly all of a topic.
            same = (names[left] == names[left[0]]).all(axis=1)
            prefixes[left[same]] = prefix_of(heads[left[0], 2:].tobytes())
            left = left[~same]
        for row in left.tolist():
            prefixes[row] = prefix_of(heads[row, 2:].tobytes())
        return prefixes


def inflated(value: bytes, most_bytes: int) -> tuple[bytes, str]:
    """Return the content of a compressed value, or why it has none."""
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(value, most_bytes + 1)
    except zlib.error as error:
        return b"", f"cannot be decompressed with zlib ({error})"
    if len(content) > most_bytes:
        return b"", f"becomes more than {most_bytes} bytes when it is decompressed"
    return (content, "") if stream.eof else (b"", "cannot be decompressed with zlib (it ends in the middle)")


def text_in_frame(value: bytes) -> str:
    """Return the text in a frame; if none can be had, the value as it is."""
    content = value
    if len(value) >= _FRAME_BYTES and value[0] == _VERSION:
        behind = value[_FRAME_BYTES:]
        if value[1] == _PLAIN:
            content = behind
        elif value[1] == _ZLIB:
            content = inflated(behind, MOST_BLOCK_BYTES)[0] or value
    return content.decode("utf-8", "replace")


def _frames(spans: Spans) -> tuple[Int64Array, ByteArray]:
    """Return which values have a frame, and the heads of those."""
    rows = np.flatnonzero(spans.sizes >= _FRAME_BYTES)
    if not len(rows):
        return rows, np.empty((0, _FRAME_BYTES), np.uint8)
    windows: npt.NDArray[Any] = np.lib.stride_tricks.sliding_window_view(spans.data, _FRAME_BYTES)
    heads = windows[spans.starts[rows]]
    is_frame = (heads[:, 0] == _VERSION) & ((heads[:, 1] == _PLAIN) | (heads[:, 1] == _ZLIB))
    return rows[is_frame], heads[is_frame]


def _with_prefixes(behind: Behind, rows: Int64Array, prefixes: ByteArray) -> Behind:
    """Return values in a copy of their bytes, with what these get in front in the place of the frame."""
    spans, bad = behind
    rows, prefixes = rows[spans.sizes[rows] >= 0], prefixes[spans.sizes[rows] >= 0]
    if not len(rows):
        return behind
    first = int(spans.starts[rows].min()) - HEADER_BYTES
    data = spans.data[first : int((spans.starts[rows] + spans.sizes[rows]).max())].copy()
    starts = np.where(spans.sizes < 0, 0, spans.starts - first - HEADER_BYTES)
    for at in range(HEADER_BYTES):
        data[starts[rows] + at] = prefixes[:, at]
    return Behind(Spans(data, starts, np.where(spans.sizes < 0, -1, spans.sizes + HEADER_BYTES)), bad)
