"""The formats of Avro values: plain ones of one schema, and those in Confluent's wire format.

The latter name the schema that they were written with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.core.errors import FormatSchemaError, SourceError
from headwater.core.imports import importing
from headwater.readers.formats.avro.columns import arrow_schema, value_record
from headwater.readers.formats.avro.schema import parse_schema
from headwater.readers.formats.avro.types import AvroType
from headwater.readers.formats.format import Format, FormatOptions, ValueDecoder
from headwater.readers.formats.registry.glue_settings import GlueSettings
from headwater.readers.formats.registry.settings import RegistrySettings

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class AvroValueFormat(Format):
    """Values of an Avro schema, as columns of the types that Spark's ``from_avro`` makes.

    A schema that is no record makes one column, `headwater.readers.formats.avro.columns.VALUE_COLUMN`. Of the
    options it takes ``corrupt_column``.

    Args:
        reader_schema: the schema of the columns, in JSON.
        writer_schema: the schema that the values were written with; None: the reader's.
        options: those of all formats.

    Raises:
        FormatSchemaError: a schema cannot be read.
    """

    reader_schema: str
    writer_schema: str | None = None
    options: FormatOptions = field(default_factory=FormatOptions)

    def __post_init__(self) -> None:
        parse_schema(self.reader_schema)
        self._writer()

    @property
    def is_single_value(self) -> bool:
        return is_single(parse_schema(self.reader_schema), self.options)

    def schema(self) -> pa.Schema:
        return with_corrupt_column(arrow_schema(parse_schema(self.reader_schema)), self.options)

    def decoder(self) -> ValueDecoder:
        from headwater.readers.formats.avro.decoder import AvroDecoder

        return AvroDecoder(
            parse_schema(self.reader_schema),
            corrupt_column=self.options.corrupt_column is not None,
            header=0,
            writer=lambda _id, _row: self._writer(),
        )

    def _writer(self) -> AvroType:
        if self.writer_schema is None:
            return parse_schema(self.reader_schema)
        return parse_schema(self.writer_schema, recursive=True)


def is_single(schema: AvroType, options: FormatOptions) -> bool:
    """Return whether values are one column: their schema is no record, and no column is added."""
    return value_record(schema) is None and options.corrupt_column is None


def with_corrupt_column(columns: pa.Schema, options: FormatOptions) -> pa.Schema:
    """Return the columns, and after them that for corrupt values if it is asked for."""
    import pyarrow as pa

    if options.corrupt_column is None:
        return columns
    return columns.append(pa.field(options.corrupt_column, pa.string()))


@dataclass(frozen=True)
class ConfluentAvroFormat(Format):
    """Values with the id of their schema in front, resolved one by one to the reader's schema.

    Each schema is fetched once a process. A row depends on the bytes of its value and on the schema alone,
    which a registry never changes.

    Args:
        reader_schema: the schema of the columns, in JSON.
        registry: where the schemas of the writers are.
        references: schemas that the reader's names types of, each after those that it needs itself.
        options: those of all formats; ``corrupt_column`` is taken.

    Raises:
        FormatSchemaError: the reader's schema cannot be read.
    """

    reader_schema: str
    registry: RegistrySettings | GlueSettings
    references: tuple[str, ...] = ()
    options: FormatOptions = field(default_factory=FormatOptions)

    def __post_init__(self) -> None:
        self._reader()

    @property
    def is_single_value(self) -> bool:
        return is_single(self._reader(), self.options)

    def schema(self) -> pa.Schema:
        return with_corrupt_column(arrow_schema(self._reader()), self.options)

    def decoder(self) -> ValueDecoder:
        return self._decoder(raw_bytes=True)

    @property
    def base64_at(self) -> int | None:
        return None if self.options.corrupt_column is None else len(self.schema()) - 1

    def prefix_of(self, header: bytes) -> bytes | None:
        from headwater.readers.formats.registry.named import prefix_of

        return prefix_of(header, self.registry)

    def _decoder(self, *, raw_bytes: bool) -> ValueDecoder:
        from headwater.readers.formats.avro.decoder import AvroDecoder
        from headwater.readers.formats.wire_format import HEADER_BYTES

        return AvroDecoder(
            self._reader(),
            corrupt_column=self.options.corrupt_column is not None,
            header=HEADER_BYTES,
            writer=self._writer,
            raw_bytes=raw_bytes,
        )

    def _reader(self) -> AvroType:
        return parse_schema(self.reader_schema, self.references, any_names=True)

    def _writer(self, schema_id: int, row: int) -> AvroType:
        """Return the schema that a value names."""
        with importing("the confluent-avro format", extra="formats"):
            from headwater.readers.formats.registry.client import registry
        try:
            registered = registry(self.registry).by_id(schema_id)
        except SourceError as error:
            raise type(error)(error.message, source=error.source, position=row) from error
        if registered.kind != "AVRO":
            raise SourceError(f"{registered.name} is of the kind {registered.kind}, not AVRO", position=row)
        try:
            others = [text for _, text in registered.references]
            return parse_schema(registered.text, others, recursive=True, any_names=True)
        except FormatSchemaError as error:
            raise SourceError(f"{registered.name}: {error}", position=row) from error


@dataclass(frozen=True)
class GlueAvroFormat(ConfluentAvroFormat):
    """The same values in the wire format of AWS Glue's schema registry."""

    def decoder(self) -> ValueDecoder:
        from headwater.readers.formats.glue_frames import GlueFrames
        from headwater.readers.formats.registry.client import registry
        from headwater.readers.formats.wire_format import BehindHeader, Reasons, base64_text

        reasons = Reasons()
        return BehindHeader(
            self._decoder(raw_bytes=False),
            GlueFrames(reasons, registry(self.registry).id_of),
            reasons,
            corrupt_at=self.base64_at,
            shown=base64_text,
        )
