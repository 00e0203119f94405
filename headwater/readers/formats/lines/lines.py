"""Lines of a block of bytes: their places, or their texts.

Ends of one byte are found by a kernel, many bytes at a time.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.readers.formats.format import Spans
from headwater.readers.kernels.arrays import ByteArray, address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.formats.lines.kernel", "split_lines", arguments=8, needed_for="lines of files"
)

_LINE_FEED: Final = 10
_CARRIAGE_RETURN: Final = 13
_BEHIND: Final = 32
"""How many bytes behind the text of lines the kernel may store."""
_USUAL_LINE_BYTES: Final = 16
"""The average size for which there is memory at first; shorter lines need a second call."""


def line_spans(data: bytes | bytearray, separator: bytes | None) -> Spans:
    r"""Return where the lines of a block lie. Of the last one the end may be missing.

    Args:
        data: whole lines.
        separator: the end of a line; None for ``\n``, ``\r\n`` and ``\r``.

    Raises:
        MissingDependencyError: numba is not installed in this process, and the kernel is not compiled yet.
    """
    array: ByteArray = np.frombuffer(data, np.uint8)
    ends = _line_ends_of(separator)
    if ends is None:
        assert separator is not None, "the kernel finds the usual ends"
        return _spans_between(array, separator)
    begin = address(array) if data else 0
    room = len(data) // _USUAL_LINE_BYTES + 1
    while True:
        starts = np.empty(room, np.int64)
        sizes = np.empty(room, np.int64)
        places = (address(starts), address(sizes), 0)
        count = KERNEL(begin, begin + len(data), *ends, room, *places)
        if count <= room:
            return Spans(array, starts[:count], sizes[:count])
        room = count


def line_texts(data: bytes | bytearray, separator: bytes | None) -> pa.Array[Any] | None:
    r"""Return the lines of a block. Of the last one the end may be missing.

    The bytes between the ends are not checked: they may be no UTF-8.

    Args:
        data: whole lines.
        separator: the end of a line; None for ``\n``, ``\r\n`` and ``\r``.

    Returns:
        None if the separator has several bytes: the kernel finds single ones.

    Raises:
        MissingDependencyError: numba is not installed in this process, and the kernel is not compiled yet.
    """
    ends = _line_ends_of(separator)
    if ends is None:
        return None
    source = pa.py_buffer(data)
    text = pa.allocate_buffer(len(data) + _BEHIND)
    room = len(data) // _USUAL_LINE_BYTES + 1
    while True:
        offsets = pa.allocate_buffer(4 * (room + 1))
        places = (offsets.address, 0, text.address)
        count = KERNEL(source.address, source.address + len(data), *ends, room, *places)
        if count <= room:
            return pa.Array.from_buffers(pa.string(), count, [None, offsets, text])
        room = count


def _line_ends_of(separator: bytes | None) -> tuple[int, int] | None:
    r"""Return the two bytes, which may be the same, that end lines for the kernel.

    Args:
        separator: the end of a line; None for ``\n``, ``\r\n`` and ``\r``.

    Returns:
        None if the separator has several bytes: the kernel finds single ones.
    """
    if separator is None:
        return _LINE_FEED, _CARRIAGE_RETURN
    return (separator[0], separator[0]) if len(separator) == 1 else None


def _spans_between(data: ByteArray, separator: bytes) -> Spans:
    """Return where lines lie that a separator of several bytes ends."""
    separators = re.finditer(re.escape(separator), data.data)
    ends = np.fromiter((one.start() for one in separators), np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), ends + len(separator)])
    sizes = np.append(ends, data.size) - starts
    # The rest after the last end is no line if it is empty.
    count = starts.size if starts[-1] < data.size else ends.size
    return Spans(data, starts[:count], sizes[:count])
