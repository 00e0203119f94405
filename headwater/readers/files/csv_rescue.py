"""Values of CSV records that fit no column of the schema, as JSON."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute

from headwater.readers.formats.csv.csv_decoder import CsvDecoder
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format import FormatOptions, Spans
from headwater.readers.kernels.arrays import Int64Array
from headwater.readers.rescued import json_objects

compute: Any = pyarrow.compute
_MOST_COLUMNS: Final = 4_096
"""Values of a record behind this column are not rescued."""


class CsvRescue:
    """Rescues values of one block after the other. One owner, one thread.

    Args:
        dialect: how records are written.
        line_separator: between records.
    """

    def __init__(self, dialect: CsvDialect, line_separator: str) -> None:
        self._dialect = dialect
        self._line_separator = line_separator
        # Of records with so many values: all as text.
        self._decoder: tuple[int, CsvDecoder] | None = None

    def column(self, batch: pa.RecordBatch, rows: Int64Array, spans: Spans) -> pa.Array[Any]:
        """Return a column of strings: in some rows a JSON object of the values that no other column has.

        Values that do not fit their column have its name, those behind the last one are called ``_c7`` and
        so on.

        Args:
            batch: the columns of the records, in their order.
            rows: with values that may have to be rescued.
            spans: their records.
        """
        first = batch.num_columns
        width = first + _most_others(spans, self._dialect.separator.encode()[0], first)
        decoder = self._decoder_of(width)
        decoder.append(spans)
        bad = batch.take(_integers(np.ascontiguousarray(rows, np.int64)))
        names = [*batch.schema.names, *(f"_c{at}" for at in range(first, width))]
        values: dict[str, pa.Array[Any]] = {}
        for name, text, column in zip_longest(names, decoder.finish(), bad.columns):
            unfit = text if column is None else compute.if_else(column.is_null(), text, None)
            if unfit.null_count < len(unfit):
                values[name] = unfit
        objects = json_objects(values, len(rows))
        places = np.full(batch.num_rows, len(rows), np.int64)
        places[rows] = np.arange(len(rows))
        nothing = pa.nulls(1, pa.string())
        scattered: pa.Array[Any] = pa.concat_arrays([objects, nothing]).take(_integers(places))
        return scattered

    def _decoder_of(self, width: int) -> CsvDecoder:
        if self._decoder is None or self._decoder[0] != width:
            texts = pa.schema([pa.field(str(at), pa.string()) for at in range(width)])
            options = FormatOptions()
            self._decoder = (
                width,
                CsvDecoder(texts, options, self._dialect, self._line_separator, any_width=True),
            )
        return self._decoder[1]


def _most_others(spans: Spans, separator: int, columns: int) -> int:
    """Return how many values behind the last column a record has at most."""
    places = np.flatnonzero(spans.data == separator)
    ends = np.searchsorted(places, spans.starts + spans.sizes)
    separators = ends - np.searchsorted(places, spans.starts)
    return max(0, min(int(separators.max(initial=0)) + 1, _MOST_COLUMNS) - columns)


def _integers(numbers: Int64Array) -> Any:
    """Return integers as a column. Made of buffers: pa.array would import pandas to look at them."""
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers.data)], 0)
