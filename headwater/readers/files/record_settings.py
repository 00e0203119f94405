"""What formats of text have in common: how values are written, and what becomes of bad records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import pyarrow as pa

from headwater.readers.formats.bad_records_location import BadRecordsLocation
from headwater.readers.formats.format_options import FormatOptions

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
