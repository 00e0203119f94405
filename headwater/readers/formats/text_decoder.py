"""Decoding of text into columns, as JSON and CSV share it: arrays for kernels, zones, patterns of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.readers.formats import misfits
from headwater.readers.formats.columns import layout
from headwater.readers.formats.columns.kernel_runs import run_kernel, value_addresses
from headwater.readers.formats.columns.table import ColumnTable
from headwater.readers.formats.format import BadValues, FormatOptions, Spans, ValueDecoder
from headwater.readers.formats.values.time_tables import KnownZones, TimePatterns
from headwater.readers.kernels.arrays import Int64Array, address
from headwater.readers.kernels.cache import Kernel


class TextDecoder(ValueDecoder):
    """Decodes values with a kernel that has the arguments of `_run`. One owner, one thread.

    Args:
        kernel: fills the columns.
        schema: the columns.
        options: the zone of times without one, patterns of times.
        special: names of columns that no field of a value fills: in the table they follow the others.

    Raises:
        OptionError: there is no such time zone.
    """

    def __init__(
        self, kernel: Kernel, schema: pa.Schema, options: FormatOptions, special: Sequence[str | None]
    ) -> None:
        self._kernel = kernel
        self._fields = [field for field in schema if field.name not in special]
        extras = [field for field in schema if field.name in special]
        columns = [*self._fields, *extras]
        self._nodes = {field.name: 1 + len(self._fields) + at for at, field in enumerate(extras)}
        """Of the special columns."""
        self._table = ColumnTable(columns)
        self._order = [columns.index(field) for field in schema]
        self._state = np.zeros(layout.STATE_FIELDS, np.int64)
        self._last: Spans | None = None
        self._told: dict[int, str] = {}
        self._zones = KnownZones(options.time_zone, self._state)
        self._patterns = TimePatterns(options, self._state)
        self._answers: dict[int, Callable[[int], None]] = {layout.STOP_ZONE: self._zones.add_unknown}

    def append(self, spans: Spans) -> BadValues | None:
        """Decode values; see `ValueDecoder.append`."""
        self._last = spans
        count = len(spans.sizes)
        sizes = np.ascontiguousarray(spans.sizes, np.int64)
        # Both stay alive until the kernel is done.
        starts, _copies = value_addresses(spans, sizes)
        rows = np.empty(count, np.int64)
        reasons = np.empty(count, np.int64)
        self._table.make_room(count, int(sizes.clip(0).sum()))
        if count:
            self._run(lambda: address(starts), address(sizes), count, rows, reasons)
        return self._bad(rows, reasons) if count else None

    def finish(self) -> Sequence[pa.Array[Any]]:
        """Return the rows since the last call as columns."""
        columns = self._table.finish()
        return [columns[at] for at in self._order]

    def _field(self, node: int) -> str:
        """Return the error of values that do not fit a field."""
        if node not in self._told:
            self._told[node] = misfits.named(*self._table.field(node))
        return self._told[node]

    def _run(
        self, starts: Callable[[], int], sizes: int, count: int, rows: Int64Array, reasons: Int64Array
    ) -> int:
        """Call the kernel until it is done, and return how many values it has decoded.

        Args:
            starts: returns where the addresses of the values are, or where a stream goes on.
            sizes: where their sizes are, or where a stream ends.
            count: how many values there are.
            rows: room for the numbers of bad values.
            reasons: room for their reasons.
        """
        self._state[layout.STATE_BAD] = 0
        fixed = (address(self._state), address(rows), address(reasons))

        def call(row: int) -> int:
            return self._kernel(address(self._table.nodes), starts(), sizes, row, count, *fixed)

        return run_kernel(call, self._state, self._table, self._answers)

    def _bad(self, rows: Int64Array, reasons: Int64Array) -> BadValues | None:
        bad = int(self._state[layout.STATE_BAD])
        return BadValues(rows[:bad], reasons[:bad]) if bad else None
