"""The names of a CSV file's columns: what the header says, made safe or checked as in Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.readers.files.csv_settings import CsvSettings


def safe_names(values: Sequence[str], settings: CsvSettings) -> list[str]:
    """Return the names of columns for the values of the first record of a file.

    A name that comes twice, whatever its case, gets the number of its column behind it.
    """
    if not settings.header:
        return [f"_c{at}" for at in range(len(values))]
    null = settings.dialect.null_value
    # What stands for null counts, too, as in Spark: an empty name is read as that text.
    counts = Counter(value.lower() for value in values)
    names: list[str] = []
    for at, value in enumerate(values):
        if not value or value == null:
            names.append(f"_c{at}")
        elif counts[value.lower()] > 1:
            names.append(f"{value}{at}")
        else:
            names.append(value)
    return names


def check_names(values: Sequence[str], columns: pa.Schema, url: str) -> None:
    """Compare a header with the columns of the schema.

    Raises:
        CorruptRecordError: it has other names.
    """
    same = [value.lower() for value in values] == [name.lower() for name in columns.names]
    if not same:
        raise CorruptRecordError(
            f"the header names other columns than the schema (enforceSchema=false): {', '.join(values)}; the "
            f"schema has {', '.join(columns.names)}",
            source="files",
            split=url,
        )


def placed(names: Sequence[str], columns: pa.Schema, *, whole: bool) -> pa.Schema:
    """Return the columns of a file up to the last one that is wanted, or all; the others as strings."""
    wanted = dict(zip(columns.names, columns, strict=True))
    fields = [wanted.get(name, pa.field(name, pa.string())) for name in names]
    if whole:
        return pa.schema(fields)
    last = max((at for at, name in enumerate(names) if name in wanted), default=-1)
    return pa.schema(fields[: last + 1])
