"""The format `csv`: each value is a record of CSV whose values are columns, as Spark's `from_csv` has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format import ColumnsFormat

if TYPE_CHECKING:
    from headwater.readers.formats.csv.csv_decoder import CsvDecoder


@dataclass(frozen=True)
class CsvValueFormat(ColumnsFormat):
    """Records of CSV as columns, with the meaning of Spark's ``from_csv`` in the mode ``PERMISSIVE``.

    The columns are in the order of the values.

    Attributes:
        dialect: how records are written.
    """

    dialect: CsvDialect

    def decoder(self) -> CsvDecoder:
        """Make a decoder. Its kernel is loaded with the first value."""
        from headwater.readers.formats.csv.csv_decoder import CsvDecoder

        return CsvDecoder(self.schema(), self.options, self.dialect)
