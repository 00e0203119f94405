"""Runs of kernels over values: the addresses of values, and the loop that resumes a stopped kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from headwater.readers.formats.columns import layout
from headwater.readers.formats.columns.table import ColumnTable
from headwater.readers.formats.format import Spans
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address

BEHIND: Final = 64
"""How many bytes behind a value a kernel may load."""
_ENDS: Final = frozenset({layout.STOP_DONE, layout.STOP_MORE_INPUT})


def run_kernel(
    call: Callable[[int], int],
    state: Int64Array,
    table: ColumnTable | None,
    answers: Mapping[int, Callable[[int], None]] = MappingProxyType({}),
) -> int:
    """Call a kernel until it stops for nothing any more, and return how many values it has decoded.

    Args:
        call: calls the kernel. Its argument and its result are the number of values that are decoded.
        state: the numbers ``STATE_...``.
        table: the columns.
        answers: by the number ``STOP_...``, other things that it may stop for: a function that supplies it,
            given the number of values that are decoded.
    """
    row = 0
    while True:
        row = call(row)
        stop = int(state[layout.STATE_STOP])
        if stop in _ENDS:
            return row
        if stop in answers:
            answers[stop](row)
        else:
            assert table is not None, f"nothing answers the stop {stop}"
            table.refuse_more(int(state[layout.STATE_NODE]))


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
