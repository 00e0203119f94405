"""Lines as strings, without what ends them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.readers.formats.lines.kernel_code import USUAL_LINE_BYTES, kernel, line_ends_of
from headwater.readers.formats.lines.layout import BEHIND


def line_texts(data: bytes | bytearray, separator: bytes | None) -> pa.Array[Any] | None:
    r"""Return the lines of a block. Of the last one the end may be missing.

    Nothing looks at what is between the ends: bytes that are no UTF-8 stay as they are.

    Args:
        data: whole lines.
        separator: what ends a line; None for ``\n``, ``\r\n`` and ``\r``.

    Returns:
        None if the separator has several bytes: the kernel finds single ones.

    Raises:
        MissingDependencyError: numba is not installed in this process, and the kernel is not compiled yet.
    """
    ends = line_ends_of(separator)
    if ends is None:
        return None
    source = pa.py_buffer(data)
    text = pa.allocate_buffer(len(data) + BEHIND)
    room = len(data) // USUAL_LINE_BYTES + 1
    while True:
        offsets = pa.allocate_buffer(4 * (room + 1))
        places = (offsets.address, 0, text.address)
        count = kernel()(source.address, source.address + len(data), *ends, room, *places)
        if count <= room:
            return pa.Array.from_buffers(pa.string(), count, [None, offsets, text])
        room = count
