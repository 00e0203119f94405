"""The options on how lines are written, which text, CSV and JSON share."""

from __future__ import annotations

from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.connector.sources.files.refused_options import refused
from headwater.core.options import Option, boolean, one_of
from headwater.readers.files.lines import ENCODINGS, LineSettings


def _separator(raw: str) -> str:
    if not raw:
        raise ValueError("must not be empty")
    return raw


_LINE_SEP: Final[Option[str | None]] = Option(
    "lineSep",
    _separator,
    None,
    "Text, CSV, JSON: what ends a line.",
    shown_default="line feed, carriage return, or both",
)
_ENCODING: Final[Option[str | None]] = Option(
    "encoding",
    one_of(*ENCODINGS),
    None,
    f"CSV, JSON: how text is encoded: {', '.join(ENCODINGS)}. Text is not decoded, as in Spark: there it "
    "counts for `lineSep` only.",
    shown_default="`UTF-8`",
)
_CHARSET: Final[Option[str | None]] = Option(
    "charset", one_of(*ENCODINGS), None, "CSV, JSON: another name of `encoding`.", shown_default="`UTF-8`"
)
_WHOLETEXT: Final = Option("wholetext", boolean, False, "Text: whether a file is one row.")

_COMPRESSION: Final = refused(
    "compression", "it is for writers, in Spark too: the suffix of a file's name says how it is compressed"
)

LINE_OPTIONS: Final[tuple[Option[Any], ...]] = (
    _LINE_SEP,
    _ENCODING,
    _CHARSET,
    _WHOLETEXT,
    _COMPRESSION,
)


def line_settings(options: ParsedOptions) -> LineSettings:
    """Return how lines are written.

    Args:
        options: of a table with `LINE_OPTIONS`.
    """
    return LineSettings(
        separator=options[_LINE_SEP],
        encoding=options[_ENCODING] or options[_CHARSET],
        whole=options[_WHOLETEXT],
    )
