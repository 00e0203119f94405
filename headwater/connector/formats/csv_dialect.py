"""The options on how records of CSV are written, with Spark's names, defaults and meanings."""

from __future__ import annotations

from typing import Any, Final

from headwater.connector.options import OptionTable, ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option, boolean, integer, one_of
from headwater.readers.formats.csv.csv_settings import UNESCAPED_QUOTES, CsvDialect
from headwater.readers.formats.csv.layout import MOST_SEPARATORS

_ESCAPES: Final = {"t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_LONGEST_SEPARATOR: Final = 2


def _one_or_none(raw: str) -> str:
    if len(raw) > 1 or raw > "\uffff":
        raise ValueError(f"must be one character, or empty for none, not {raw!r}")
    return raw


def _separator(raw: str) -> str:
    r"""Return a separator, in which ``\t`` and the like are two characters for one."""
    found = ""
    at = 0
    while at < len(raw):
        if raw[at] != "\\":
            found += raw[at]
            at += 1
            continue
        escaped = raw[at + 1 : at + 2]
        if escaped not in _ESCAPES or not escaped:
            raise ValueError(rf"has a backslash that means nothing: {raw!r}. Write \\ for a backslash")
        found += _ESCAPES[escaped]
        at += 2
    if not found or len(found) > MOST_SEPARATORS or max(found) > "\uffff":
        raise ValueError(f"must be 1 to {MOST_SEPARATORS} characters, not {raw!r}")
    return found


def _most_characters(raw: str) -> int:
    if raw.strip() == "-1":
        return -1
    return integer(1)(raw)


_SEP: Final[Option[str | None]] = Option(
    "sep", _separator, None, "CSV: between values, one character or several.", shown_default="`,`"
)
_DELIMITER: Final[Option[str | None]] = Option(
    "delimiter", _separator, None, "CSV: another name of `sep`.", shown_default="`,`"
)
_QUOTE: Final = Option(
    "quote", _one_or_none, '"', "CSV: around values that hold a separator; empty for no quoting."
)
_ESCAPE: Final = Option(
    "escape",
    _one_or_none,
    "\\",
    'CSV: before a quote inside of quotes. `"` for files after RFC 4180, in which two quotes stand for one.',
)
_ESCAPE_ESCAPE: Final[Option[str | None]] = Option(
    "charToEscapeQuoteEscaping",
    _one_or_none,
    None,
    "CSV: before an escape that stands for itself.",
    shown_default="the escape, unless that is the quote",
)
_COMMENT: Final = Option(
    "comment", _one_or_none, "", "CSV: begins lines that are none.", shown_default="none"
)
_NULL_VALUE: Final = Option("nullValue", str, "", "CSV: what stands for null.", shown_default="empty")
_EMPTY_VALUE: Final = Option(
    "emptyValue", str, "", 'CSV: what `""` means.', shown_default="empty, which is null"
)
_NAN_VALUE: Final = Option("nanValue", str, "NaN", "CSV: what stands for NaN.")
_POSITIVE_INF: Final = Option("positiveInf", str, "Inf", "CSV: what stands for infinity.")
_NEGATIVE_INF: Final = Option("negativeInf", str, "-Inf", "CSV: what stands for infinity below 0.")
_LEADING: Final = Option(
    "ignoreLeadingWhiteSpace", boolean, False, "CSV: whether white space before values is left out."
)
_TRAILING: Final = Option(
    "ignoreTrailingWhiteSpace", boolean, False, "CSV: whether white space behind values is left out."
)
_UNESCAPED: Final = Option(
    "unescapedQuoteHandling",
    one_of(*UNESCAPED_QUOTES),
    "STOP_AT_DELIMITER",
    "CSV: what is done with a quote that is not escaped: "
    f"{', '.join(f'`{word}`' for word in UNESCAPED_QUOTES)}.",
)
_MAX_COLUMNS: Final = Option(
    "maxColumns", integer(1), 20_480, "CSV: how many values a record may have. More fail the query."
)
_MAX_CHARACTERS: Final = Option(
    "maxCharsPerColumn",
    _most_characters,
    -1,
    "CSV: how many characters a value may have; -1 for any number. More fail the query.",
)
TIME_FALLBACK: Final[Option[bool | None]] = Option(
    "enableDateTimeParsingFallback",
    boolean,
    None,
    "CSV, JSON: whether dates and times that do not fit their pattern are read as Spark casts text.",
    shown_default="where no pattern is given",
)

DIALECT_OPTIONS: Final = (
    *(_SEP, _DELIMITER, _QUOTE, _ESCAPE, _ESCAPE_ESCAPE, _COMMENT, _NULL_VALUE, _EMPTY_VALUE, _NAN_VALUE),
    *(_POSITIVE_INF, _NEGATIVE_INF, _LEADING, _TRAILING, _UNESCAPED, _MAX_COLUMNS, _MAX_CHARACTERS),
    TIME_FALLBACK,
)
"""In the order in which the docs list them."""

_TABLE: Final = OptionTable(DIALECT_OPTIONS)


def csv_dialect(
    options: ParsedOptions, line_separator: str | None = None, *, multi_line: bool = False
) -> CsvDialect:
    """Return how records are written.

    Args:
        options: of a table with `DIALECT_OPTIONS`.
        line_separator: between records, if the user has said so.
        multi_line: whether quoted values may hold line ends.

    Raises:
        OptionError: options that do not go together.
    """
    if line_separator is not None and len(line_separator) > _LONGEST_SEPARATOR:
        raise OptionError("must be one or two characters for CSV", option="lineSep")
    separator = options[_SEP] or options[_DELIMITER] or ","
    handling = options[_UNESCAPED]
    if len(separator) > 1 and handling in {"BACK_TO_DELIMITER", "SKIP_VALUE"}:
        raise OptionError(
            f"{handling} does not go with a separator of several characters, on which Spark's parser fails",
            option=_UNESCAPED.name,
        )
    if multi_line and handling == "BACK_TO_DELIMITER":
        raise OptionError(
            f"{handling} does not go with multiLine, where Spark's parser reads parts of values as records",
            option=_UNESCAPED.name,
        )
    if multi_line and options[_COMMENT] and options[_COMMENT] == options[_QUOTE]:
        raise OptionError(
            "must be another character than quote with multiLine, where Spark's parser gives the text of bad "
            "records in part",
            option=_COMMENT.name,
        )
    return CsvDialect(
        separator=separator,
        quote=options[_QUOTE],
        escape=options[_ESCAPE],
        escape_escape=options[_ESCAPE_ESCAPE] or None,
        comment=options[_COMMENT],
        null_value=options[_NULL_VALUE],
        empty_value=options[_EMPTY_VALUE],
        nan_value=options[_NAN_VALUE],
        positive_inf=options[_POSITIVE_INF],
        negative_inf=options[_NEGATIVE_INF],
        ignore_leading=options[_LEADING],
        ignore_trailing=options[_TRAILING],
        unescaped_quotes=handling,
        line_separator=line_separator,
        multi_line=multi_line,
        max_columns=options[_MAX_COLUMNS],
        max_characters=options[_MAX_CHARACTERS],
        time_fallback=options[TIME_FALLBACK],
    )


def dialect_of(given: dict[str, Any]) -> CsvDialect:
    """Return how single records are written, from the options that a user gives as a JSON object.

    Raises:
        ValueError: an option is none of these, or has a wrong value.
    """
    texts = {name.lower(): _text(value) for name, value in given.items()}
    try:
        return csv_dialect(_TABLE.parse(texts, None))
    except OptionError as error:
        raise ValueError(f"holds a wrong option: {error}") from None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
