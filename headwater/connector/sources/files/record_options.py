"""The options that CSV and JSON share: how values are written, and what becomes of bad records."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from headwater.connector.formats.options import BAD_RECORDS_PATH as _OF_FORMATS
from headwater.connector.formats.options import BAD_RECORDS_STORAGE, datetime_pattern
from headwater.connector.formats.settings import bad_records_location
from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option, boolean, one_of, text
from headwater.readers.files.settings import RESCUE_FORMATS
from headwater.readers.files.text_settings import RECORD_FORMATS, CorruptMode, RecordSettings
from headwater.readers.formats.csv.csv_settings import CsvDialect


def _zone(raw: str) -> str:
    from headwater.readers.formats.values.zones import offsets_of

    zone = text(raw)
    if offsets_of(zone) is None:
        raise ValueError(f"there is no time zone {zone!r}; write Europe/Paris, +01:00 or UTC")
    return zone


def _locale(raw: str) -> str:
    if raw.strip().lower() != "en-us":
        raise ValueError(
            f"must be en-US, not {raw!r}: other languages have names and numbers that depend on the data of "
            "the Java at hand. Read such columns as strings, or with Spark's own reader"
        )
    return "en-US"


def _ratio(raw: str) -> float:
    try:
        found = float(raw)
    except ValueError:
        found = math.nan
    if not found > 0:
        raise ValueError(f"must be a number greater than 0, not {raw!r}")
    return found


_MODE: Final[Option[CorruptMode]] = Option(
    "mode",
    one_of("permissive", "dropmalformed", "failfast"),
    "permissive",
    "What to do with a record of CSV or JSON that cannot be read: null where a value is bad, leave it out, "
    "or fail.",
    shown_default="`PERMISSIVE`",
)
COLUMN_NAME_OF_CORRUPT_RECORD: Final = Option(
    "columnNameOfCorruptRecord",
    text,
    "_corrupt_record",
    "The string column that takes the whole text of such a record, if the schema has it.",
)
RESCUED_DATA_COLUMN: Final = Option(
    "rescuedDataColumn",
    text,
    None,
    "A string column that takes, as JSON, what the schema does not name; of CSV and JSON also what did not "
    "fit its type, which makes no record bad then. An inferred schema gets it; a given one must have it.",
)
BAD_RECORDS_PATH: Final = replace(
    _OF_FORMATS,
    help="CSV, JSON: a folder, on any file system of fsspec, for records that cannot be read: they are not "
    "in the output, whatever `mode` says. See [Records that cannot be read](#records-that-cannot-be-read).",
)
MULTI_LINE: Final = Option(
    "multiLine",
    boolean,
    False,
    "CSV: whether quoted values may hold line ends. JSON: whether a file is one document, which may have "
    "several lines. Such files are not split.",
)
TIME_ZONE: Final = Option(
    "timeZone",
    _zone,
    None,
    "CSV, JSON, names of folders, `modifiedAfter`, `modifiedBefore`: the zone of times that are written "
    "without one (`Europe/Paris`, `+01:00`).",
    shown_default="the session's",
)
_DATE_FORMAT: Final = Option(
    "dateFormat",
    datetime_pattern,
    None,
    "CSV, JSON: how dates are written, as Spark's datetime pattern (`dd/MM/yyyy`). See "
    "[formats.md](formats.md#patterns-of-dates-and-times).",
    shown_default="ISO 8601",
)
_TIMESTAMP_FORMAT: Final = replace(
    _DATE_FORMAT, name="timestampFormat", help="The same for the type `timestamp`."
)
_TIMESTAMP_NTZ_FORMAT: Final = replace(
    _DATE_FORMAT, name="timestampNTZFormat", help="The same for the type `timestamp_ntz`."
)
_LOCALE: Final = Option(
    "locale", _locale, "en-US", "CSV, JSON: the language of dates and numbers. Only `en-US` is there."
)
_SAMPLING_RATIO: Final = Option(
    "samplingRatio",
    _ratio,
    1.0,
    "CSV, JSON: how large a part of the records a schema is inferred from.",
)

RECORD_OPTIONS: Final = (
    _MODE,
    COLUMN_NAME_OF_CORRUPT_RECORD,
    RESCUED_DATA_COLUMN,
    BAD_RECORDS_PATH,
    BAD_RECORDS_STORAGE,
    MULTI_LINE,
    TIME_ZONE,
    _DATE_FORMAT,
    _TIMESTAMP_FORMAT,
    _TIMESTAMP_NTZ_FORMAT,
    _LOCALE,
    _SAMPLING_RATIO,
)
"""In the order in which the docs list them."""


def record_settings(options: ParsedOptions, file_format: str) -> RecordSettings:
    """Return how the values in records of text are written.

    Args:
        options: of a table with `RECORD_OPTIONS`.
        file_format: what the files are.

    Raises:
        OptionError: an option promises what this format does not keep.
    """
    rescued = options[RESCUED_DATA_COLUMN]
    for option, formats in (
        (RESCUED_DATA_COLUMN, RESCUE_FORMATS | {"csv"}),
        (BAD_RECORDS_PATH, RECORD_FORMATS),
    ):
        if options[option] is not None and file_format not in formats:
            raise OptionError(
                f"is for the formats {', '.join(sorted(formats))}, not for {file_format!r}: remove it",
                option=option.name,
            )
    if rescued is not None and rescued.lower() == options[COLUMN_NAME_OF_CORRUPT_RECORD].lower():
        raise OptionError(
            f"{rescued!r} is also option {COLUMN_NAME_OF_CORRUPT_RECORD.name!r}",
            option=RESCUED_DATA_COLUMN.name,
        )
    return RecordSettings(
        mode=options[_MODE],
        corrupt_column=options[COLUMN_NAME_OF_CORRUPT_RECORD],
        rescued_column=rescued,
        bad_records=bad_records_location(options),
        time_zone=options[TIME_ZONE],
        timestamp_format=options[_TIMESTAMP_FORMAT],
        timestamp_ntz_format=options[_TIMESTAMP_NTZ_FORMAT],
        date_format=options[_DATE_FORMAT],
        time_fallback=options[CsvDialect.OPTIONS["time_fallback"]],
        sampling_ratio=options[_SAMPLING_RATIO],
    )
