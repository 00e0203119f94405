"""Whether the schema of a query goes with its options, and how new columns of files are treated.

Also where an inferred schema is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from headwater.connector.compat import spark_fields, spark_type
from headwater.connector.formats.ddl import check_types
from headwater.connector.options import ParsedOptions
from headwater.connector.sources.files.read_options import COLUMNS, FORMAT, INCLUDE_METADATA
from headwater.core.errors import OptionError
from headwater.core.options import Option, one_of
from headwater.core.state_store import StateStore
from headwater.readers.files.schema_history import SchemaHistory
from headwater.readers.files.settings import (
    EVOLUTION_MODES,
    METADATA_COLUMN,
    METADATA_TYPE,
    DriftSettings,
    EvolutionMode,
    KnownFileFormat,
    ReadSettings,
    is_metadata,
)
from headwater.readers.files.text_settings import RecordSettings
from headwater.readers.rescued import RESCUED_COLUMN


def _schema_name(raw: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", raw.strip()):
        raise ValueError(f"must be a name of letters, digits, '_', '-' and '.', not {raw!r}")
    return raw.strip()


def _mode(raw: str) -> EvolutionMode | None:
    return one_of(*EVOLUTION_MODES)(raw)


_SCHEMA_EVOLUTION_MODE: Final[Option[EvolutionMode | None]] = Option(
    "schemaEvolutionMode",
    _mode,
    None,
    "What becomes of columns that files have and the schema has not: the query stops and has them after a "
    "restart (needs `schemaName`), they are in the column for rescued data, the query stops for good, or "
    "they are not read. See [Drift](#drift).",
    shown_default="`addNewColumns` with `schemaName`, else `none`",
)
SCHEMA_NAME: Final = Option(
    "schemaName",
    _schema_name,
    None,
    "Under this name an inferred schema is kept at `stateLocation`, and is the same after a restart; queries "
    "that give the same name share it.",
)

DRIFT_OPTIONS: Final = (_SCHEMA_EVOLUTION_MODE, SCHEMA_NAME)
"""In the order in which the docs list them."""


def with_drift(read: ReadSettings, options: ParsedOptions, store: StateStore | None) -> ReadSettings:
    """Return how files are read, with the mode of schema evolution.

    Args:
        read: by all other options.
        options: of a table with `DRIFT_OPTIONS`.
        store: at ``stateLocation``, None if there is none.

    Raises:
        OptionError: something is missing, or clashes.
    """
    name = options[SCHEMA_NAME]
    mode = options[_SCHEMA_EVOLUTION_MODE] or ("none" if name is None else "addNewColumns")
    if name is not None and store is None:
        raise OptionError("needs stateLocation, a folder in which the schema is kept", option="schemaName")
    if mode == "addNewColumns" and name is None:
        raise OptionError(
            "addNewColumns needs two more options: schemaName, a name for the schema, and stateLocation, a "
            "folder in which it is kept, since Spark does not tell a Python source where its checkpoint is",
            option=_SCHEMA_EVOLUTION_MODE.name,
        )
    if mode != "none":
        _check_clashes(read, options, mode)
    rescues = mode in ("addNewColumns", "rescue") and read.abilities.rescues
    if rescues and read.records.rescued_column is None:
        read = replace(read, records=replace(read.records, rescued_column=RESCUED_COLUMN))
    history = None if name is None or store is None else SchemaHistory(store, name)
    return replace(read, drift=DriftSettings(mode=mode, history=history, name=name))


def _check_clashes(read: ReadSettings, options: ParsedOptions, mode: EvolutionMode) -> None:
    if not read.abilities.rescues:
        raise OptionError(
            f"{mode} is not for the format {read.format!r}, which has always the same columns: remove it",
            option=_SCHEMA_EVOLUTION_MODE.name,
        )
    if options[COLUMNS] is not None:
        raise OptionError(
            f"cannot be given together with {_SCHEMA_EVOLUTION_MODE.name}={mode}: new columns are seen only "
            "where all are read. Select columns after load()",
            option=COLUMNS.name,
        )


def check_given_schema(read: ReadSettings) -> None:
    """Refuse options that are for an inferred schema where the user gave one.

    Raises:
        OptionError: they are given.
    """
    if read.drift.name is not None:
        rescued = RecordSettings.OPTIONS["rescued_column"].name
        raise OptionError(
            "is for an inferred schema, and one was given with .schema(...): remove one of the two. With a "
            f"given schema schemaEvolutionMode is rescue (with {rescued}), fail or none",
            option=SCHEMA_NAME.name,
        )


def settings_for_tasks(read: ReadSettings) -> ReadSettings:
    """Return how tasks read.

    Where new columns in JSON stop the query, there is a column in which they show.
    """
    assert read.schema is not None
    if (
        read.drift.mode != "fail"
        or read.records.rescued_column is not None
        or not read.abilities.has_documents
    ):
        return read
    return replace(
        read,
        schema=read.schema.append(pa.field(RESCUED_COLUMN, pa.string())),
        records=replace(read.records, rescued_column=RESCUED_COLUMN),
        drift=replace(read.drift, hides_rescued=True),
    )


def check_schema(
    schema: pa.Schema, read: ReadSettings, *, columns: tuple[str, ...] | None, needs_metadata: bool
) -> None:
    """Compare a schema with the options.

    Args:
        schema: that was given or inferred.
        read: how files become rows.
        columns: the option ``columns``, if the schema was given.
        needs_metadata: whether there is to be a column ``_metadata``.

    Raises:
        OptionError: they contradict each other, or the format cannot have such a column.
    """
    if columns is not None and tuple(schema.names) != columns:
        raise OptionError(
            f"is for an inferred schema; the one given with .schema(...) has {', '.join(schema.names)}",
            option=COLUMNS.name,
        )
    _check_metadata(schema, needed=needs_metadata)
    _check_special_columns(schema, read)
    _check_types(pa.schema([field for field in schema if not is_metadata(field)]), read.abilities)


def check_binary_schema(schema: pa.Schema) -> None:
    """Prove that a schema that was given has all columns of ``binaryFile``, as for Spark's own reader.

    Raises:
        OptionError: it has others.
    """
    from headwater.readers.files.fixed_formats import BINARY_SCHEMA

    ours = [(field.name, field.type) for field in schema if field.name in BINARY_SCHEMA.names]
    if ours != [(field.name, field.type) for field in BINARY_SCHEMA]:
        raise OptionError(
            "binaryFile has path string, modificationTime timestamp, length bigint and content binary, in "
            f"this order, and the given schema has {', '.join(schema.names)}: leave .schema(...) out, and "
            f"say with the option {COLUMNS.name} which of them are read",
            option=FORMAT.name,
        )


def _check_metadata(schema: pa.Schema, *, needed: bool) -> None:
    if not needed:
        return
    if METADATA_COLUMN in schema.names and schema.field(METADATA_COLUMN).type != METADATA_TYPE:
        kind = spark_type(METADATA_TYPE)
        raise OptionError(
            f"the column {METADATA_COLUMN} must be {kind.simpleString()} in the schema",
            option=INCLUDE_METADATA.name,
        )
    if METADATA_COLUMN not in schema.names:
        raise OptionError(
            f"needs the column {METADATA_COLUMN} in the schema that is given with .schema(...)",
            option=INCLUDE_METADATA.name,
        )


def _check_special_columns(schema: pa.Schema, read: ReadSettings) -> None:
    """Refuse columns for bad and rescued records that are no strings, and a schema without the latter."""
    rescued = read.records.rescued_column
    for name in read.special_columns & set(schema.names):
        if schema.field(name).type != pa.string():
            option = "rescued_column" if name == rescued else "corrupt_column"
            raise read.records.refusal(option, f"the column {name} must be a string in the schema")
    if rescued is not None and rescued not in schema.names:
        raise read.records.refusal(
            "rescued_column",
            f"needs the column {rescued} string in the schema that is given with .schema(...)",
        )


def _check_types(schema: pa.Schema, abilities: KnownFileFormat) -> None:
    """Refuse types that no value of the format becomes."""
    from headwater.connector.formats.plain_formats import refused_by_csv

    variants = [field.name for field in schema if _has_variant(field.type)]
    if variants:
        raise OptionError(
            f"the column {variants[0]!r} has the type variant, which cannot be made here: leave it out of "
            "the schema, or read it with Spark's own reader",
            option="schema",
        )
    _check_case(schema, "")
    fields = spark_fields(schema)
    if abilities.has_header and (refused := refused_by_csv(fields)):
        raise OptionError(refused, option="schema")
    if abilities.has_documents:
        try:
            check_types(fields)
        except ValueError as error:
            raise OptionError(f"the schema {error}", option=FORMAT.name) from error


def _check_case(fields: Iterable[pa.Field[Any]], path: str) -> None:
    """Refuse names that differ in case alone, at any depth: names of files' columns go by any case."""
    names = [field.name.lower() for field in fields]
    if twice := [name for at, name in enumerate(names) if name in names[:at]]:
        raise OptionError(
            f"the schema names {path + twice[0]!r} twice, and case does not count for files here: use "
            "Spark's own reader with spark.sql.caseSensitive=true",
            option=FORMAT.name,
        )
    for field in fields:
        kind = field.type
        _check_case([kind.field(at) for at in range(kind.num_fields)], f"{path}{field.name}.")


def _has_variant(kind: Any) -> bool:
    """Whether a type is Spark's variant in Arrow, or has one inside."""
    fields = [kind.field(at) for at in range(kind.num_fields)]
    is_variant = any((field.metadata or {}).get(b"variant") == b"true" for field in fields)
    return is_variant or any(_has_variant(field.type) for field in fields)
