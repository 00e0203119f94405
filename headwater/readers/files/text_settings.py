"""Settings of formats of text: how values are written, and the mode for bad records."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Literal, TypeAlias

import pyarrow as pa

from headwater.core.options import Spec, one_of, option, text
from headwater.readers.formats.bad_records import BadRecordsLocation
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.json import layout
from headwater.readers.formats.values.time_pattern import datetime_pattern

CorruptMode: TypeAlias = Literal["permissive", "dropmalformed", "failfast"]
"""The modes for a record that cannot be read, in Spark's words."""


def _zone(raw: str) -> str:
    from headwater.readers.formats.values.zones import offsets_of

    zone = text(raw)
    if offsets_of(zone) is None:
        raise ValueError(f"there is no time zone {zone!r}; write Europe/Paris, +01:00 or UTC")
    return zone


def _ratio(raw: str) -> float:
    try:
        ratio = float(raw)
    except ValueError:
        ratio = math.nan
    if not ratio > 0:
        raise ValueError(f"must be a number greater than 0, not {raw!r}")
    return ratio


class RecordSettings(Spec):
    """How the values in records of text are written, and the mode for records that cannot be read.

    Attributes:
        bad_records: where records go that cannot be read; None if ``mode`` decides.
        time_zone: None until a task has asked Spark for it.
        time_fallback: that of the CSV dialect, which JSON shares.
    """

    mode: CorruptMode = option(
        "mode",
        "What to do with a record of CSV or JSON that cannot be read: null where a value is bad, leave it "
        "out, or fail.",
        default="permissive",
        parse=one_of("permissive", "dropmalformed", "failfast"),
        shown_default="`PERMISSIVE`",
    )
    corrupt_column: str = option(
        "columnNameOfCorruptRecord",
        "The string column that takes the whole text of such a record, if the schema has it.",
        default="_corrupt_record",
    )
    rescued_column: str | None = option(
        "rescuedDataColumn",
        "A string column that takes, as JSON, what the schema does not name; of CSV and JSON also what did "
        "not fit its type, which makes no record bad then. An inferred schema gets it; a given one must have "
        "it.",
        default=None,
    )
    bad_records: BadRecordsLocation | None = None
    time_zone: str | None = option(
        "timeZone",
        "CSV, JSON, names of folders, `modifiedAfter`, `modifiedBefore`: the zone of times that are written "
        "without one (`Europe/Paris`, `+01:00`).",
        default=None,
        parse=_zone,
        shown_default="the session's",
    )
    date_format: str | None = option(
        "dateFormat",
        "CSV, JSON: how dates are written, as Spark's datetime pattern (`dd/MM/yyyy`). See "
        "[formats.md](formats.md#patterns-of-dates-and-times).",
        default=None,
        parse=datetime_pattern,
        shown_default="ISO 8601",
    )
    timestamp_format: str | None = option(
        "timestampFormat",
        "The same for the type `timestamp`.",
        default=None,
        parse=datetime_pattern,
        shown_default="ISO 8601",
    )
    timestamp_ntz_format: str | None = option(
        "timestampNTZFormat",
        "The same for the type `timestamp_ntz`.",
        default=None,
        parse=datetime_pattern,
        shown_default="ISO 8601",
    )
    time_fallback: bool | None = None
    sampling_ratio: float = option(
        "samplingRatio",
        "CSV, JSON: how large a part of the records a schema is inferred from.",
        default=1.0,
        parse=_ratio,
        kind="number",
    )

    def __post_init__(self) -> None:
        rescued = self.rescued_column
        if rescued is not None and rescued.lower() == self.corrupt_column.lower():
            corrupt = self.OPTIONS["corrupt_column"].name
            raise self.refusal("rescued_column", f"{rescued!r} is also option {corrupt!r}")

    def format_options(self, schema: pa.Schema) -> FormatOptions:
        """Return the options of decoders.

        Args:
            schema: of the rows. A column for corrupt or rescued values that it lacks is left out.
        """
        return FormatOptions(
            corrupt_column=_present(self.corrupt_column, schema),
            rescued_column=_present(self.rescued_column, schema),
            time_zone=self.time_zone,
            timestamp_format=self.timestamp_format,
            timestamp_ntz_format=self.timestamp_ntz_format,
            date_format=self.date_format,
            time_fallback=self.time_fallback,
        )


def _present(name: str | None, schema: pa.Schema) -> str | None:
    return name if name in schema.names else None


class CsvSettings(Spec):
    """How files of CSV are written.

    Attributes:
        dialect: how records are written.
        by_name: whether the schema is a part of an inferred one: its columns go by their names then.
        is_inferred: whether the schema is inferred: then it has a column of the file also where a folder of
            the same name hides it.
    """

    dialect: CsvDialect = field(default_factory=CsvDialect)
    header: bool = option(
        "header",
        "CSV: whether the first line of each file is no record, but names the columns.",
        default=False,
    )
    enforce_schema: bool = option(
        "enforceSchema",
        "CSV: whether the names in headers do not matter: columns go by their position. `false` fails where "
        "they are not those of the schema.",
        default=True,
    )
    by_name: bool = False
    is_inferred: bool = False
    infer_types: bool = option(
        "inferSchema",
        "CSV: whether inferred columns have types; otherwise they are strings.",
        default=False,
    )
    prefer_date: bool = option(
        "preferDate",
        "CSV: whether columns of dates are inferred as such, and not as times.",
        default=True,
    )


class JsonSettings(Spec):
    """The leniencies of JSON.

    Attributes:
        multi_line: whether a file is one document, which may have several lines; such files are not split.
    """

    multi_line: bool = False
    comments: bool = option("allowComments", "JSON: whether `/* */` and `//` are passed over.", default=False)
    unquoted_names: bool = option(
        "allowUnquotedFieldNames", "JSON: whether names may stand without quotation marks.", default=False
    )
    single_quotes: bool = option(
        "allowSingleQuotes", "JSON: whether `'` may stand in the place of `\"`.", default=True
    )
    leading_zeros: bool = option(
        "allowNumericLeadingZeros", "JSON: whether numbers may begin with zeros, as `007`.", default=False
    )
    non_numeric: bool = option(
        "allowNonNumericNumbers",
        "JSON: whether `NaN`, `Infinity`, `-INF` and the like are numbers.",
        default=True,
    )
    any_escape: bool = option(
        "allowBackslashEscapingAnyCharacter",
        "JSON: whether any character may stand behind a backslash.",
        default=False,
    )
    control_characters: bool = option(
        "allowUnquotedControlChars", "JSON: whether strings may hold control characters.", default=False
    )
    primitives_as_string: bool = option(
        "primitivesAsString", "JSON: whether numbers and booleans are inferred as strings.", default=False
    )
    prefers_decimal: bool = option(
        "prefersDecimal", "JSON: whether numbers are inferred as decimals where they fit.", default=False
    )
    drop_all_null: bool = option(
        "dropFieldIfAllNull",
        "JSON: whether inferred schemas leave out what is only ever null.",
        default=False,
    )
    infer_timestamp: bool = option(
        "inferTimestamp", "JSON: whether strings that are times are inferred as `timestamp`.", default=False
    )

    @property
    def rules(self) -> int:
        """The leniencies of JSON, as the kernel has them."""
        rules = {
            layout.ALLOW_COMMENTS: self.comments,
            layout.ALLOW_UNQUOTED_NAMES: self.unquoted_names,
            layout.ALLOW_SINGLE_QUOTES: self.single_quotes,
            layout.ALLOW_LEADING_ZEROS: self.leading_zeros,
            layout.ALLOW_NON_NUMERIC: self.non_numeric,
            layout.ALLOW_ANY_ESCAPE: self.any_escape,
            layout.ALLOW_CONTROL_CHARACTERS: self.control_characters,
        }
        return sum(rule for rule, holds in rules.items() if holds)
