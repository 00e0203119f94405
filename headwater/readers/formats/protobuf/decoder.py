"""Decodes messages into columns, with the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor

from headwater.readers.formats.columns import layout as table
from headwater.readers.formats.columns.kernel_runs import run_kernel
from headwater.readers.formats.columns.table import ColumnTable
from headwater.readers.formats.format import BadValues, Spans, ValueDecoder
from headwater.readers.formats.protobuf import layout
from headwater.readers.formats.protobuf.plan import PlanBuilder
from headwater.readers.kernels.arrays import address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.formats.protobuf.kernel.decode",
    "decode",
    arguments=2,
    needed_for="the format protobuf",
)

_REASONS = {
    layout.BAD_WIRE: "is not in Protobuf's wire format",
    layout.BAD_TEXT: "has a string that is not UTF-8",
    layout.BAD_REQUIRED: "lacks a required field",
    layout.BAD_TIME: "has a time that does not fit into 64 bits of microseconds",
    layout.BAD_FIELD: "has a field whose value is not of the type that the schema says",
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
        self._plan[layout.PLAN_STATE] = address(self._state)

    def append(self, spans: Spans) -> BadValues | None:
        """Decode these messages: see `ValueDecoder.append`."""
        starts = np.ascontiguousarray(spans.starts)
        sizes = np.ascontiguousarray(spans.sizes)
        bad = np.empty((2, len(sizes)), np.int64)
        data = address(spans.data)
        self._state[table.STATE_BAD] = 0
        for at, value in (
            (layout.PLAN_DATA, data),
            (layout.PLAN_LIMIT, data + spans.data.size),
            (layout.PLAN_STARTS, address(starts)),
            (layout.PLAN_SIZES, address(sizes)),
            (layout.PLAN_COUNT, len(sizes)),
            (layout.PLAN_BAD_ROWS, address(bad[0])),
            (layout.PLAN_BAD_REASONS, address(bad[1])),
        ):
            self._plan[at] = value
        self._columns.make_room(len(sizes), int(np.maximum(sizes, 0).sum()))
        run_kernel(lambda done: KERNEL(address(self._plan), done), self._state, self._columns)
        count = int(self._state[table.STATE_BAD])
        return BadValues(bad[0, :count], bad[1, :count]) if count else None

    def reason(self, code: int, row: int | None = None) -> str:
        """Return why a value is bad: see `ValueDecoder.reason`."""
        return _REASONS[code]

    def finish(self) -> Sequence[pa.Array[Any]]:
        """Return the columns: see `ValueDecoder.finish`."""
        return self._columns.finish()
