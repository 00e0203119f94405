"""The format `csv`: each value is a record of CSV whose values are columns, as Spark's `from_csv` has it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format import Format, FormatOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.formats.csv.csv_decoder import CsvDecoder


@dataclass(frozen=True)
class CsvValueFormat(Format):
    """Records of CSV as columns, with the meaning of Spark's ``from_csv`` in the mode ``PERMISSIVE``.

    Attributes:
        arrow_schema: the columns in the order of the values, as Arrow's serialized schema. The column for
            corrupt values may be among them; else it is the last one.
        options: the user's other options.
        dialect: how records are written.
    """

    arrow_schema: bytes
    options: FormatOptions
    dialect: CsvDialect

    def schema(self) -> pa.Schema:
        """Return the columns: those of the given schema, and the one for corrupt values."""
        import pyarrow as pa

        schema = pa.ipc.read_schema(pa.py_buffer(self.arrow_schema))
        name = self.options.corrupt_column
        if name is not None and name not in schema.names:
            schema = schema.append(pa.field(name, pa.string()))
        return schema

    def in_time_zone(self, zone: str) -> Format:
        if self.options.time_zone is not None:
            return self
        return replace(self, options=replace(self.options, time_zone=zone))

    def decoder(self) -> CsvDecoder:
        """Make a decoder. Its kernel is loaded with the first value."""
        from headwater.readers.formats.csv.csv_decoder import CsvDecoder

        return CsvDecoder(self.schema(), self.options, self.dialect)
