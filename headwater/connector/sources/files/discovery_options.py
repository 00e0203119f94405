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
from headwater.core.options import Option, Spec, duration_ms, integer, json_object, one_of, option
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.state_location import open_state_store, state_location
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


class DiscoveryOptions(Spec):
    """Which files are found, in which batches, and how they are remembered, as the user says."""

    modified_after: datetime | None = option(
        "modifiedAfter",
        "Only files changed after this time (`2024-06-01T13:00:00Z`). Without a zone in it `timeZone` "
        "counts, else the session's.",
        default=None,
        parse=_time,
        only=_BATCH,
        kind="moment",
    )
    modified_before: datetime | None = option(
        "modifiedBefore",
        "Only files changed before this time.",
        default=None,
        parse=_time,
        only=_BATCH,
        kind="moment",
    )
    min_age_ms: int = option(
        "minFileAge",
        "Only files that have not been changed for so long: for writers that do not move whole files into "
        "place. By the driver's clock.",
        default=0,
        parse=duration_ms,
        shown_default="`0`",
    )
    max_files: int | None = option(
        "maxFilesPerTrigger",
        "No batch has more files than this. Not together with the next one.",
        default=None,
        parse=integer(1),
        only=_STREAM,
    )
    max_bytes: int | None = option(
        "maxBytesPerTrigger",
        "No batch has more bytes of files than this, but always one file.",
        default=None,
        parse=integer(1),
        only=_STREAM,
    )
    latest_first: bool = option(
        "latestFirst",
        "Newest files first. Refused if more files wait than can be remembered by name.",
        default=False,
        only=_STREAM,
    )
    window_ms: int = option(
        "maxFileAge",
        "So long files are remembered by name: one that arrives with a modification time so much older than "
        "the newest one came too late and is not read. Does not count for files that are there when a query "
        "begins.",
        default=7 * 24 * 3600 * 1000,
        parse=duration_ms,
        only=_STREAM,
        shown_default="`7d`",
    )
    on_late_file: OnLateFile = option(
        "onLateFile",
        "What to do with files that came too late: count them, name the last 100 in the query's progress, "
        "and go on; or fail.",
        default="warn",
        parse=one_of("warn", "fail"),
        only=_STREAM,
    )
    on_change: OnChange = option(
        "onChange",
        "What to do with a file that was read and has another content now: fail, go on without the new "
        "content, or read the whole file again. A file that is older than what is remembered counts as new.",
        default="error",
        parse=one_of("error", "ignore", "read"),
        only=_STREAM,
    )
    state_location: str | None = option(
        "stateLocation",
        "A folder that all drivers of this query reach, for names of read files that do not fit into the "
        "offset. Needed if more than 2,000 files come within `maxFileAge`: the query then stops and says so. "
        "And for the schema, with `schemaName`.",
        default=None,
        parse=state_location,
        after="sourceArchiveDir",
    )
    storage: dict[str, Any] = option(
        "storageOptions",
        'Settings of the fsspec file system: `{"anon":true}`.',
        default={},
        parse=json_object,
        shown_default="none",
        after="minPartitions",
    )
    # Of the times above; None: the session's, which only a task knows.
    time_zone: str | None = None

    def __post_init__(self) -> None:
        if self.max_files is not None and self.max_bytes is not None:
            name = self.OPTIONS["max_files"].name
            raise self.refusal("max_bytes", f"cannot be given together with {name}")

    def store(self) -> StateStore | None:
        """Return the store at ``stateLocation``, None if there is none. Opens nothing.

        Raises:
            StateLocationError: there is no safe way to keep state there.
        """
        return None if self.state_location is None else open_state_store(self.state_location, self.storage)

    @property
    def local_bounds(self) -> tuple[datetime | None, datetime | None]:
        """After and before which times files are read, if a task has to ask for the zone of these."""
        first, last = (time if self._is_local(time) else None for time in self._times)
        return first, last

    @property
    def bounds_us(self) -> dict[str, Any]:
        """Between which modification times files are listed: as far apart as any zone may have it."""
        first, last = (
            None if time is None else moment_us(time, self.time_zone or "UTC") for time in self._times
        )
        unsure = [
            (time_us - _MOST_OFFSET_US, time_us + _MOST_OFFSET_US)
            for time, time_us in zip(self._times, (first, last), strict=True)
            if time_us is not None and self._is_local(time)
        ]
        if first is not None and self._is_local(self.modified_after):
            first -= _MOST_OFFSET_US
        if last is not None and self._is_local(self.modified_before):
            last += _MOST_OFFSET_US
        return {"modified_after_us": first, "modified_before_us": last, "unsure_us": tuple(unsure)}

    @property
    def _times(self) -> tuple[datetime | None, datetime | None]:
        return self.modified_after, self.modified_before

    def _is_local(self, time: datetime | None) -> bool:
        return time is not None and time.tzinfo is None and self.time_zone is None


DISCOVERY_OPTIONS: Final[tuple[Option[Any], ...]] = (
    *DiscoveryOptions.options(),
    *DURATION_OPTIONS,
    *CLEANING_OPTIONS,
    *NOTIFICATION_OPTIONS,
)


def discovery_options(options: ParsedOptions) -> DiscoveryOptions:
    """Return the options of finding files.

    Args:
        options: of a table with `DISCOVERY_OPTIONS`.

    Raises:
        OptionError: options that clash.
    """
    return options.of(DiscoveryOptions, time_zone=options[_TIME_ZONE])


def files_settings(
    options: ParsedOptions,
    paths: tuple[SelectedPath, ...],
    mode: Boundedness,
    store: StateStore | None,
    backoff: Backoff,
    *,
    base_path: str | None,
) -> FilesSettings:
    """Return how files are found and remembered.

    Args:
        options: of a table with `DISCOVERY_OPTIONS`.
        paths: that are read (`selected_paths`).
        mode: a batch or a stream; a batch remembers and cleans nothing.
        store: at ``stateLocation``, None if there is none.
        backoff: how long to go on asking a store that is away.
        base_path: below which folders are columns; None for the paths.

    Raises:
        OptionError: options that clash.
    """
    is_stream = mode is _STREAM
    discovery = discovery_options(options)
    limits = BatchLimits(
        max_files=discovery.max_files, max_bytes=discovery.max_bytes, max_plan_bytes=_MOST_PLAN_BYTES
    )
    return FilesSettings(
        selection=FileSelection(
            paths=paths,
            base_path=base_path,
            storage_options=discovery.storage,
            **discovery.bounds_us,
            min_age_ms=discovery.min_age_ms,
        ),
        limits=limits if is_stream else BatchLimits(),
        backoff=backoff,
        latest_first=discovery.latest_first and is_stream,
        window_ms=discovery.window_ms,
        on_late_file=discovery.on_late_file,
        on_change=discovery.on_change,
        clean=clean_source(options, paths, discovery.storage) if is_stream else None,
        store=store if is_stream else None,
        queue=queue_settings(options, paths, discovery.storage) if is_stream else None,
        remember=is_stream,
    )


def check_own_folders(options: ParsedOptions, paths: Sequence[SelectedPath]) -> None:
    """Refuse folders that are written to where their files would be read.

    Raises:
        OptionError: the files of such a folder would come as rows.
    """
    state = DiscoveryOptions.OPTIONS["state_location"]
    for own, inside in ((state, "files-schemas/s/0"), (BAD_RECORDS_PATH, "bad.csv-0/0.jsonl")):
        folder = options[own]
        if folder is not None and is_read(paths, f"{folder.rstrip('/')}/{inside}"):
            raise OptionError(
                f"must not be below what is read ({', '.join(path.url for path in paths)}): what is written "
                "there would come as rows",
                option=own.name,
            )
