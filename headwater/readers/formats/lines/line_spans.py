"""Lines as spans: where each lies in a block of whole lines, without what ends it."""

from __future__ import annotations

import re

import numpy as np

from headwater.readers.formats.format import Spans
from headwater.readers.formats.lines.kernel_code import USUAL_LINE_BYTES, kernel, line_ends_of
from headwater.readers.kernels.arrays import ByteArray, address


def line_spans(data: bytes | bytearray, separator: bytes | None) -> Spans:
    r"""Return where the lines of a block lie. Of the last one the end may be missing.

    Args:
        data: whole lines.
        separator: what ends a line; None for ``\n``, ``\r\n`` and ``\r``.

    Raises:
        MissingDependencyError: numba is not installed in this process, and the kernel is not compiled yet.
    """
    array: ByteArray = np.frombuffer(data, np.uint8)
    ends = line_ends_of(separator)
    if ends is None:
        assert separator is not None, "the kernel finds the usual ends"
        return _spans_between(array, separator)
    begin = address(array) if data else 0
    room = len(data) // USUAL_LINE_BYTES + 1
    while True:
        starts = np.empty(room, np.int64)
        sizes = np.empty(room, np.int64)
        places = (address(starts), address(sizes), 0)
        count = kernel()(begin, begin + len(data), *ends, room, *places)
        if count <= room:
            return Spans(array, starts[:count], sizes[:count])
        room = count


def _spans_between(data: ByteArray, separator: bytes) -> Spans:
    """Return where lines lie that a separator of several bytes ends."""
    found = re.finditer(re.escape(separator), data.data)
    ends = np.fromiter((one.start() for one in found), np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), ends + len(separator)])
    sizes = np.append(ends, data.size) - starts
    # What comes after the last end is no line if it is empty.
    count = starts.size if starts[-1] < data.size else ends.size
    return Spans(data, starts[:count], sizes[:count])
