"""Settings of the session by which a task reads files: only tasks know them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from headwater.connector.formats.session_settings import known_session_zone, session_setting, session_zone
from headwater.connector.sources.files.schema_options import settings_for_tasks
from headwater.core.errors import OptionError
from headwater.readers.files.settings import ReadSettings, is_metadata
from headwater.readers.files.text_settings import RecordSettings

_MOST_CONTENT: Final = "spark.sql.sources.binaryFile.maxLength"
_CORRUPT_COLUMN: Final = "spark.sql.columnNameOfCorruptRecord"
_CASE_SENSITIVE: Final = "spark.sql.caseSensitive"
_IGNORE_MISSING: Final = "spark.sql.files.ignoreMissingFiles"
_IGNORE_CORRUPT: Final = "spark.sql.files.ignoreCorruptFiles"


def settings_in_task(read: ReadSettings) -> ReadSettings:
    """Return how a task reads, with the settings of its session. In a task.

    Raises:
        OptionError: a time zone is needed and not known, or the session has a setting that cannot be
            kept.
    """
    _check_session(read)
    settings = settings_for_tasks(read)
    records = replace(
        settings.records,
        time_zone=settings.records.time_zone or _zone(settings),
        corrupt_column=_corrupt_column(settings),
    )
    settings = replace(
        settings,
        ignore_missing=_flag(settings.ignore_missing, _IGNORE_MISSING),
        ignore_corrupt=_flag(settings.ignore_corrupt, _IGNORE_CORRUPT),
        is_case_sensitive=_flag(None, _CASE_SENSITIVE),
    )
    if not settings.abilities.has_content:
        return replace(settings, records=records)
    most = int(session_setting(_MOST_CONTENT) or settings.most_content_bytes)
    return replace(settings, records=records, most_content_bytes=most)


def _flag(option: bool | None, setting: str) -> bool:
    """Return the value of the option, else that of the session."""
    return (session_setting(setting) or "").lower() == "true" if option is None else option


def _zone(read: ReadSettings) -> str | None:
    """Return the session's time zone; None if it is not known and only names of folders may need it."""
    if read.needs_zone:
        return session_zone(RecordSettings.OPTIONS["time_zone"].name)
    if read.has_local_bounds:
        return session_zone("modifiedAfter" if read.modified_after else "modifiedBefore")
    return known_session_zone()


def _corrupt_column(read: ReadSettings) -> str:
    """Return the column for corrupt records: the session's, if the option is not given and it is there."""
    column = read.records.corrupt_column
    name = session_setting(_CORRUPT_COLUMN)
    is_default = column == RecordSettings.OPTIONS["corrupt_column"].default
    return name if name and is_default and read.schema and name in read.schema.names else column


def _has(read: ReadSettings, is_such: Callable[[Any], bool]) -> bool:
    """Whether a type of the schema is such, at any depth."""

    def look(kind: Any) -> bool:
        return is_such(kind) or any(look(kind.field(at).type) for at in range(kind.num_fields))

    return any(look(field.type) for field in read.schema or () if not is_metadata(field))


def _has_numbered_names(read: ReadSettings) -> bool:
    """Whether the names in an inferred schema have numbers that tell those apart which differ in case."""
    if not (read.csv.header and read.csv.is_inferred and read.schema):
        return False
    names = [
        name.removesuffix(str(at)) for at, name in enumerate(read.schema.names) if name.endswith(str(at))
    ]
    return len({name.lower() for name in names}) < len(set(names))


@dataclass(frozen=True)
class _Refused:
    """A value of a setting.

    Attributes:
        setting: its name; ``{format}`` stands for the format that is read.
        value: in lower case.
        matters: whether it matters to a read.
        way_out: how headwater reads instead, and the way out.
    """

    setting: str
    value: str
    matters: Callable[[ReadSettings], bool]
    way_out: str


_REFUSED: Final = (
    _Refused(
        _CASE_SENSITIVE,
        "true",
        lambda read: read.abilities.tells_columns or _has_numbered_names(read),
        "names of columns go by any case here",
    ),
    _Refused(
        "spark.sql.legacy.timeParserPolicy",
        "legacy",
        lambda read: read.abilities.has_records and _has(read, pa.types.is_temporal),
        "dates and times are read as by CORRECTED here. Read such columns as strings",
    ),
    _Refused(
        "spark.sql.timestampType",
        "timestamp_ntz",
        lambda read: (
            read.abilities.has_records and read.csv.is_inferred and _has(read, pa.types.is_timestamp)
        ),
        "it is not known where a schema is inferred: give .schema(...)",
    ),
    _Refused(
        "spark.sql.{format}.binaryAsString",
        "true",
        lambda read: read.csv.is_inferred and _has(read, pa.types.is_binary),
        "it is not known where a schema is inferred: give .schema(...)",
    ),
    _Refused(
        "spark.sql.{format}.mergeSchema",
        "true",
        lambda read: read.csv.is_inferred and not read.merge_schema,
        "it is not known where a schema is inferred: set option mergeSchema",
    ),
)
"""Others make another schema or other rows, without an error."""


def _check_session(read: ReadSettings) -> None:
    """Refuse a session in which Spark's own reader would read otherwise. In a task, which knows it.

    Raises:
        OptionError: it has such a setting.
    """
    for each in _REFUSED:
        setting = each.setting.format(format=read.format)
        value = session_setting(setting)
        if value is not None and value.lower() == each.value and each.matters(read):
            raise OptionError(
                f"the session has {setting}={value}, and {each.way_out}; or unset it, or use Spark's "
                "own reader",
                option="format",
            )
