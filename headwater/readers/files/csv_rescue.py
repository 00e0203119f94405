"""What no column of the schema could take of CSV records, as JSON."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from headwater.readers.formats.csv.csv_decoder import CsvDecoder
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format import Spans
from headwater.readers.formats.format_options import FormatOptions
from headwater.readers.kernels.arrays import Int64Array

_MOST_COLUMNS = 4_096
"""Values of a record beyond so many are not rescued."""


def rescued_column(
    batch: pa.RecordBatch, rows: Int64Array, spans: Spans, dialect: CsvDialect, line_separator: str
) -> pa.Array[Any]:
    """Return a column of strings: in some rows a JSON object of the values that no other column has.

    Values that do not fit their column have its name, those behind the last one are called ``_c7`` and so on.

    Args:
        batch: the columns of the records, in their order.
        rows: those that may have something to rescue.
        spans: their records.
        dialect: how records are written.
        line_separator: between records.
    """
    separator = dialect.separator.encode()
    records = [spans.value(at) or b"" for at in range(len(rows))]
    width = max((record.count(separator) + 1 for record in records), default=0)
    width = max(batch.num_columns, min(width, _MOST_COLUMNS))
    names = [*batch.schema.names, *(f"_c{at}" for at in range(batch.num_columns, width))]
    texts = pa.schema([pa.field(str(at), pa.string()) for at in range(width)])
    decoder = CsvDecoder(texts, FormatOptions(), dialect, line_separator, any_width=True)
    decoder.append(spans)
    values = [column.to_pylist() for column in decoder.finish()]
    numbers = pa.array(rows.tolist(), pa.int64())
    missing = [column.take(numbers).is_null().to_pylist() for column in batch.columns]
    found: list[str | None] = [None] * batch.num_rows
    for at, row in enumerate(rows.tolist()):
        members = {
            name: values[column][at]
            for column, name in enumerate(names)
            if values[column][at] is not None and (column >= len(missing) or missing[column][at])
        }
        found[row] = json.dumps(members, ensure_ascii=False, separators=(",", ":")) if members else None
    return pa.array(found, pa.string())
