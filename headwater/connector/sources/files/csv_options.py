"""The options of files of CSV, with Spark's names, defaults and meanings."""

from __future__ import annotations

from typing import Final

from headwater.connector.options import ParsedOptions
from headwater.core.options import Option, boolean
from headwater.readers.files.text_settings import CsvSettings
from headwater.readers.formats.csv.csv_settings import CsvDialect

_HEADER: Final = Option(
    "header", boolean, False, "CSV: whether the first line of each file is no record, but names the columns."
)
_ENFORCE_SCHEMA: Final = Option(
    "enforceSchema",
    boolean,
    True,
    "CSV: whether the names in headers do not matter: columns go by their position. `false` fails where they "
    "are not those of the schema.",
)
_INFER_SCHEMA: Final = Option(
    "inferSchema", boolean, False, "CSV: whether inferred columns have types; otherwise they are strings."
)
_PREFER_DATE: Final = Option(
    "preferDate", boolean, True, "CSV: whether columns of dates are inferred as such, and not as times."
)
CSV_OPTIONS: Final = (_HEADER, _ENFORCE_SCHEMA, *CsvDialect.options(), _INFER_SCHEMA, _PREFER_DATE)
"""In the order in which the docs list them."""


def csv_settings(options: ParsedOptions, line_separator: str | None, *, multi_line: bool) -> CsvSettings:
    """Return how files of CSV are read.

    Args:
        options: of a table with `CSV_OPTIONS`.
        line_separator: between records, if the user has said so.
        multi_line: whether quoted values may hold line ends.

    Raises:
        OptionError: options that do not go together.
    """
    dialect = options.of(CsvDialect, line_separator=line_separator, multi_line=multi_line)
    dialect.check()
    return CsvSettings(
        dialect=dialect,
        header=options[_HEADER],
        enforce_schema=options[_ENFORCE_SCHEMA],
        infer_types=options[_INFER_SCHEMA],
        prefer_date=options[_PREFER_DATE],
    )
