"""Lines as spans: where each lies in a block of whole lines, without what ends it."""

from __future__ import annotations

import re

import numpy as np

from headwater.readers.formats.format import Spans
from headwater.readers.kernels.arrays import ByteArray, Int64Array

_LF = 10
_CR = 13


def line_spans(data: bytes, separator: bytes | None) -> Spans:
    r"""Return where the lines of a block lie. Of the last one the end may be missing.

    Args:
        data: whole lines.
        separator: what ends a line; None for ``\n``, ``\r\n`` and ``\r``.
    """
    array = np.frombuffer(data, np.uint8)
    if separator is None:
        return _universal_spans(data, array)
    if len(separator) == 1:
        return _spans(array, np.flatnonzero(array == separator[0]), 1)
    found = re.finditer(re.escape(separator), data)
    return _spans(array, np.fromiter((one.start() for one in found), np.int64), len(separator))


def _universal_spans(data: bytes, array: ByteArray) -> Spans:
    if b"\r" not in data:
        return _spans(array, np.flatnonzero(array == _LF), 1)
    ends = np.flatnonzero((array == _LF) | (array == _CR))
    # The \n of \r\n ends no line: the \r before it has.
    is_second = np.zeros(ends.size, np.bool_)
    is_second[1:] = (ends[1:] == ends[:-1] + 1) & (array[ends[:-1]] == _CR) & (array[ends[1:]] == _LF)
    widths = np.ones(ends.size, np.int64)
    widths[:-1] += is_second[1:]
    return _spans(array, ends[~is_second], widths[~is_second])


def _spans(data: ByteArray, ends: Int64Array, widths: Int64Array | int) -> Spans:
    """Return the spans of lines whose ends begin at ``ends`` and are so many bytes long."""
    starts = np.zeros(ends.size + 1, np.int64)
    starts[1:] = ends + widths
    sizes = np.append(ends, data.size) - starts
    # What comes after the last end is no line if it is empty.
    count = starts.size if starts[-1] < data.size else ends.size
    return Spans(data, starts[:count], sizes[:count])
