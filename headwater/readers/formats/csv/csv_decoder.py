"""Decodes CSV records with the compiled kernel: values one by one, or records out of a stream of bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from headwater.readers.formats.columns import layout as table_layout
from headwater.readers.formats.columns.kernel_runs import value_addresses
from headwater.readers.formats.columns.table import ColumnTable
from headwater.readers.formats.csv import layout
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.csv.kernel_options import KernelOptions
from headwater.readers.formats.format import BadValues, Spans, ValueDecoder
from headwater.readers.formats.format_options import FormatOptions
from headwater.readers.formats.values.time_tables import KnownZones, TimePatterns
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.formats.csv.kernel.decode", "decode", arguments=8, needed_for="the format csv"
)

STREAM_ROWS: Final = 8_192
"""The most rows that one call decodes out of a stream."""
_LEAST_SCRATCH: Final = 1 << 16

_REASONS: Final = {
    layout.REASON_MISMATCH: "has a value that does not fit the type of its column",
    layout.REASON_COLUMNS: "has more or fewer values than there are columns",
    layout.REASON_NOTHING: "has no values: it is empty or a comment",
    layout.REASON_MOST_COLUMNS: "has more values than option 'maxColumns' allows",
    layout.REASON_MOST_CHARACTERS: "has a longer value than option 'maxCharsPerColumn' allows",
    layout.REASON_UNESCAPED: "has a quote that is not escaped, which option 'unescapedQuoteHandling' forbids",
}


class StreamPart(NamedTuple):
    """What a call of `CsvDecoder.append_stream` has done.

    Attributes:
        size: how many bytes were decoded; the others must come again.
        rows: how many rows were made of them.
        ended: whether the bytes that are left are no whole record.
        bad: the records that could not be read, by their rows.
        spans: where all of them lie.
    """

    size: int
    rows: int
    ended: bool
    bad: BadValues | None
    spans: Spans


class CsvDecoder(ValueDecoder):
    """Decodes CSV records into columns, which go by their position. One owner, one thread.

    Args:
        schema: the columns of the records in their order, and the one for corrupt records.
        options: the column for corrupt records, the zone of times without one, patterns of times.
        dialect: how records are written.
        line_separator: of a stream, and of values that may have more than one line.
        any_width: whether a record may have more or fewer values than there are columns.

    Raises:
        OptionError: there is no such time zone.
    """

    def __init__(
        self,
        schema: pa.Schema,
        options: FormatOptions,
        dialect: CsvDialect,
        line_separator: str = "\n",
        *,
        any_width: bool = False,
    ) -> None:
        fields = [field for field in schema if field.name != options.corrupt_column]
        extras = [field for field in schema if field.name == options.corrupt_column]
        self._table = ColumnTable([*fields, *extras])
        self._order = [[*fields, *extras].index(field) for field in schema]
        self._zones = KnownZones(options.time_zone)
        self._patterns = TimePatterns(options)
        self._options = KernelOptions(dialect, options, line_separator)
        self._dialect = dialect
        self._tokens = np.zeros(2 * (dialect.max_columns + 1), np.int64)
        self._scratch: ByteArray = np.zeros(_LEAST_SCRATCH, np.uint8)
        self._reader = np.zeros(layout.READER_FIELDS, np.int64)
        self._state = np.zeros(table_layout.STATE_FIELDS, np.int64)
        self._state[layout.COLUMNS] = len(fields)
        self._state[layout.CORRUPT] = 1 + len(fields) if extras else 0
        self._state[layout.ANY_WIDTH] = any_width
        self._state[layout.OPTIONS] = self._options.address
        self._state[layout.TOKENS] = address(self._tokens)
        self._state[layout.READER] = address(self._reader)
        self._state[layout.PATTERNS] = self._patterns.address

    def append(self, spans: Spans) -> BadValues | None:
        """Decode records; see `ValueDecoder.append`."""
        count = len(spans.sizes)
        sizes = np.ascontiguousarray(spans.sizes, np.int64)
        # Both stay alive until the kernel is done.
        starts, _copies = value_addresses(spans, sizes)
        rows = np.empty(count, np.int64)
        reasons = np.empty(count, np.int64)
        self._table.make_room(count, int(sizes.clip(0).sum()))
        self._state[layout.STREAM] = 0
        places = (address(starts), address(sizes)) if count else (0, 0)
        self._run(*places, count, rows, reasons)
        return self._bad(rows, reasons)

    def append_stream(
        self, data: ByteArray, start: int, stop: int, *, last: bool, most: int = STREAM_ROWS
    ) -> StreamPart:
        """Decode the next records of a stream into rows.

        Args:
            data: bytes of it, with 64 more behind them that mean nothing.
            start: where in them the next record begins.
            stop: where they end.
            last: whether nothing follows.
            most: how many rows.
        """
        rows = np.empty(most, np.int64)
        reasons = np.empty(most, np.int64)
        places = np.empty((most, 2), np.int64)
        self._table.make_room(most, stop - start)
        self._state[layout.PLACES] = address(places)
        self._state[layout.STREAM] = 1
        self._state[layout.LAST] = int(last)
        begin = address(data)
        done = self._run(begin + start, begin + stop, most, rows, reasons)
        ended = done < most
        # What is left at the very end are comments and empty lines.
        size = stop - start if ended and last else int(self._state[layout.AT]) - begin - start
        starts = places[:done, 0] - begin
        spans = Spans(data, starts, places[:done, 1] - places[:done, 0])
        return StreamPart(size, done, ended, self._bad(rows, reasons), spans)

    def last_values(self) -> list[str]:
        """Return the values of the record that was decoded last, as text. Its bytes must be there still."""
        short = {layout.NULL_TOKEN: self._dialect.null_value, layout.EMPTY_TOKEN: self._dialect.empty_value}
        tokens = self._tokens.reshape(-1, 2)[: int(self._state[layout.TOKEN_COUNT])].tolist()
        return [
            short[at] if at in short else ctypes.string_at(at, size).decode("utf-8", "replace")
            for at, size in tokens
        ]

    def reason(self, code: int) -> str:
        """Return why a record is bad."""
        return self.reason_of(code)

    @staticmethod
    def reason_of(code: int) -> str:
        """Return why a record is bad."""
        return _REASONS[code]

    def finish(self) -> Sequence[pa.Array[Any]]:
        """Return the rows since the last call as columns."""
        columns = self._table.finish()
        return [columns[at] for at in self._order]

    def finish_batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """Return the rows since the last call as a batch of the schema that the decoder was made of."""
        rows = self._table.rows
        columns = self.finish()
        whole: Any = pa.StructArray.from_buffers(
            pa.struct(list(schema)), rows, [None], children=list(columns)
        )
        return pa.RecordBatch.from_struct_array(whole)

    def _run(self, starts: int, sizes: int, count: int, rows: Int64Array, reasons: Int64Array) -> int:
        """Call the kernel until it is done, and return how many records it has decoded."""
        state = self._state
        state[table_layout.STATE_BAD] = 0
        done = 0
        while True:
            state[layout.ZONES] = self._zones.address
            state[layout.ZONE_COUNT] = self._zones.count
            state[layout.SCRATCH] = address(self._scratch)
            state[layout.SCRATCH_SIZE] = self._scratch.size
            done = KERNEL(
                address(self._table.nodes),
                starts,
                sizes,
                done,
                count,
                address(state),
                *(address(array) if count else 0 for array in (rows, reasons)),
            )
            stop = int(state[table_layout.STATE_STOP])
            if stop in {table_layout.STOP_DONE, layout.STOP_MORE_INPUT}:
                return done
            if stop == layout.STOP_ZONE:
                self._zones.add(int(state[layout.ZONE_TEXT]), int(state[layout.ZONE_SIZE]))
            elif stop == layout.STOP_MORE_SCRATCH:
                self._scratch = np.zeros(2 * self._scratch.size, np.uint8)
            else:
                self._table.grow(stop, int(state[table_layout.STATE_NODE]))
            if state[layout.STREAM]:
                starts = int(state[layout.AT])

    def _bad(self, rows: Int64Array, reasons: Int64Array) -> BadValues | None:
        bad = int(self._state[table_layout.STATE_BAD])
        return BadValues(rows[:bad], reasons[:bad]) if bad else None
