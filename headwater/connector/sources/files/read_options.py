"""The options on reading files, and how bytes become rows by them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NoReturn

from headwater.connector.formats.options import BAD_RECORDS_PATH as _OF_FORMATS
from headwater.connector.formats.options import BAD_RECORDS_STORAGE
from headwater.connector.formats.settings import bad_records_location
from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.imports import require
from headwater.core.options import Option, boolean, names, one_of
from headwater.core.source import Boundedness
from headwater.enumerators.files.selection import SelectedPath
from headwater.readers.files.lines import LineSettings
from headwater.readers.files.settings import FORMATS, ReadSettings, RebaseModes
from headwater.readers.files.text_settings import CsvSettings, JsonSettings, RecordSettings
from headwater.readers.formats.csv.csv_settings import CsvDialect


def refused(name: str, why: str) -> Option[None]:
    """Return an option that is refused with any value.

    Args:
        name: as the user writes it.
        why: with the way out.
    """

    def parse(_raw: str) -> NoReturn:
        raise ValueError(why)

    return Option(name, parse, None, f"Refused: {why}.")


def only(name: str, value: str, why: str) -> Option[str]:
    """Return an option of which one value is as if it were not given, and no other is taken.

    Args:
        name: as the user writes it.
        value: in lower case.
        why: no other is taken, with the way out.
    """

    def parse(raw: str) -> str:
        if raw.strip().lower() != value:
            raise ValueError(f"can only be {value}: {why}")
        return value

    return Option(name, parse, value, f"Only `{value}`: {why}.")


def _locale(raw: str) -> str:
    if raw.strip().lower() != "en-us":
        raise ValueError(
            f"must be en-US, not {raw!r}: other languages have names and numbers that depend on the data of "
            "the Java at hand. Read such columns as strings, or with Spark's own reader"
        )
    return "en-US"


def _format(raw: str) -> str:
    if raw.strip().lower() == "xml":
        raise ValueError("cannot be xml: read XML with Spark's own spark.read.format('xml')")
    return one_of(*FORMATS)(raw)


FORMAT: Final = Option(
    "format",
    _format,
    None,
    f"What the files are: {', '.join(f'`{name}`' for name in sorted(FORMATS))}. Required.",
    needed_in=tuple(Boundedness),
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
    "as Spark's own. The field `row_index` of Parquet is not there, and `input_file_name()` is empty: use "
    "`_metadata.file_path`.",
)
PUSH_FILTERS: Final = Option(
    "pushFilters",
    boolean,
    False,
    "Parquet, batch: use Spark's filters (needs `spark.sql.python.filterPushdown.enabled=true`).",
    only=Boundedness.BOUNDED,
)
BAD_RECORDS_PATH: Final = replace(
    _OF_FORMATS,
    after="rescuedDataColumn",
    help="CSV, JSON: a folder, on any file system of fsspec, for records that cannot be read: they are not "
    "in the output, whatever `mode` says. See [Records that cannot be read](#records-that-cannot-be-read).",
)
_MULTI_LINE: Final = Option(
    "multiLine",
    boolean,
    False,
    "CSV: whether quoted values may hold line ends. JSON: whether a file is one document, which may have "
    "several lines. Such files are not split.",
    after="badRecordsStorageOptions",
)
_LOCALE: Final = Option(
    "locale",
    _locale,
    "en-US",
    "CSV, JSON: the language of dates and numbers. Only `en-US` is there.",
    after="timestampNTZFormat",
)
_COMPRESSION: Final = refused(
    "compression", "it is for writers, in Spark too: the suffix of a file's name says how it is compressed"
)
_OF_SPARK_AVRO: Final[tuple[Option[Any], ...]] = (
    refused("avroSchemaUrl", "read the schema yourself, and give its text as avroSchema"),
    only("ignoreExtension", "true", "pathGlobFilter=*.avro leaves out files of other names"),
    only("positionalFieldMatching", "false", "fields are found by their names; rename columns after load()"),
    only(
        "enableStableIdentifiersForUnionType",
        "false",
        "the values of a union are called member0, member1 and so on; rename them after load()",
    ),
    refused("stableIdentifierPrefixForUnionType", "it is for enableStableIdentifiersForUnionType"),
    only(
        "recursiveFieldMaxDepth",
        "-1",
        "a schema that contains itself has no columns; give a part of it with .schema(...) and avroSchema",
    ),
)
"""Those that change the rows; options of the writer do not matter here."""

_HEADER, _ENFORCE_SCHEMA, *_OF_INFERENCE = CsvSettings.options()

READ_OPTIONS: Final[tuple[Option[Any], ...]] = (
    *ReadSettings.options(),
    *RecordSettings.options(),
    BAD_RECORDS_PATH,
    replace(BAD_RECORDS_STORAGE, after="badRecordsPath"),
    _MULTI_LINE,
    _LOCALE,
    COLUMNS,
    INCLUDE_METADATA,
    *_OF_SPARK_AVRO,
    *RebaseModes.options(),
    *LineSettings.options(),
    _COMPRESSION,
    _HEADER,
    _ENFORCE_SCHEMA,
    *CsvDialect.options(),
    *_OF_INFERENCE,
    *JsonSettings.options(),
    refused("singleVariantColumn", "a column of the type variant cannot be made here"),
    refused("explodeEmbeddedArray", "a column of the type variant cannot be made here"),
    refused("timeFormat", "times of day are read as Spark casts text; read others as strings, and cast them"),
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
        paths: that are read.
        base_path: the folder below which folders are columns, if the user gave one.
        storage_options: for the file system.

    Raises:
        OptionError: no format, or an option that does not go with it.
        MissingDependencyError: a library that tasks need is not even here.
    """
    file_format = options.require(FORMAT, ": .option('format', 'csv')")
    abilities = FORMATS[file_format]
    if abilities.kernel_extra:
        require("llvmlite", needed_for=f"the files format {file_format}", extra=abilities.kernel_extra)
    multi_line = options[_MULTI_LINE]
    lines = options.of(LineSettings)
    if abilities.has_documents and not multi_line:
        lines.check_json()
    dialect = options.of(
        CsvDialect,
        # Those of text and JSON may be longer than CSV has them.
        line_separator=lines.separator if abilities.has_header else None,
        multi_line=multi_line,
    )
    dialect.check()
    _check_abilities(options, file_format)
    return options.of(
        ReadSettings,
        format=file_format,
        paths=paths,
        base_path=base_path,
        schema=None,
        records=options.of(
            RecordSettings,
            bad_records=bad_records_location(options),
            time_fallback=dialect.time_fallback,
        ),
        lines=lines,
        rebase=options.of(RebaseModes),
        csv=options.of(CsvSettings, dialect=dialect),
        json=options.of(JsonSettings, multi_line=multi_line),
        storage_options=storage_options,
    )


def _check_abilities(options: ParsedOptions, file_format: str) -> None:
    """Refuse options that the format does not have."""
    rescues = {name for name, row in FORMATS.items() if row.rescues}
    has_records = {name for name, row in FORMATS.items() if row.has_records}
    for option, formats in (
        (RecordSettings.OPTIONS["rescued_column"], rescues),
        (BAD_RECORDS_PATH, has_records),
    ):
        if options[option] is not None and file_format not in formats:
            raise OptionError(
                f"is for the formats {', '.join(sorted(formats))}, not for {file_format!r}: remove it",
                option=option.name,
            )
