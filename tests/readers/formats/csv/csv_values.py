"""Decodes CSV records in tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.readers.formats.columns.kernel_runs import BEHIND
from headwater.readers.formats.csv.csv_decoder import CsvDecoder
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format import FormatOptions
from tests.readers.formats.json.json_values import Decoded, plain, spans

TEXT: Mapping[str, Any] = {name: pa.string() for name in "abc"}


def texts(records: Sequence[str | bytes], **dialect: Any) -> list[tuple[str | None, ...]]:
    """Return the first three values of records as text."""
    found = decode(TEXT, records, any_width=True, **dialect).rows
    return [tuple(row.get(name) for name in TEXT) for row in found]


def decode(
    schema: Mapping[str, Any],
    records: Sequence[str | bytes | None],
    *,
    corrupt: str | None = None,
    any_width: bool = False,
    options: FormatOptions | None = None,
    **dialect: Any,
) -> Decoded:
    """Decode records, and validate every array that comes out."""
    fields = pa.schema([*schema.items(), *([(corrupt, pa.string())] if corrupt else [])])
    used = options or FormatOptions(corrupt_column=corrupt, time_zone="UTC")
    decoder = CsvDecoder(fields, used, CsvDialect(**dialect), any_width=any_width)
    found = decoder.append(
        spans([record.encode() if isinstance(record, str) else record for record in records])
    )
    rows = _rows(decoder, fields, len(records))
    bad = {} if found is None else dict(zip(found.rows.tolist(), found.reasons.tolist(), strict=True))
    return Decoded(rows, {row: decoder.reason(code) for row, code in bad.items()})


def stream(
    content: bytes, pieces: Sequence[int] = (), *, line_separator: str = "\n", **dialect: Any
) -> list[tuple[str | None, ...]]:
    """Return the records of a stream that comes in pieces, which end at these places."""
    fields = pa.schema(list(TEXT.items()))
    used = CsvDialect(multi_line=True, line_separator=line_separator, **dialect)
    decoder = CsvDecoder(fields, FormatOptions(), used, line_separator, any_width=True)
    rows: list[dict[str, Any]] = []
    rest = b""
    start = 0
    for stop in [*sorted(pieces), len(content)]:
        rest += content[start:stop]
        start = stop
        last = stop == len(content)
        ended = False
        while not ended:
            data = np.frombuffer(rest + bytes(BEHIND), np.uint8)
            part = decoder.append_stream(data, 0, len(rest), last=last, most=3)
            rows += _rows(decoder, fields, part.rows)
            rest = rest[part.size :]
            ended = part.ended
    return [tuple(row.get(name) for name in TEXT) for row in rows]


def _rows(decoder: CsvDecoder, fields: pa.Schema, count: int) -> list[dict[str, Any]]:
    columns = decoder.finish()
    for column, field in zip(columns, fields, strict=True):
        column.validate(full=True)
        assert column.type == field.type
        assert len(column) == count
    named = {name: plain(column) for name, column in zip(fields.names, columns, strict=True)}
    return [
        {name: column[row] for name, column in named.items() if column[row] is not None}
        for row in range(count)
    ]
