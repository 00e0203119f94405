"""Decodes JSON texts in tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headwater.readers.formats.format import FormatOptions, Spans
from headwater.readers.formats.json.json_format import JsonValueFormat

CORRUPT = "corrupt"


class Decoded(NamedTuple):
    """Rows as dictionaries without nulls, and the reasons of bad ones by row. Times are integers."""

    rows: list[dict[str, Any]]
    bad: dict[int, str]


def spans(values: Sequence[bytes | None]) -> Spans:
    """Return values that lie one after the other."""
    sizes = np.array([-1 if value is None else len(value) for value in values], np.int64)
    starts = np.cumsum(sizes.clip(0)) - sizes.clip(0)
    return Spans(np.frombuffer(b"".join(value or b"" for value in values), np.uint8), starts, sizes)


def decode(
    schema: Mapping[str, Any],
    values: Sequence[str | bytes | None],
    *,
    corrupt: str | None = None,
    time_zone: str | None = "UTC",
) -> Decoded:
    """Decode values, and validate every array that comes out."""
    fields = pa.schema(list(schema.items()))
    made = JsonValueFormat(
        fields.serialize().to_pybytes(), FormatOptions(corrupt_column=corrupt, time_zone=time_zone)
    )
    decoder = made.decoder()
    found = decoder.append(spans([value.encode() if isinstance(value, str) else value for value in values]))
    columns = decoder.finish()
    for column, field in zip(columns, made.schema(), strict=True):
        column.validate(full=True)
        assert column.type == field.type
    named = {name: plain(column) for name, column in zip(made.schema().names, columns, strict=True)}
    rows = [
        {name: column[row] for name, column in named.items() if column[row] is not None}
        for row in range(len(values))
    ]
    bad = {} if found is None else dict(zip(found.rows.tolist(), found.reasons.tolist(), strict=True))
    return Decoded(rows, {row: decoder.reason(code, row) for row, code in bad.items()})


def plain(column: pa.Array[Any]) -> list[Any]:
    """Return values for Python, dates and times as the integers that they are."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).to_pylist()
    return column.to_pylist()
