"""The settings of a task that reads files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import pyarrow as pa

from headwater.core.errors import FormatSchemaError
from headwater.core.options import Spec, integer, one_of, option
from headwater.enumerators.files.folder_columns import FolderColumns
from headwater.enumerators.files.selection import SelectedPath
from headwater.readers.files.lines import LineSettings
from headwater.readers.files.schema_history import SchemaHistory
from headwater.readers.files.text_settings import CsvSettings, JsonSettings, RecordSettings
from headwater.readers.formats.avro.schema import parse_schema
from headwater.readers.formats.values.time_zones import zone_of

EvolutionMode: TypeAlias = Literal["addNewColumns", "rescue", "fail", "none"]
"""The modes for new columns.

``addNewColumns``: the query stops, and has them after a restart. ``rescue``: they are in the column for
rescued data. ``fail``: the query stops, until the user has changed the schema. ``none``: they are not read,
and are rescued only if there is a column for that.
"""

EVOLUTION_MODES: Final[tuple[EvolutionMode, ...]] = ("addNewColumns", "rescue", "fail", "none")


class KnownFileFormat(NamedTuple):
    """A file format that a user can name, by its abilities.

    Attributes:
        module: of the class, in this package.
        name: of the class.
        has_records: whether its records are text that may not fit the schema.
        has_header: whether its records are written by a `CsvDialect`, and a header may name the columns.
        has_documents: whether its records are documents of JSON, whose names are the columns.
        tells_columns: whether its files tell their columns.
        has_summaries: whether there are summaries of folders, and statistics in footers.
        has_content: whether a row is a whole file, with columns that are always the same.
        kernel_extra: the extra that brings what its compiled code needs; empty if it has none.
    """

    module: str
    name: str
    has_records: bool = False
    has_header: bool = False
    has_documents: bool = False
    tells_columns: bool = False
    has_summaries: bool = False
    has_content: bool = False
    kernel_extra: str = ""

    @property
    def rescues(self) -> bool:
        """Whether there may be a column for rescued data."""
        return self.has_records or self.tells_columns


FORMATS: Final = {
    "arrow": KnownFileFormat("columnar_formats", "ArrowFormat", tells_columns=True),
    "avro": KnownFileFormat("avro_format", "AvroFormat", tells_columns=True, kernel_extra="avro"),
    "binaryFile": KnownFileFormat("fixed_formats", "BinaryFileFormat", has_content=True),
    "csv": KnownFileFormat(
        "csv_format", "CsvFormat", has_records=True, has_header=True, kernel_extra="formats"
    ),
    "feather": KnownFileFormat("columnar_formats", "ArrowFormat", tells_columns=True),
    "json": KnownFileFormat(
        "json_format", "JsonFormat", has_records=True, has_documents=True, kernel_extra="formats"
    ),
    "orc": KnownFileFormat("orc_format", "OrcFormat", tells_columns=True),
    "parquet": KnownFileFormat("parquet_format", "ParquetFormat", tells_columns=True, has_summaries=True),
    "text": KnownFileFormat("fixed_formats", "TextFormat"),
}
"""By the words of the option ``format``. Nothing else compares such a word."""


@dataclass(frozen=True, kw_only=True)
class DriftSettings:
    """The handling of columns that are new.

    Attributes:
        mode: see `EvolutionMode`.
        history: where the schema is kept, None if it is not. With ``addNewColumns`` it is.
        name: of the schema there.
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
"""Spark's words: dates as they are, an error for old times, or by the calendar of then."""


class RebaseModes(Spec):
    """The meaning of old times in files that do not name their writer."""

    datetime: RebaseMode = option(
        "datetimeRebaseMode",
        "Parquet, Avro: how dates before 1582 and times before 1900 are read, where a file does not say that "
        "Spark wrote it: as they are, not at all, or by the calendar of then.",
        default="CORRECTED",
        parse=one_of("CORRECTED", "EXCEPTION", "LEGACY"),
    )
    int96: RebaseMode = option(
        "int96RebaseMode",
        "Parquet: the same for timestamps of 96 bits.",
        default="CORRECTED",
        parse=one_of("CORRECTED", "EXCEPTION", "LEGACY"),
    )


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
METADATA_COLUMN = "_metadata"
"""The name of the column about the file, as in Spark."""

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


def _avro_schema(raw: str) -> str:
    try:
        parse_schema(raw)
    except FormatSchemaError as error:
        raise ValueError(str(error)) from None
    return raw


class ReadSettings(Spec):
    """How files become rows.

    Attributes:
        format: a name in `FORMATS`.
        paths: of the user; ``key=value`` folders below them are columns.
        schema: of the rows: columns of the files, of the folders, and ``_metadata``, in the order in which
            they come out. None until it is known.
        records: how the values in records of text are written, and the mode for bad ones.
        ignore_missing: None where the option is not given.
        lines: how lines are written.
        json: how JSON is written.
        base_path: the folder below which ``key=value`` folders are columns; None: the paths.
        rebase: the meaning of old dates in Parquet and Avro, where a file does not name it.
        csv: how CSV is written.
        drift: the handling of columns that files have and the schema has not.
        storage_options: for the file system.
        most_content_bytes: how long a file of the format binaryFile may be whose content is wanted; by
            default as long as a value of Spark.
        is_case_sensitive: whether names of columns count by their case, as the session says it to a task.
        modified_after: only files changed after this time are read, if only a task knows its zone.
        modified_before: only files changed before this one, in the same way.
        filters: rows that fail one of these (column, operator, value) need not come out.
    """

    format: str
    paths: tuple[SelectedPath, ...]
    schema: pa.Schema | None
    records: RecordSettings = field(default_factory=RecordSettings)
    ignore_missing: bool | None = option(
        "ignoreMissingFiles",
        "Whether a planned file that vanished, or was overwritten, before it was read is skipped with a "
        "warning, or fails the query.",
        default=None,
        shown_default="that of the session, else `false`",
    )
    ignore_corrupt: bool | None = option(
        "ignoreCorruptFiles",
        "Whether a file that is damaged, or not of the format, is skipped with a warning from the damaged "
        "place on, or fails the query. Where a schema is inferred only the option counts.",
        default=None,
        shown_default="that of the session, else `false`",
    )
    base_path: str | None = None
    merge_schema: bool = option(
        "mergeSchema",
        "Parquet, ORC, Avro, Arrow: whether the inferred schema has the columns of all files, and not of "
        "one.",
        default=False,
        after="includeMetadata",
    )
    avro_schema: str | None = option(
        "avroSchema",
        "Avro: a schema in JSON to read files with, by Avro's rules of resolution: fields that they lack get "
        "its defaults.",
        default=None,
        parse=_avro_schema,
        shown_default="each file's own",
        kind="json",
        after="mergeSchema",
    )
    most_inflated_bytes: int = option(
        "maxInflatedBlockBytes",
        "Avro, ORC: a compressed block that is larger than this when it is decompressed is an error, and a "
        "stripe that takes three times as much, and 64 times its bytes in the file. A Python worker needs "
        "about three times as much memory as its largest block.",
        default=256 << 20,
        parse=integer(1),
        kind="whole_number",
        shown_default="`268435456`",
        after="avroSchema",
    )
    rebase: RebaseModes = field(default_factory=RebaseModes)
    lines: LineSettings = field(default_factory=LineSettings)
    json: JsonSettings = field(default_factory=JsonSettings)
    csv: CsvSettings = field(default_factory=CsvSettings)
    drift: DriftSettings = field(default_factory=DriftSettings)
    storage_options: dict[str, object] = field(default_factory=dict, repr=False)
    most_content_bytes: int = (1 << 31) - 1
    is_case_sensitive: bool = False
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    filters: tuple[tuple[str, str, object], ...] = ()

    @property
    def abilities(self) -> KnownFileFormat:
        """The row of the format."""
        return FORMATS[self.format]

    @property
    def special_columns(self) -> frozenset[str]:
        """The names of columns that no file has."""
        corrupt = {self.records.corrupt_column} if self.abilities.has_records else set()
        return frozenset(corrupt | {self.records.rescued_column or ""} - {""})

    @property
    def needs_zone(self) -> bool:
        """Whether a time in the files may be written without its zone, and the option for it is not given."""
        if not self.abilities.has_records or self.records.time_zone is not None or self.schema is None:
            return False
        return any(_has_times(field.type) for field in self.schema if not is_metadata(field))

    @property
    def has_local_bounds(self) -> bool:
        """Whether a task has to look which of its files are to be read."""
        return self.modified_after is not None or self.modified_before is not None

    def in_time(self, modified_us: int) -> bool:
        """Whether a file that was changed then is read. In a task."""
        zone = self.records.time_zone or "UTC"
        least, greatest = self.modified_after, self.modified_before
        return (least is None or modified_us > moment_us(least, zone)) and (
            greatest is None or modified_us < moment_us(greatest, zone)
        )

    def partitions_of(self, url: str) -> Mapping[str, str]:
        """Return the raw values of the ``key=value`` folders of a file, below the path that the user gave."""
        return self.folder_columns.values_of(url)

    @property
    def folder_columns(self) -> FolderColumns:
        """The finder of columns in the paths of files."""
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
