"""How CSV is written, and the meaning of its values: Spark's options, as the kernel needs them."""

from __future__ import annotations

from typing import Final

from headwater.core.errors import OptionError
from headwater.core.options import Spec, integer, one_of, option
from headwater.readers.formats.csv import layout

UNESCAPED_QUOTES: Final = {
    "STOP_AT_DELIMITER": layout.HANDLING_STOP_AT_DELIMITER,
    "STOP_AT_CLOSING_QUOTE": layout.HANDLING_STOP_AT_CLOSING_QUOTE,
    "BACK_TO_DELIMITER": layout.HANDLING_BACK_TO_DELIMITER,
    "SKIP_VALUE": layout.HANDLING_SKIP_VALUE,
    "RAISE_ERROR": layout.HANDLING_RAISE_ERROR,
}
"""The words of the option ``unescapedQuoteHandling``."""
_ESCAPES: Final = {"t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_LONGEST_SEPARATOR: Final = 2


def _one_or_none(raw: str) -> str:
    if len(raw) > 1 or raw > "\uffff":
        raise ValueError(f"must be one character, or empty for none, not {raw!r}")
    return raw


def _other_escape(raw: str) -> str | None:
    return _one_or_none(raw) or None


def _separator(raw: str) -> str:
    r"""Return a separator, in which ``\t`` and the like are two characters for one."""
    separator = ""
    at = 0
    while at < len(raw):
        if raw[at] != "\\":
            separator += raw[at]
            at += 1
            continue
        escaped = raw[at + 1 : at + 2]
        if escaped not in _ESCAPES or not escaped:
            raise ValueError(rf"has a backslash that means nothing: {raw!r}. Write \\ for a backslash")
        separator += _ESCAPES[escaped]
        at += 2
    if not separator or len(separator) > layout.MOST_SEPARATORS or max(separator) > "\uffff":
        raise ValueError(f"must be 1 to {layout.MOST_SEPARATORS} characters, not {raw!r}")
    return separator


def _most_characters(raw: str) -> int:
    if raw.strip() == "-1":
        return -1
    return integer(1)(raw)


class CsvDialect(Spec):
    """How records are written. The defaults are Spark's. Immutable and picklable.

    Attributes:
        line_separator: between records; None for a line feed, a carriage return, or both.
        multi_line: whether quoted values may hold line ends.
    """

    separator: str = option(
        "sep",
        "CSV: between values, one character or several.",
        default=",",
        parse=_separator,
        also="delimiter",
    )
    quote: str = option(
        "quote",
        "CSV: around values that hold a separator; empty for no quoting.",
        default='"',
        parse=_one_or_none,
    )
    escape: str = option(
        "escape",
        'CSV: before a quote inside of quotes. `"` for files after RFC 4180, in which two quotes stand for '
        "one.",
        default="\\",
        parse=_one_or_none,
    )
    escape_escape: str | None = option(
        "charToEscapeQuoteEscaping",
        "CSV: before an escape that stands for itself.",
        default=None,
        parse=_other_escape,
        shown_default="the escape, unless that is the quote",
    )
    comment: str = option(
        "comment", "CSV: begins lines that are none.", default="", parse=_one_or_none, shown_default="none"
    )
    null_value: str = option(
        "nullValue", "CSV: what stands for null.", default="", parse=str, shown_default="empty"
    )
    empty_value: str = option(
        "emptyValue", 'CSV: what `""` means.', default="", parse=str, shown_default="empty, which is null"
    )
    nan_value: str = option("nanValue", "CSV: what stands for NaN.", default="NaN", parse=str)
    positive_inf: str = option("positiveInf", "CSV: what stands for infinity.", default="Inf", parse=str)
    negative_inf: str = option(
        "negativeInf", "CSV: what stands for infinity below 0.", default="-Inf", parse=str
    )
    ignore_leading: bool = option(
        "ignoreLeadingWhiteSpace", "CSV: whether white space before values is left out.", default=False
    )
    ignore_trailing: bool = option(
        "ignoreTrailingWhiteSpace", "CSV: whether white space behind values is left out.", default=False
    )
    unescaped_quotes: str = option(
        "unescapedQuoteHandling",
        "CSV: what is done with a quote that is not escaped: "
        f"{', '.join(f'`{word}`' for word in UNESCAPED_QUOTES)}.",
        default="STOP_AT_DELIMITER",
        parse=one_of(*UNESCAPED_QUOTES),
    )
    line_separator: str | None = None
    multi_line: bool = False
    max_columns: int = option(
        "maxColumns",
        "CSV: how many values a record may have. More fail the query.",
        default=20_480,
        parse=integer(1),
    )
    max_characters: int = option(
        "maxCharsPerColumn",
        "CSV: how many characters a value may have; -1 for any number. More fail the query.",
        default=-1,
        parse=_most_characters,
        kind="whole_number",
    )
    time_fallback: bool | None = option(
        "enableDateTimeParsingFallback",
        "CSV, JSON: whether dates and times that do not fit their pattern are read as Spark casts text.",
        default=None,
        shown_default="where no pattern is given",
    )

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises:
            OptionError: there are such.
        """
        handling = self.unescaped_quotes
        if self.line_separator is not None and len(self.line_separator) > _LONGEST_SEPARATOR:
            raise OptionError("must be one or two characters for CSV", option="lineSep")
        if len(self.separator) > 1 and handling in {"BACK_TO_DELIMITER", "SKIP_VALUE"}:
            raise self.refusal(
                "unescaped_quotes",
                f"{handling} does not go with a separator of several characters, on which Spark's parser "
                "fails",
            )
        if self.multi_line and handling == "BACK_TO_DELIMITER":
            raise self.refusal(
                "unescaped_quotes",
                f"{handling} does not go with multiLine, where Spark's parser reads parts of values as "
                "records",
            )
        if self.multi_line and self.comment and self.comment == self.quote:
            raise self.refusal(
                "comment",
                "must be another character than quote with multiLine, where Spark's parser gives the text of "
                "bad records in part",
            )
