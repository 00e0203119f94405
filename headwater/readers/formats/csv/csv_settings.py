"""How CSV is written, and what its values mean: Spark's options, as the kernel needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.readers.formats.csv import layout

UNESCAPED_QUOTES: Final = {
    "STOP_AT_DELIMITER": layout.HANDLING_STOP_AT_DELIMITER,
    "STOP_AT_CLOSING_QUOTE": layout.HANDLING_STOP_AT_CLOSING_QUOTE,
    "BACK_TO_DELIMITER": layout.HANDLING_BACK_TO_DELIMITER,
    "SKIP_VALUE": layout.HANDLING_SKIP_VALUE,
    "RAISE_ERROR": layout.HANDLING_RAISE_ERROR,
}
"""The words of the option ``unescapedQuoteHandling``."""


@dataclass(frozen=True, kw_only=True)
class CsvDialect:
    """How records are written. The defaults are Spark's. Immutable and picklable.

    Attributes:
        separator: between values, one character or several.
        quote: around values that hold a separator; empty for no quoting.
        escape: before a quote inside of quotes; empty for none.
        escape_escape: before an escape that stands for itself; None for the escape, unless that is the quote.
        comment: begins lines that are none; empty for none.
        null_value: what stands for null.
        empty_value: what two quotes with nothing between them mean.
        nan_value: what stands for NaN.
        positive_inf: what stands for infinity.
        negative_inf: what stands for infinity below 0.
        ignore_leading: whether white space before values is left out.
        ignore_trailing: whether white space behind values is left out.
        unescaped_quotes: one of `UNESCAPED_QUOTES`.
        line_separator: between records; None for a line feed, a carriage return, or both.
        multi_line: whether quoted values may hold line ends.
        max_columns: how many values a record may have.
        max_characters: how many characters a value may have; -1 for any number.
        time_fallback: whether dates and times that do not fit their pattern are read as Spark casts text;
            None: where there is no pattern.
    """

    separator: str = ","
    quote: str = '"'
    escape: str = "\\"
    escape_escape: str | None = None
    comment: str = ""
    null_value: str = ""
    empty_value: str = ""
    nan_value: str = "NaN"
    positive_inf: str = "Inf"
    negative_inf: str = "-Inf"
    ignore_leading: bool = False
    ignore_trailing: bool = False
    unescaped_quotes: str = "STOP_AT_DELIMITER"
    line_separator: str | None = None
    multi_line: bool = False
    max_columns: int = 20_480
    max_characters: int = -1
    time_fallback: bool | None = None
