"""How files of CSV are read."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.readers.formats.csv.csv_settings import CsvDialect


@dataclass(frozen=True, kw_only=True)
class CsvSettings:
    """How CSV is written.

    Attributes:
        dialect: how records are written.
        header: whether the first record of each file is not one, but names the columns.
        enforce_schema: whether these names do not matter; else they must be those of the schema.
        by_name: whether the schema is a part of an inferred one: its columns go by their names then.
        is_inferred: whether the schema is inferred: then it has a column of the file also where a folder of
            the same name hides it.
        infer_types: whether an inferred schema has types; otherwise all columns are strings.
        prefer_date: whether dates are inferred as such.
    """

    dialect: CsvDialect = field(default_factory=CsvDialect)
    header: bool = False
    enforce_schema: bool = True
    by_name: bool = False
    is_inferred: bool = False
    infer_types: bool = False
    prefer_date: bool = True
