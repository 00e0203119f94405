"""Where values lie in memory, for kernels that load some bytes more than a value has."""

from __future__ import annotations

from typing import Final

import numpy as np

from headwater.readers.formats.format import Spans
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address

BEHIND: Final = 64
"""So many bytes behind a value a kernel may load."""


def value_addresses(spans: Spans, sizes: Int64Array) -> tuple[Int64Array, ByteArray]:
    """Return the addresses of values, those at the end of the data as copies with room behind them."""
    base = address(spans.data) if spans.data.size else 0
    starts = spans.starts + base
    last = np.flatnonzero(spans.starts + sizes > spans.data.size - BEHIND)
    last = last[sizes[last] >= 0]
    copies = np.zeros(int(sizes[last].sum()) + BEHIND, np.uint8)
    at = 0
    for row in last.tolist():
        start, size = int(spans.starts[row]), int(sizes[row])
        copies[at : at + size] = spans.data[start : start + size]
        starts[row] = address(copies) + at
        at += size
    return starts, copies
