"""What formats of text have in common: how values are written, and what becomes of bad records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import pyarrow as pa

from headwater.readers.formats.bad_records import BadRecordsLocation
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format_options import FormatOptions
from headwater.readers.formats.json import documents_layout as layout

CorruptMode: TypeAlias = Literal["permissive", "dropmalformed", "failfast"]
"""What to do with a record that cannot be read, in Spark's words."""

RECORD_FORMATS: Final = frozenset({"csv", "json"})
"""The formats whose records are text that may not fit the schema."""


@dataclass(frozen=True, kw_only=True)
class RecordSettings:
    """How the values in records of text are written, and what becomes of records that cannot be read.

    Attributes:
        mode: what to do with a record that cannot be read, unless ``bad_records`` takes it.
        corrupt_column: the column of strings that takes the text of such a record, where the schema has it.
        rescued_column: the column of strings that takes, as JSON, what no other column could; None for none.
        bad_records: where records go that cannot be read; None if they stay or not as ``mode`` says.
        time_zone: the zone of times without one; None until a task has asked Spark for it.
        timestamp_format: how times are written, as Spark's datetime pattern; None for ISO 8601.
        timestamp_ntz_format: how times without a zone are written.
        date_format: how dates are written.
        time_fallback: whether dates and times in JSON that do not follow their pattern are read as Spark
            casts text; None: where there is no pattern.
        sampling_ratio: how large a part of the records a schema is inferred from.
    """

    mode: CorruptMode = "permissive"
    corrupt_column: str = "_corrupt_record"
    rescued_column: str | None = None
    bad_records: BadRecordsLocation | None = None
    time_zone: str | None = None
    timestamp_format: str | None = None
    timestamp_ntz_format: str | None = None
    date_format: str | None = None
    time_fallback: bool | None = None
    sampling_ratio: float = 1.0

    def format_options(self, schema: pa.Schema) -> FormatOptions:
        """Return what decoders take.

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


@dataclass(frozen=True, kw_only=True)
class JsonSettings:
    r"""What is taken for JSON, by the names and defaults of Spark's options.

    Attributes:
        multi_line: whether a file is one document, which may have several lines; such files are not split.
        comments: whether ``/* */`` and ``//`` are passed over.
        unquoted_names: whether names may stand without quotation marks.
        single_quotes: whether ``'`` may stand around names and strings.
        leading_zeros: whether numbers may begin with needless zeros.
        non_numeric: whether ``NaN``, ``Infinity``, ``-INF`` and the like are numbers.
        any_escape: whether any character may stand behind a backslash.
        control_characters: whether strings may hold control characters as they are.
        primitives_as_string: whether numbers and booleans are inferred as strings.
        prefers_decimal: whether numbers with a fraction are inferred as decimals, if they fit.
        drop_all_null: whether an inferred schema leaves out fields that are never more than null.
        infer_timestamp: whether strings that are times are inferred as such.
    """

    multi_line: bool = False
    comments: bool = False
    unquoted_names: bool = False
    single_quotes: bool = True
    leading_zeros: bool = False
    non_numeric: bool = True
    any_escape: bool = False
    control_characters: bool = False
    primitives_as_string: bool = False
    prefers_decimal: bool = False
    drop_all_null: bool = False
    infer_timestamp: bool = False

    @property
    def rules(self) -> int:
        """What is taken for JSON, as the kernel has it."""
        said = {
            layout.ALLOW_COMMENTS: self.comments,
            layout.ALLOW_UNQUOTED_NAMES: self.unquoted_names,
            layout.ALLOW_SINGLE_QUOTES: self.single_quotes,
            layout.ALLOW_LEADING_ZEROS: self.leading_zeros,
            layout.ALLOW_NON_NUMERIC: self.non_numeric,
            layout.ALLOW_ANY_ESCAPE: self.any_escape,
            layout.ALLOW_CONTROL_CHARACTERS: self.control_characters,
        }
        return sum(rule for rule, holds in said.items() if holds)
