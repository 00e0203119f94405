"""Settings of the session by which Spark reads otherwise, and which cannot be kept: refused, in a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa

from headwater.connector.formats.session_settings import session_setting
from headwater.core.errors import OptionError
from headwater.readers.files.settings import OWN_SCHEMA_FORMATS, ReadSettings, is_metadata
from headwater.readers.files.text_settings import RECORD_FORMATS

__all__ = ["check_session"]


def _has(read: ReadSettings, is_such: Callable[[Any], bool]) -> bool:
    """Whether a type of the schema is such, at any depth."""

    def look(kind: Any) -> bool:
        return is_such(kind) or any(look(kind.field(at).type) for at in range(kind.num_fields))

    return any(look(field.type) for field in read.schema or () if not is_metadata(field))


def _is_merged_elsewhere(read: ReadSettings, file_format: str) -> bool:
    return read.format == file_format and read.csv.is_inferred and not read.merge_schema


@dataclass(frozen=True)
class _Refused:
    """A value of a setting.

    Attributes:
        setting: its name.
        value: in lower case.
        matters: whether it matters to a read.
        way_out: what is done here, and what to do.
    """

    setting: str
    value: str
    matters: Callable[[ReadSettings], bool]
    way_out: str


_REFUSED: Final = (
    _Refused(
        "spark.sql.caseSensitive",
        "true",
        lambda read: read.format in OWN_SCHEMA_FORMATS,
        "names of columns go by any case here",
    ),
    _Refused(
        "spark.sql.legacy.timeParserPolicy",
        "legacy",
        lambda read: read.format in RECORD_FORMATS and _has(read, pa.types.is_temporal),
        "dates and times are read as by CORRECTED here. Read such columns as strings",
    ),
    _Refused(
        "spark.sql.timestampType",
        "timestamp_ntz",
        lambda read: (
            read.format in RECORD_FORMATS and read.csv.is_inferred and _has(read, pa.types.is_timestamp)
        ),
        "it is not known where a schema is inferred: give .schema(...)",
    ),
    _Refused(
        "spark.sql.parquet.binaryAsString",
        "true",
        lambda read: read.format == "parquet" and read.csv.is_inferred and _has(read, pa.types.is_binary),
        "it is not known where a schema is inferred: give .schema(...)",
    ),
    *(
        _Refused(
            f"spark.sql.{kind}.mergeSchema",
            "true",
            partial(_is_merged_elsewhere, file_format=kind),
            "it is not known where a schema is inferred: set option mergeSchema",
        )
        for kind in ("parquet", "orc")
    ),
)
"""Others make another schema or other rows, without an error."""


def check_session(read: ReadSettings) -> None:
    """Refuse a session in which Spark's own reader would read otherwise. In a task, which knows it.

    Raises:
        OptionError: it has such a setting.
    """
    for each in _REFUSED:
        value = session_setting(each.setting)
        if value is not None and value.lower() == each.value and each.matters(read):
            raise OptionError(
                f"the session has {each.setting}={value}, and {each.way_out}; or unset it, or use Spark's "
                "own reader",
                option="format",
            )
