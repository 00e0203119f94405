"""Decodes messages into columns, with the kernel."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor

from headwater.readers.formats import table_layout as table
from headwater.readers.formats.column_table import ColumnTable
from headwater.readers.formats.format import BadValues, Spans, ValueDecoder
from headwater.readers.formats.protobuf import layout
from headwater.readers.formats.protobuf.plan import PlanBuilder
from headwater.readers.kernels.arrays import address
from headwater.readers.kernels.cache import KernelSource, load_kernel
from headwater.readers.kernels.machine_code import CompiledFunction

SOURCE = KernelSource(
    modules=(
        "headwater.readers.formats.kernel_columns",
        "headwater.readers.formats.protobuf.kernel",
        "headwater.readers.formats.protobuf.layout",
        "headwater.readers.formats.table_layout",
        "headwater.readers.kernels.compiling",
        "headwater.readers.kernels.memory",
    ),
    entry="headwater.readers.formats.protobuf.kernel",
    arguments=layout.KERNEL_ARGUMENTS,
    needed_for="the format protobuf",
    extra="formats",
)

_REASONS = {
    layout.BAD_WIRE: "is not in Protobuf's wire format",
    layout.BAD_TEXT: "has a string that is not UTF-8",
    layout.BAD_REQUIRED: "lacks a required field",
    layout.BAD_TIME: "has a time that does not fit into 64 bits of microseconds",
    layout.BAD_DEPTH: f"has messages nested deeper than {layout.MOST_DEPTH}",
}


class ProtobufDecoder(ValueDecoder):
    """Decodes messages of one type.

    Args:
        message: the type.
        schema: its columns, and the one for corrupt values.
        corrupt: there is such a column, the last one.
        defaults: see `PlanBuilder`.
    """

    def __init__(self, message: Descriptor, schema: pa.Schema, *, corrupt: bool, defaults: bool) -> None:
        fields = list(schema)
        self._columns = ColumnTable(fields)
        plan = PlanBuilder(self._columns, defaults=defaults)
        self._plan = plan.build(message, fields[:-1] if corrupt else fields, corrupt=corrupt)
        self._state = np.zeros(table.STATE_FIELDS, np.int64)

    def append(self, spans: Spans) -> BadValues | None:
        """Decode these messages: see `ValueDecoder.append`."""
        starts = np.ascontiguousarray(spans.starts)
        sizes = np.ascontiguousarray(spans.sizes)
        bad = np.empty((2, len(sizes)), np.int64)
        state = self._state
        state[table.STATE_BAD] = 0
        self._columns.make_room(len(sizes), int(np.maximum(sizes, 0).sum()))
        done = 0
        while True:
            done = _kernel()(
                address(spans.data),
                spans.data.size,
                address(starts),
                address(sizes),
                done,
                len(sizes),
                address(self._columns.nodes),
                address(self._plan),
                address(state),
                address(bad[0]),
                address(bad[1]),
            )
            stop = int(state[table.STATE_STOP])
            if stop == table.STOP_DONE:
                break
            self._columns.grow(stop, int(state[table.STATE_NODE]))
        count = int(state[table.STATE_BAD])
        return BadValues(bad[0, :count], bad[1, :count]) if count else None

    def reason(self, code: int) -> str:
        """Return why a value is bad: see `ValueDecoder.reason`."""
        return _REASONS[code]

    def finish(self) -> Sequence[pa.Array[Any]]:
        """Return the columns: see `ValueDecoder.finish`."""
        return self._columns.finish()


@functools.cache
def _kernel() -> CompiledFunction:
    return load_kernel(SOURCE)
