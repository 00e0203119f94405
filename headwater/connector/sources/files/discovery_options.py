"""The options on finding files: which ones, in which batches, and how they are remembered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.connector.planned.options import DURATION_OPTIONS
from headwater.connector.sources.files.cleaning_options import CLEANING_OPTIONS, clean_source
from headwater.connector.sources.files.notification_options import NOTIFICATION_OPTIONS, queue_settings
from headwater.connector.sources.files.read_options import BAD_RECORDS_PATH
from headwater.core.errors import OptionError
from headwater.core.options import Option, boolean, duration_ms, integer, json_object, one_of, text
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.state_location import open_state_store
from headwater.core.state_store import StateStore
from headwater.enumerators.files.backlog import BatchLimits
from headwater.enumerators.files.selection import FileSelection, SelectedPath, is_read
from headwater.enumerators.files.settings import FilesSettings, OnChange, OnLateFile
from headwater.readers.files.settings import moment_us
from headwater.readers.files.text_settings import RecordSettings

_TIME_ZONE: Final[Option[str | None]] = RecordSettings.OPTIONS["time_zone"]
_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED
_BATCH: Final = Boundedness.BOUNDED
_MOST_OFFSET_US: Final = 18 * 3_600 * 1_000_000
"""No zone is further away from UTC."""
_MOST_PLAN_BYTES: Final = 1 << 20
"""Of the names in one offset: Spark keeps offsets in the driver's memory and writes each to its log."""


def _time(raw: str) -> datetime:
    """A time as Spark writes it, ``2024-06-01T13:00:00``, with or without a zone."""
    try:
        return datetime.fromisoformat(raw.strip())
    except ValueError:
        raise ValueError(f"must be a time such as 2024-06-01T13:00:00Z, not {raw!r}") from None


_MODIFIED_AFTER: Final = Option(
    "modifiedAfter",
    _time,
    None,
    "Only files changed after this time (`2024-06-01T13:00:00Z`). Without a zone in it `timeZone` counts, "
    "else the session's.",
    only=_BATCH,
    kind="moment",
)
_MODIFIED_BEFORE: Final = Option(
    "modifiedBefore",
    _time,
    None,
    "Only files changed before this time.",
    only=_BATCH,
    kind="moment",
)
_MIN_FILE_AGE: Final = Option(
    "minFileAge",
    duration_ms,
    0,
    "Only files that have not been changed for so long: for writers that do not move whole files into place. "
    "By the driver's clock.",
    shown_default="`0`",
)
MAX_FILES: Final = Option(
    "maxFilesPerTrigger",
    integer(1),
    None,
    "No batch has more files than this. Not together with the next one.",
    only=_STREAM,
)
_MAX_BYTES: Final = Option(
    "maxBytesPerTrigger",
    integer(1),
    None,
    "No batch has more bytes of files than this, but always one file.",
    only=_STREAM,
)
_LATEST_FIRST: Final = Option(
    "latestFirst",
    boolean,
    False,
    "Newest files first. Refused if more files wait than can be remembered by name.",
    only=_STREAM,
)
_MAX_FILE_AGE: Final = Option(
    "maxFileAge",
    duration_ms,
    7 * 24 * 3600 * 1000,
    "So long files are remembered by name: one that arrives with a modification time so much older than the "
    "newest one came too late and is not read. Does not count for files that are there when a query begins.",
    only=_STREAM,
    shown_default="`7d`",
)
_ON_LATE_FILE: Final[Option[OnLateFile]] = Option(
    "onLateFile",
    one_of("warn", "fail"),
    "warn",
    "What to do with files that came too late: count them, name the last 100 in the query's progress, and go "
    "on; or fail.",
    only=_STREAM,
)
_ON_CHANGE: Final[Option[OnChange]] = Option(
    "onChange",
    one_of("error", "ignore", "read"),
    "error",
    "What to do with a file that was read and has another content now: fail, go on without the new content, "
    "or read the whole file again. A file that is older than what is remembered counts as new.",
    only=_STREAM,
)
_STATE_LOCATION: Final = Option(
    "stateLocation",
    text,
    None,
    "A folder that all drivers of this query reach, for names of read files that do not fit into the offset. "
    "Needed if more than 2,000 files come within `maxFileAge`: the query then stops and says so. And for the "
    "schema, with `schemaName`.",
)
STORAGE_OPTIONS: Final[Option[dict[str, Any]]] = Option(
    "storageOptions",
    json_object,
    {},
    'Settings of the fsspec file system: `{"anon":true}`.',
    shown_default="none",
)

DISCOVERY_OPTIONS: Final[tuple[Option[Any], ...]] = (
    _MODIFIED_AFTER,
    _MODIFIED_BEFORE,
    _MIN_FILE_AGE,
    MAX_FILES,
    _MAX_BYTES,
    *DURATION_OPTIONS,
    _LATEST_FIRST,
    _MAX_FILE_AGE,
    _ON_LATE_FILE,
    _ON_CHANGE,
    *CLEANING_OPTIONS,
    _STATE_LOCATION,
    *NOTIFICATION_OPTIONS,
)
"""In the order in which the docs list them; `STORAGE_OPTIONS` comes last of all."""


def files_settings(
    options: ParsedOptions,
    paths: tuple[SelectedPath, ...],
    mode: Boundedness,
    store: StateStore | None,
    backoff: Backoff,
    *,
    base_path: str | None = None,
) -> FilesSettings:
    """Return how files are found and remembered.

    Args:
        options: of a table with `DISCOVERY_OPTIONS` and `STORAGE_OPTIONS`.
        paths: that are read (`selected_paths`).
        mode: a batch or a stream; a batch remembers and cleans nothing.
        store: at ``stateLocation``, None if there is none.
        backoff: how long to go on asking a store that is away.
        base_path: below which folders are columns; None for the paths.

    Raises:
        OptionError: options that clash.
    """
    is_stream = mode is _STREAM
    # Asked for even if only the schema is wanted: a clash is told at load(), not when the stream starts.
    limits = _batch_limits(options)
    return FilesSettings(
        selection=FileSelection(
            paths=paths,
            base_path=base_path,
            storage_options=options[STORAGE_OPTIONS],
            **_bounds(options),
            min_age_ms=options[_MIN_FILE_AGE],
        ),
        limits=limits if is_stream else BatchLimits(),
        backoff=backoff,
        latest_first=options[_LATEST_FIRST] and is_stream,
        window_ms=options[_MAX_FILE_AGE],
        on_late_file=options[_ON_LATE_FILE],
        on_change=options[_ON_CHANGE],
        clean=clean_source(options, paths, options[STORAGE_OPTIONS]) if is_stream else None,
        store=store if is_stream else None,
        queue=queue_settings(options, paths, options[STORAGE_OPTIONS]) if is_stream else None,
        remember=is_stream,
    )


def _batch_limits(options: ParsedOptions) -> BatchLimits:
    max_files = options[MAX_FILES]
    max_bytes = options[_MAX_BYTES]
    if max_files is not None and max_bytes is not None:
        raise OptionError(f"cannot be given together with {MAX_FILES.name}", option=_MAX_BYTES.name)
    return BatchLimits(max_files=max_files, max_bytes=max_bytes, max_plan_bytes=_MOST_PLAN_BYTES)


def _bounds(options: ParsedOptions) -> dict[str, Any]:
    """Return between which modification times files are listed: as far apart as any zone may have it."""
    first, last = (_time_us(options, option) for option in (_MODIFIED_AFTER, _MODIFIED_BEFORE))
    unsure = [
        (time - _MOST_OFFSET_US, time + _MOST_OFFSET_US)
        for option, time in ((_MODIFIED_AFTER, first), (_MODIFIED_BEFORE, last))
        if time is not None and _is_local(options, option)
    ]
    if first is not None and _is_local(options, _MODIFIED_AFTER):
        first -= _MOST_OFFSET_US
    if last is not None and _is_local(options, _MODIFIED_BEFORE):
        last += _MOST_OFFSET_US
    return {"modified_after_us": first, "modified_before_us": last, "unsure_us": tuple(unsure)}


def local_bounds(options: ParsedOptions) -> tuple[datetime | None, datetime | None]:
    """Return after and before which times files are read, if a task has to ask for the zone of these."""
    first, last = (
        options[option] if _is_local(options, option) else None
        for option in (_MODIFIED_AFTER, _MODIFIED_BEFORE)
    )
    return first, last


def _is_local(options: ParsedOptions, option: Option[datetime | None]) -> bool:
    time = options[option]
    return time is not None and time.tzinfo is None and options[_TIME_ZONE] is None


def _time_us(options: ParsedOptions, option: Option[datetime | None]) -> int | None:
    """Return a time of the user's in microseconds since 1970; as one of UTC where its zone is not known."""
    time = options[option]
    if time is None:
        return None
    return moment_us(time, options[_TIME_ZONE] or "UTC")


def check_own_folders(options: ParsedOptions, paths: Sequence[SelectedPath]) -> None:
    """Refuse folders that are written to where their files would be read.

    Raises:
        OptionError: the files of such a folder would come as rows.
    """
    for option, inside in ((_STATE_LOCATION, "files-schemas/s/0"), (BAD_RECORDS_PATH, "bad.csv-0/0.jsonl")):
        folder = options[option]
        if folder is not None and is_read(paths, f"{folder.rstrip('/')}/{inside}"):
            raise OptionError(
                f"must not be below what is read ({', '.join(path.url for path in paths)}): what is written "
                "there would come as rows",
                option=option.name,
            )


def state_store(options: ParsedOptions) -> StateStore | None:
    """Return the store at ``stateLocation``, None if there is none. Opens nothing.

    Raises:
        StateLocationError: there is no safe way to keep state there.
    """
    location = options[_STATE_LOCATION]
    return None if location is None else open_state_store(location, options[STORAGE_OPTIONS])
