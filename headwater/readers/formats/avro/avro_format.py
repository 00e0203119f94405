"""The format of plain Avro values: each is a datum of one schema, without a header."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.readers.formats.avro.columns import arrow_schema, value_record
from headwater.readers.formats.avro.schema import parse_schema
from headwater.readers.formats.avro.types import AvroType
from headwater.readers.formats.format import Format, ValueDecoder
from headwater.readers.formats.format_options import FormatOptions

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
        options: what all formats have in common.

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
        return parse_schema(self.reader_schema if self.writer_schema is None else self.writer_schema)


def is_single(schema: AvroType, options: FormatOptions) -> bool:
    """Return whether values are one column: their schema is no record, and no column is added."""
    return value_record(schema) is None and options.corrupt_column is None


def with_corrupt_column(columns: pa.Schema, options: FormatOptions) -> pa.Schema:
    """Return the columns, and after them that for corrupt values if it is asked for."""
    import pyarrow as pa

    if options.corrupt_column is None:
        return columns
    return columns.append(pa.field(options.corrupt_column, pa.string()))
