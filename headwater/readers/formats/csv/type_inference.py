"""Types of columns of text, found by the compiled kernel of inference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.readers.formats.columns import layout as table_layout
from headwater.readers.formats.columns.kernel_runs import BEHIND, run_kernel
from headwater.readers.formats.csv import inference_layout as kinds
from headwater.readers.formats.csv import layout
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.csv.kernel_options import KernelOptions
from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.values.time_tables import KnownZones, TimePatterns
from headwater.readers.kernels.arrays import address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.formats.csv.kernel.inference", "infer", arguments=5, needed_for="the format csv"
)

_TYPES: Final[dict[int, pa.DataType]] = {
    kinds.KIND_NOTHING: pa.string(),
    kinds.KIND_INT: pa.int32(),
    kinds.KIND_LONG: pa.int64(),
    kinds.KIND_DOUBLE: pa.float64(),
    kinds.KIND_DATE: pa.date32(),
    kinds.KIND_TIMESTAMP: pa.timestamp("us", "UTC"),
    kinds.KIND_BOOLEAN: pa.bool_(),
    kinds.KIND_STRING: pa.string(),
}
_DATE: Final = "yyyy-MM-dd"
_DATES_IN_TIMES: Final = frozenset(
    {"yyyy-MM-dd", "yyyy-M-d", "yyyy-M-dd", "yyyy-MM-d", "yyyy-MM", "yyyy-M", "yyyy"}
)
"""Dates that Spark reads as times too, where these have no pattern."""


class ColumnTypes:
    """The types of columns, from the values seen so far. One owner, one thread.

    Args:
        count: how many columns.
        dialect: the texts of NaN and infinity.
        options: patterns of times.
        prefer_date: whether a column of dates has that type.
    """

    def __init__(self, count: int, dialect: CsvDialect, options: FormatOptions, *, prefer_date: bool) -> None:
        # Only what is a date to the letter counts as one here.
        strict = replace(options, date_format=options.date_format or _DATE, time_zone="UTC")
        self._options = KernelOptions(replace(dialect, time_fallback=False), strict, "\n")
        self._reader = np.zeros(layout.READER_FIELDS, np.int64)
        self._scratch = np.zeros(1 << 12, np.uint8)
        self._state = np.zeros(table_layout.STATE_FIELDS, np.int64)
        self._zones = KnownZones("UTC", self._state)
        self._patterns = TimePatterns(strict, self._state)
        self._state[layout.OPTIONS] = self._options.address
        self._state[layout.READER] = address(self._reader)
        self._state[layout.SCRATCH] = address(self._scratch)
        self._state[layout.SCRATCH_SIZE] = self._scratch.size
        self._reader[layout.TEXT_END] = address(self._scratch)
        self._state[kinds.DATE_FIRST] = int(prefer_date)
        lenient = strict.date_format in _DATES_IN_TIMES and options.timestamp_format is None
        self._state[kinds.MIXED] = kinds.KIND_TIMESTAMP if lenient else kinds.KIND_STRING
        self._found = np.zeros((count, 2), np.int64)

    def add(self, at: int, values: pa.Array[Any]) -> None:
        """Look at values of a column of strings."""
        present = values.drop_null()
        if not len(present) or self._found[at, 0] == kinds.KIND_STRING:
            return
        _, offsets, data = present.buffers()
        assert offsets is not None
        ends = np.frombuffer(memoryview(offsets), np.int32)[present.offset :]
        size = int(ends[len(present)])
        bytes_ = np.zeros(size + BEHIND, np.uint8)
        if data is not None:
            bytes_[:size] = np.frombuffer(memoryview(data), np.uint8)[:size]
        state = self._state
        state[kinds.KIND], state[kinds.PRECISION] = self._found[at]

        def call(done: int) -> int:
            return KERNEL(address(ends), address(bytes_), done, len(present), address(state))

        run_kernel(call, state, None, {table_layout.STOP_ZONE: self._zones.add_unknown})
        self._found[at] = state[kinds.KIND], state[kinds.PRECISION]

    def types(self) -> list[pa.DataType]:
        """Return the types of the columns: strings where there were no values."""
        return [
            pa.decimal128(precision, 0) if kind == kinds.KIND_DECIMAL else _TYPES[kind]
            for kind, precision in self._found.tolist()
        ]
