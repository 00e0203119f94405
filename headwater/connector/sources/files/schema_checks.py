"""Whether the schema of a query goes with its options and its format."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.connector.compat import spark_fields, spark_type
from headwater.connector.formats.ddl import check_types
from headwater.connector.sources.files.read_options import COLUMNS, FORMAT, INCLUDE_METADATA
from headwater.connector.sources.files.record_options import (
    COLUMN_NAME_OF_CORRUPT_RECORD,
    RESCUED_DATA_COLUMN,
)
from headwater.core.errors import OptionError
from headwater.readers.files.settings import METADATA_COLUMN, METADATA_TYPE, ReadSettings, is_metadata


def check_schema(
    schema: pa.Schema, read: ReadSettings, *, columns: tuple[str, ...] | None, needs_metadata: bool
) -> None:
    """Compare a schema with the options.

    Args:
        schema: that was given or inferred.
        read: how files become rows.
        columns: what the option ``columns`` says, if the schema was given.
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
    _check_types(pa.schema([field for field in schema if not is_metadata(field)]), read.format)


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
        wanted = spark_type(METADATA_TYPE)
        raise OptionError(
            f"the column {METADATA_COLUMN} must be {wanted.simpleString()} in the schema",
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
            option = RESCUED_DATA_COLUMN if name == rescued else COLUMN_NAME_OF_CORRUPT_RECORD
            raise OptionError(f"the column {name} must be a string in the schema", option=option.name)
    if rescued is not None and rescued not in schema.names:
        raise OptionError(
            f"needs the column {rescued} string in the schema that is given with .schema(...)",
            option=RESCUED_DATA_COLUMN.name,
        )


def _check_types(schema: pa.Schema, file_format: str) -> None:
    """Refuse types that no value of the format becomes."""
    from headwater.connector.formats.plain_formats import refused_by_csv

    variants = [field.name for field in schema if _has_variant(field.type)]
    if variants:
        raise OptionError(
            f"the column {variants[0]!r} has the type variant, which cannot be made here: leave it out of "
            "the schema, or read it with Spark's own reader",
            option="schema",
        )
    fields = spark_fields(schema)
    if file_format == "csv" and (refused := refused_by_csv(fields)):
        raise OptionError(refused, option="schema")
    if file_format == "json":
        try:
            check_types(fields)
        except ValueError as error:
            raise OptionError(f"the schema {error}", option=FORMAT.name) from error


def _has_variant(kind: Any) -> bool:
    """Whether a type is Spark's variant in Arrow, or has one inside."""
    fields = [kind.field(at) for at in range(kind.num_fields)]
    is_variant = any((field.metadata or {}).get(b"variant") == b"true" for field in fields)
    return is_variant or any(_has_variant(field.type) for field in fields)
