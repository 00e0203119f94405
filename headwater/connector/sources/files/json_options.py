"""The options of JSON alone, and what they come to: Spark's names, defaults and meanings."""

from __future__ import annotations

from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.connector.sources.files.refused_options import refused
from headwater.core.errors import OptionError
from headwater.core.options import Option, boolean
from headwater.readers.files.lines import UTF_8, LineSettings
from headwater.readers.files.text_settings import JsonSettings

_WITH_LINES: Final = ("UTF-16", "UTF-32")
"""Encodings whose lines Spark does not read: a mark is expected in each of them."""


def _flag(name: str, what: str, *, default: bool = False) -> Option[bool]:
    return Option(name, boolean, default, f"JSON: whether {what}.")


_ALLOW_COMMENTS: Final = _flag("allowComments", "`/* */` and `//` are passed over")
_ALLOW_UNQUOTED: Final = _flag("allowUnquotedFieldNames", "names may stand without quotation marks")
_ALLOW_SINGLE: Final = _flag("allowSingleQuotes", "`'` may stand in the place of `\"`", default=True)
_ALLOW_ZEROS: Final = _flag("allowNumericLeadingZeros", "numbers may begin with zeros, as `007`")
_ALLOW_NON_NUMERIC: Final = _flag(
    "allowNonNumericNumbers", "`NaN`, `Infinity`, `-INF` and the like are numbers", default=True
)
_ALLOW_ESCAPES: Final = _flag(
    "allowBackslashEscapingAnyCharacter", "any character may stand behind a backslash"
)
_ALLOW_CONTROL: Final = _flag("allowUnquotedControlChars", "strings may hold control characters")
_PRIMITIVES_AS_STRING: Final = _flag("primitivesAsString", "numbers and booleans are inferred as strings")
_PREFERS_DECIMAL: Final = _flag("prefersDecimal", "numbers are inferred as decimals where they fit")
_DROP_ALL_NULL: Final = _flag("dropFieldIfAllNull", "inferred schemas leave out what is only ever null")
_INFER_TIMESTAMP: Final = _flag("inferTimestamp", "strings that are times are inferred as `timestamp`")

JSON_OPTIONS: Final[tuple[Option[Any], ...]] = (
    _ALLOW_COMMENTS,
    _ALLOW_UNQUOTED,
    _ALLOW_SINGLE,
    _ALLOW_ZEROS,
    _ALLOW_NON_NUMERIC,
    _ALLOW_ESCAPES,
    _ALLOW_CONTROL,
    _PRIMITIVES_AS_STRING,
    _PREFERS_DECIMAL,
    _DROP_ALL_NULL,
    _INFER_TIMESTAMP,
    refused("singleVariantColumn", "a column of the type variant cannot be made here"),
    refused("explodeEmbeddedArray", "a column of the type variant cannot be made here"),
    refused("timeFormat", "times of day are read as Spark casts text; read others as strings, and cast them"),
)
"""In the order in which the docs list them."""


def json_settings(options: ParsedOptions, *, multi_line: bool) -> JsonSettings:
    """Return how JSON is written.

    Args:
        options: of a table with `JSON_OPTIONS`.
        multi_line: whether a file is one document.
    """
    return JsonSettings(
        multi_line=multi_line,
        comments=options[_ALLOW_COMMENTS],
        unquoted_names=options[_ALLOW_UNQUOTED],
        single_quotes=options[_ALLOW_SINGLE],
        leading_zeros=options[_ALLOW_ZEROS],
        non_numeric=options[_ALLOW_NON_NUMERIC],
        any_escape=options[_ALLOW_ESCAPES],
        control_characters=options[_ALLOW_CONTROL],
        primitives_as_string=options[_PRIMITIVES_AS_STRING],
        prefers_decimal=options[_PREFERS_DECIMAL],
        drop_all_null=options[_DROP_ALL_NULL],
        infer_timestamp=options[_INFER_TIMESTAMP],
    )


def check_json_lines(lines: LineSettings) -> None:
    """Raise an error for lines that Spark does not read as JSON.

    Raises:
        OptionError: such lines would be cut at the wrong bytes.
    """
    if lines.encoding in _WITH_LINES:
        raise OptionError(
            f"{lines.encoding} is for files with multiLine=true: name the order of bytes, as UTF-16LE",
            option="encoding",
        )
    if lines.encoding not in {None, UTF_8} and lines.separator is None:
        raise OptionError(f"{lines.encoding} needs option 'lineSep': what ends a line", option="encoding")
