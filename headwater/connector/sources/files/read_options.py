"""The options on reading files, and what they come to: how bytes become rows."""

from __future__ import annotations

from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.connector.sources.files.columnar_options import (
    AVRO_SCHEMA,
    COLUMNAR_OPTIONS,
    MERGE_SCHEMA,
    rebase_modes,
)
from headwater.connector.sources.files.csv_options import CSV_OPTIONS, csv_settings
from headwater.connector.sources.files.json_options import JSON_OPTIONS, check_json_lines, json_settings
from headwater.connector.sources.files.line_options import LINE_OPTIONS, line_settings
from headwater.connector.sources.files.record_options import MULTI_LINE, RECORD_OPTIONS, record_settings
from headwater.core.options import Option, boolean, names, one_of
from headwater.core.source import Boundedness
from headwater.enumerators.files.selection import SelectedPath
from headwater.readers.files.file_format import FORMATS
from headwater.readers.files.settings import ReadSettings


def _format(raw: str) -> str:
    if raw.strip().lower() == "xml":
        raise ValueError("cannot be xml: read XML with Spark's own spark.read.format('xml')")
    return one_of(*FORMATS)(raw)


FORMAT: Final = Option(
    "format",
    _format,
    None,
    f"What the files are: {', '.join(f'`{name}`' for name in sorted(FORMATS))}. Required.",
)
_IGNORE_MISSING_FILES: Final[Option[bool | None]] = Option(
    "ignoreMissingFiles",
    boolean,
    None,
    "Whether a planned file that vanished, or was overwritten, before it was read is skipped with a warning, "
    "or fails the query.",
    shown_default="that of the session, else `false`",
)
_IGNORE_CORRUPT_FILES: Final[Option[bool | None]] = Option(
    "ignoreCorruptFiles",
    boolean,
    None,
    "Whether a file that is damaged, or not of the format, is skipped with a warning from the damaged place "
    "on, or fails the query. Where a schema is inferred only the option counts.",
    shown_default="that of the session, else `false`",
)
COLUMNS: Final = Option(
    "columns",
    names,
    None,
    "Only these columns of the inferred schema, in this order: what is not asked for is not read.",
    shown_default="all",
)
INCLUDE_METADATA: Final = Option(
    "includeMetadata",
    boolean,
    False,
    "Whether there is a column `_metadata` with path, name, size, modification time and block of the file, "
    "as Spark's own.",
)
PUSH_FILTERS: Final = Option(
    "pushFilters",
    boolean,
    False,
    "Parquet, batch: use Spark's filters (needs `spark.sql.python.filterPushdown.enabled=true`).",
    only=Boundedness.BOUNDED,
)

READ_OPTIONS: Final[tuple[Option[Any], ...]] = (
    _IGNORE_MISSING_FILES,
    _IGNORE_CORRUPT_FILES,
    *RECORD_OPTIONS,
    COLUMNS,
    INCLUDE_METADATA,
    *COLUMNAR_OPTIONS,
    *LINE_OPTIONS,
    *CSV_OPTIONS,
    *JSON_OPTIONS,
    PUSH_FILTERS,
)
"""In the order in which the docs list them; `FORMAT` comes first of all."""


def read_settings(
    options: ParsedOptions,
    paths: tuple[SelectedPath, ...],
    base_path: str | None,
    storage_options: dict[str, Any],
) -> ReadSettings:
    """Return how files become rows; the schema is not known yet.

    Args:
        options: of a table with `FORMAT` and `READ_OPTIONS`.
        paths: what is read.
        base_path: the folder below which folders are columns, if the user gave one.
        storage_options: for the file system.

    Raises:
        OptionError: no format, or an option that does not go with it.
    """
    file_format = options.require(FORMAT, ": .option('format', 'csv')")
    lines = line_settings(options)
    if file_format == "json" and not options[MULTI_LINE]:
        check_json_lines(lines)
    return ReadSettings(
        format=file_format,
        paths=paths,
        base_path=base_path,
        schema=None,
        records=record_settings(options, file_format),
        ignore_missing=options[_IGNORE_MISSING_FILES],
        ignore_corrupt=options[_IGNORE_CORRUPT_FILES],
        lines=lines,
        merge_schema=options[MERGE_SCHEMA],
        avro_schema=options[AVRO_SCHEMA],
        rebase=rebase_modes(options),
        csv=csv_settings(
            options,
            # Those of text and JSON may be longer than CSV has them.
            lines.separator if file_format == "csv" else None,
            multi_line=options[MULTI_LINE],
        ),
        json=json_settings(options, multi_line=options[MULTI_LINE]),
        storage_options=storage_options,
    )
