"""What a task asks Spark for before it reads: settings of the session, which only tasks are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.connector.formats.session_settings import known_session_zone, session_setting, session_zone
from headwater.connector.sources.files.drift_options import settings_for_tasks
from headwater.connector.sources.files.record_options import COLUMN_NAME_OF_CORRUPT_RECORD, TIME_ZONE
from headwater.connector.sources.files.session_checks import check_session
from headwater.readers.files.settings import ReadSettings

_MOST_CONTENT: Final = "spark.sql.sources.binaryFile.maxLength"
_CORRUPT_COLUMN: Final = "spark.sql.columnNameOfCorruptRecord"
_IGNORE_MISSING: Final = "spark.sql.files.ignoreMissingFiles"
_IGNORE_CORRUPT: Final = "spark.sql.files.ignoreCorruptFiles"


def settings_in_task(read: ReadSettings) -> ReadSettings:
    """Return how a task reads, with what only its session says. In a task.

    Raises:
        OptionError: a time zone is needed that nobody has set, or the session has a setting that cannot be
            kept.
    """
    check_session(read)
    found = settings_for_tasks(read)
    records = replace(
        found.records,
        time_zone=found.records.time_zone or _zone(found),
        corrupt_column=_corrupt_column(found),
    )
    found = replace(
        found,
        ignore_missing=_flag(found.ignore_missing, _IGNORE_MISSING),
        ignore_corrupt=_flag(found.ignore_corrupt, _IGNORE_CORRUPT),
    )
    if found.format != "binaryFile":
        return replace(found, records=records)
    most = int(session_setting(_MOST_CONTENT) or found.most_content_bytes)
    return replace(found, records=records, most_content_bytes=most)


def _flag(given: bool | None, setting: str) -> bool:
    """Return what the option says, else the session."""
    return (session_setting(setting) or "").lower() == "true" if given is None else given


def _zone(read: ReadSettings) -> str | None:
    """Return the session's time zone; None if nobody has set it and only names of folders may need it."""
    if read.needs_zone:
        return session_zone(TIME_ZONE.name)
    if read.has_local_bounds:
        return session_zone("modifiedAfter" if read.modified_after else "modifiedBefore")
    return known_session_zone()


def _corrupt_column(read: ReadSettings) -> str:
    """Return the column for corrupt records: the session's, if the option is not given and it is there."""
    given = read.records.corrupt_column
    name = session_setting(_CORRUPT_COLUMN)
    is_default = given == COLUMN_NAME_OF_CORRUPT_RECORD.default
    return name if name and is_default and read.schema and name in read.schema.names else given
