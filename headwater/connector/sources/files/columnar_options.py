"""The options on formats that have types: Parquet, ORC and Avro."""

from __future__ import annotations

from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.connector.sources.files.refused_options import only, refused
from headwater.core.errors import FormatSchemaError
from headwater.core.options import Option, boolean, one_of
from headwater.readers.files.settings import RebaseMode, RebaseModes
from headwater.readers.formats.avro.schema import parse_schema


def _avro_schema(raw: str) -> str:
    try:
        parse_schema(raw)
    except FormatSchemaError as error:
        raise ValueError(str(error)) from None
    return raw


_DATETIME_REBASE_MODE: Final[Option[RebaseMode]] = Option(
    "datetimeRebaseMode",
    one_of("CORRECTED", "EXCEPTION", "LEGACY"),
    "CORRECTED",
    "Parquet, Avro: how dates before 1582 and times before 1900 are read, where a file does not say that "
    "Spark wrote it: as they are, not at all, or by the calendar of then.",
    shown_default="`CORRECTED`",
)
_INT96_REBASE_MODE: Final[Option[RebaseMode]] = Option(
    "int96RebaseMode",
    one_of("CORRECTED", "EXCEPTION", "LEGACY"),
    "CORRECTED",
    "Parquet: the same for timestamps of 96 bits.",
    shown_default="`CORRECTED`",
)
AVRO_SCHEMA: Final[Option[str | None]] = Option(
    "avroSchema",
    _avro_schema,
    None,
    "Avro: a schema in JSON to read files with, by Avro's rules of resolution: fields that they lack get its "
    "defaults.",
    shown_default="each file's own",
)

MERGE_SCHEMA: Final = Option(
    "mergeSchema",
    boolean,
    False,
    "Parquet, ORC, Avro, Arrow: whether the inferred schema has the columns of all files, and not of one.",
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
"""Those that change what is read; options of the writer do not matter here."""

COLUMNAR_OPTIONS: Final[tuple[Option[Any], ...]] = (
    MERGE_SCHEMA,
    AVRO_SCHEMA,
    *_OF_SPARK_AVRO,
    _DATETIME_REBASE_MODE,
    _INT96_REBASE_MODE,
)


def rebase_modes(options: ParsedOptions) -> RebaseModes:
    """Return how old dates are read.

    Args:
        options: of a table with `COLUMNAR_OPTIONS`.
    """
    return RebaseModes(options[_DATETIME_REBASE_MODE], options[_INT96_REBASE_MODE])
