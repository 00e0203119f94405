"""Decodes CSV records with the compiled kernel: values one by one, or records out of a stream of bytes."""

from __future__ import annotations

import ctypes
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.readers.formats import misfits
from headwater.readers.formats.csv import layout
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.csv.kernel_options import KernelOptions
from headwater.readers.formats.format import BadValues, FormatOptions, Spans
from headwater.readers.formats.text_decoder import TextDecoder
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.formats.csv.kernel.decode", "decode", arguments=8, needed_for="the format csv"
)

STREAM_ROWS: Final = 8_192
"""The most rows that one call decodes out of a stream."""
_LEAST_SCRATCH: Final = 1 << 16

_REASONS: Final = {
    layout.REASON_COLUMNS: "has more or fewer values than there are columns",
    layout.REASON_NOTHING: "has no values: it is empty or a comment",
    layout.REASON_MOST_COLUMNS: "has more values than option 'maxColumns' allows",
    layout.REASON_MOST_CHARACTERS: "has a longer value than option 'maxCharsPerColumn' allows",
    layout.REASON_UNESCAPED: "has a quote that is not escaped, which option 'unescapedQuoteHandling' forbids",
}


class StreamPart(NamedTuple):
    """The result of `CsvDecoder.append_stream`.

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


class CsvDecoder(TextDecoder):
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
        super().__init__(KERNEL, schema, options, (options.corrupt_column,))
        self._options = KernelOptions(dialect, options, line_separator)
        self._dialect = dialect
        self._tokens = np.zeros(2 * (dialect.max_columns + 1), np.int64)
        self._scratch: ByteArray = np.zeros(_LEAST_SCRATCH, np.uint8)
        self._reader = np.zeros(layout.READER_FIELDS, np.int64)
        self._state[layout.COLUMNS] = len(self._fields)
        self._state[layout.CORRUPT] = self._nodes.get(options.corrupt_column or "", 0)
        self._state[layout.ANY_WIDTH] = any_width
        self._state[layout.OPTIONS] = self._options.address
        self._state[layout.TOKENS] = address(self._tokens)
        self._state[layout.READER] = address(self._reader)
        self._answers[layout.STOP_MORE_SCRATCH] = self._enlarge_scratch
        self._point_to_scratch()

    def append(self, spans: Spans) -> BadValues | None:
        """Decode records; see `ValueDecoder.append`."""
        self._state[layout.STREAM] = 0
        return super().append(spans)

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
        # A record of all columns has a separator for each: others make room where they need it.
        rows_at_most = (stop - start) // max(len(self._fields), 1) + 1
        self._table.make_room(min(most, rows_at_most), stop - start)
        self._state[layout.PLACES] = address(places)
        self._state[layout.STREAM] = 1
        self._state[layout.LAST] = int(last)
        begin = address(data)
        self._state[layout.AT] = begin + start
        count = self._run(lambda: int(self._state[layout.AT]), begin + stop, most, rows, reasons)
        ended = count < most
        # What is left at the very end are comments and empty lines.
        size = stop - start if ended and last else int(self._state[layout.AT]) - begin - start
        starts = places[:count, 0] - begin
        spans = Spans(data, starts, places[:count, 1] - places[:count, 0])
        return StreamPart(size, count, ended, self._bad(rows, reasons), spans)

    def last_values(self) -> list[str]:
        """Return the values of the record that was decoded last, as text. Its bytes must be there still."""
        short = {layout.NULL_TOKEN: self._dialect.null_value, layout.EMPTY_TOKEN: self._dialect.empty_value}
        tokens = self._tokens.reshape(-1, 2)[: int(self._state[layout.TOKEN_COUNT])].tolist()
        return [
            short[at] if at in short else ctypes.string_at(at, size).decode("utf-8", "replace")
            for at, size in tokens
        ]

    def reason(self, code: int, row: int | None = None) -> str:
        """Return why a record is bad."""
        if misfits.reason_of(code) != layout.REASON_MISMATCH:
            return self.reason_of(code)
        value = None if row is None or self._last is None else self._last.value(row)
        size, place = divmod(misfits.place_of(code), 1 << layout.PLACE_BITS)
        text = None
        if value is not None and place:
            text = value[place - 1 : place - 1 + size].decode("utf-8", "replace")
        return misfits.told(self._field(misfits.node_of(code)), text)

    @staticmethod
    def reason_of(code: int) -> str:
        """Return why a record is bad."""
        return _REASONS[code]

    def finish_batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """Return the rows since the last call as a batch of the schema that the decoder was made of."""
        rows = self._table.rows
        columns = self.finish()
        whole: Any = pa.StructArray.from_buffers(
            pa.struct(list(schema)), rows, [None], children=list(columns)
        )
        return pa.RecordBatch.from_struct_array(whole)

    def _enlarge_scratch(self, _done: int) -> None:
        self._scratch = np.zeros(2 * self._scratch.size, np.uint8)
        self._point_to_scratch()

    def _point_to_scratch(self) -> None:
        self._state[layout.SCRATCH] = address(self._scratch)
        self._state[layout.SCRATCH_SIZE] = self._scratch.size


def is_fatal(reasons: Int64Array) -> npt.NDArray[np.bool_]:
    """Return of which records nothing at all can be made."""
    return (reasons & ((1 << layout.REASON_BITS) - 1)) >= layout.REASON_FATAL
