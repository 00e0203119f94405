"""What a task needs to know to read files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from headwater.enumerators.files.folder_columns import FolderColumns
from headwater.enumerators.files.selection import SelectedPath
from headwater.readers.files.lines import LineSettings
from headwater.readers.files.schema_history import SchemaHistory
from headwater.readers.files.text_settings import RECORD_FORMATS, CsvSettings, JsonSettings, RecordSettings
from headwater.readers.formats.values.time_zones import zone_of

EvolutionMode: TypeAlias = Literal["addNewColumns", "rescue", "fail", "none"]
"""What becomes of new columns.

``addNewColumns``: the query stops, and has them after a restart. ``rescue``: they are in the column for
rescued data. ``fail``: the query stops, until the user has changed the schema. ``none``: they are not read,
and are rescued only if there is a column for that.
"""

EVOLUTION_MODES: Final[tuple[EvolutionMode, ...]] = ("addNewColumns", "rescue", "fail", "none")

RESCUED_COLUMN: Final = "_rescued_data"
"""What the column for rescued data is called if the user gives no name."""

RESCUE_FORMATS: Final = frozenset({"arrow", "avro", "csv", "feather", "json", "orc", "parquet"})
"""The formats with a column for rescued data."""

OWN_SCHEMA_FORMATS: Final = frozenset({"arrow", "avro", "feather", "orc", "parquet"})
"""The formats whose files tell their columns."""


@dataclass(frozen=True, kw_only=True)
class DriftSettings:
    """What becomes of columns that are new.

    Attributes:
        mode: see `EvolutionMode`.
        history: where the schema is kept, None if it is not. With ``addNewColumns`` it is.
        name: what the user calls it.
        hides_rescued: whether the column for rescued data is not one of the rows: it is made to find new
            columns in text, and taken away.
    """

    mode: EvolutionMode = "none"
    history: SchemaHistory | None = field(default=None, repr=False)
    name: str | None = None
    hides_rescued: bool = False

    @property
    def stops(self) -> bool:
        """Whether a new column stops the query."""
        return self.mode in ("addNewColumns", "fail")


RebaseMode: TypeAlias = Literal["CORRECTED", "EXCEPTION", "LEGACY"]
"""What Spark calls them: dates as they are, none of old times, or by the calendar of then."""


@dataclass(frozen=True)
class RebaseModes:
    """What the user said of old times, for files that do not say who wrote them.

    Attributes:
        datetime: of dates and timestamps.
        int96: of timestamps in 96 bits.
    """

    datetime: RebaseMode = "CORRECTED"
    int96: RebaseMode = "CORRECTED"


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
METADATA_COLUMN = "_metadata"
"""What the column about the file is called, as in Spark."""

METADATA_TYPE = pa.struct(
    [
        pa.field("file_path", pa.string()),
        pa.field("file_name", pa.string()),
        pa.field("file_size", pa.int64()),
        pa.field("file_block_start", pa.int64()),
        pa.field("file_block_length", pa.int64()),
        pa.field("file_modification_time", pa.timestamp("us", "UTC")),
    ]
)
"""The fields of Spark's own ``_metadata``."""


@dataclass(frozen=True, kw_only=True)
class ReadSettings:
    """How files become rows.

    Attributes:
        format: a name in `headwater.readers.files.file_format.FORMATS`.
        paths: what the user reads; ``key=value`` folders below them are columns.
        schema: of the rows: columns of the files, of the folders, and ``_metadata``, in the order in which
            they come out. None until it is known.
        records: how the values in records of text are written, and what becomes of bad ones.
        ignore_missing: whether a file that vanished before it was read is skipped with a warning; None where
            nobody has said so.
        ignore_corrupt: whether what comes after a damaged place of a file is skipped with a warning.
        lines: how lines are written.
        json: how JSON is written.
        base_path: the folder below which ``key=value`` folders are columns; None: the paths.
        merge_schema: whether the columns of all files are inferred, and not of one, where files tell theirs.
        avro_schema: that Avro files are read with; None for their own.
        rebase: what old dates in Parquet and Avro mean, where a file does not say it.
        csv: how CSV is written.
        drift: what becomes of columns that files have and the schema has not.
        storage_options: for the file system.
        most_content_bytes: how long a file of the format binaryFile may be whose content is wanted; by
            default as long as a value of Spark.
        modified_after: only files changed after this time are read, if only a task knows its zone.
        modified_before: only files changed before this one, in the same way.
        filters: rows that fail one of these (column, operator, value) need not come out.
    """

    format: str
    paths: tuple[SelectedPath, ...]
    schema: pa.Schema | None
    records: RecordSettings = field(default_factory=RecordSettings)
    ignore_missing: bool | None = None
    ignore_corrupt: bool | None = None
    base_path: str | None = None
    merge_schema: bool = False
    avro_schema: str | None = None
    rebase: RebaseModes = field(default_factory=RebaseModes)
    lines: LineSettings = field(default_factory=LineSettings)
    json: JsonSettings = field(default_factory=JsonSettings)
    csv: CsvSettings = field(default_factory=CsvSettings)
    drift: DriftSettings = field(default_factory=DriftSettings)
    storage_options: dict[str, object] = field(default_factory=dict, repr=False)
    most_content_bytes: int = (1 << 31) - 1
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    filters: tuple[tuple[str, str, object], ...] = ()

    @property
    def special_columns(self) -> frozenset[str]:
        """The names of columns that no file has."""
        corrupt = {self.records.corrupt_column} if self.format in RECORD_FORMATS else set()
        return frozenset(corrupt | {self.records.rescued_column or ""} - {""})

    @property
    def needs_zone(self) -> bool:
        """Whether a time in the files may be written without its zone, and nobody has said which it is."""
        if self.format not in RECORD_FORMATS or self.records.time_zone is not None or self.schema is None:
            return False
        return any(_has_times(field.type) for field in self.schema if not is_metadata(field))

    @property
    def has_local_bounds(self) -> bool:
        """Whether a task has to look which of its files are to be read."""
        return self.modified_after is not None or self.modified_before is not None

    def in_time(self, modified_us: int) -> bool:
        """Whether a file that was changed then is read. In a task."""
        zone = self.records.time_zone or "UTC"
        after, before = self.modified_after, self.modified_before
        return (after is None or modified_us > moment_us(after, zone)) and (
            before is None or modified_us < moment_us(before, zone)
        )

    def partitions_of(self, url: str) -> Mapping[str, str]:
        """Return the raw values of the ``key=value`` folders of a file, below the path that the user gave."""
        return self.folder_columns.values_of(url)

    @property
    def folder_columns(self) -> FolderColumns:
        """What finds the columns in the paths of files."""
        return FolderColumns(self.paths, self.base_path)


def is_metadata(field: pa.Field[Any]) -> bool:
    """Whether a column is the one about the file; one of that name with another type is in the file."""
    return field.name == METADATA_COLUMN and field.type == METADATA_TYPE


def moment_us(time: datetime, zone: str) -> int:
    """Return a time in microseconds since 1970.

    Args:
        time: with or without a zone.
        zone: that of a time without one.
    """
    if time.tzinfo is None:
        time = time.replace(tzinfo=zone_of(zone))
    return (time - _EPOCH) // timedelta(microseconds=1)


def _has_times(kind: pa.DataType) -> bool:
    """Return whether a type has points in time, at any depth."""
    if isinstance(kind, pa.TimestampType):
        return kind.tz is not None
    return any(_has_times(kind.field(at).type) for at in range(kind.num_fields))
