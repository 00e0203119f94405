"""The kernel's table of options."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headwater.readers.formats.csv import layout
from headwater.readers.formats.csv.csv_settings import UNESCAPED_QUOTES, CsvDialect
from headwater.readers.formats.csv.transitions import transition_table
from headwater.readers.formats.format import FormatOptions
from headwater.readers.kernels.arrays import address


class KernelOptions:
    """The kernel's table of options, and the texts that it points to."""

    def __init__(self, dialect: CsvDialect, options: FormatOptions, line_separator: str) -> None:
        table = np.zeros(layout.OPTION_FIELDS, np.int64)
        first, two = [*map(ord, line_separator), 0][:2]
        table[layout.OPTION_SEPARATOR] = ord(dialect.separator[0])
        table[layout.OPTION_QUOTE] = _code(dialect.quote)
        table[layout.OPTION_ESCAPE] = _code(dialect.escape)
        table[layout.OPTION_ESCAPE_ESCAPE] = _code(_escape_escape(dialect))
        table[layout.OPTION_COMMENT] = ord(dialect.comment) if dialect.comment else -1
        table[layout.OPTION_LINE_END] = first
        table[layout.OPTION_LINE_END_TWO] = two
        table[layout.OPTION_NEWLINE] = _newline(dialect)
        table[layout.OPTION_LEADING] = dialect.ignore_leading
        table[layout.OPTION_TRAILING] = dialect.ignore_trailing
        table[layout.OPTION_HANDLING] = UNESCAPED_QUOTES[dialect.unescaped_quotes]
        table[layout.OPTION_NORMALIZE_QUOTED] = dialect.line_separator is None or not dialect.multi_line
        table[layout.OPTION_MOST_COLUMNS] = dialect.max_columns
        table[layout.OPTION_MOST_CHARACTERS] = dialect.max_characters
        specials = [dialect.separator, dialect.comment, dialect.quote, dialect.escape, line_separator]
        plain = len(dialect.separator) == 1 and "".join([*specials, dialect.escape_escape or ""]).isascii()
        # At a record's end these have effects that depend on single characters.
        plain = plain and dialect.escape != "" and dialect.escape_escape in {None, dialect.escape}
        trims = dialect.ignore_leading or dialect.ignore_trailing
        if plain and dialect.max_characters < 0:
            table[layout.OPTION_PLAIN] = layout.PLAIN_TRIMMED if trims else layout.PLAIN
        times = replace(options, time_fallback=dialect.time_fallback)
        table[layout.OPTION_DATE_FALLBACK] = times.date_fallback
        table[layout.OPTION_TIMESTAMP_FALLBACK] = times.timestamp_fallback
        texts = (
            *(dialect.null_value, dialect.empty_value, dialect.nan_value),
            *(dialect.positive_inf, dialect.negative_inf),
        )
        # With room behind them, which the kernel may load.
        self._texts = [np.frombuffer(text.encode() + bytes(128), np.uint8) for text in texts]
        for which, (text, room) in enumerate(zip(texts, self._texts, strict=True)):
            table[layout.OPTION_TEXTS + 2 * which] = address(room)
            table[layout.OPTION_TEXTS + 2 * which + 1] = len(text.encode())
        separators = tuple(map(ord, dialect.separator))
        table[layout.OPTION_SEPARATORS] = len(separators)
        table[layout.OPTION_SEPARATORS + 1 : layout.OPTION_SEPARATORS + 1 + len(separators)] = separators
        codes = tuple(table[: layout.OPTION_HANDLING + 1].tolist())
        transitions = transition_table(codes, _newline(dialect), separators)
        table[layout.OPTION_TABLE] = address(transitions.entries)
        table[layout.OPTION_COLUMNS] = transitions.entries.shape[1]
        table[layout.OPTION_CLASS_COUNT] = transitions.class_count
        table[layout.OPTION_CLASSES] = address(transitions.classes)
        table[layout.OPTION_WIDE] = address(transitions.wide)
        table[layout.OPTION_WIDE_COUNT] = transitions.wide_count
        self.transitions = transitions
        """The table that the dialect has in common with others like it."""
        self._table = table

    @property
    def address(self) -> int:
        return address(self._table)


def _code(character: str) -> int:
    return ord(character) if character else 0


def _newline(dialect: CsvDialect) -> int:
    """Return the character that replaces line separators: one given by the user is kept, as in Spark."""
    if dialect.line_separator is None:
        return ord("\n")
    if len(dialect.line_separator) == 1:
        return ord(dialect.line_separator)
    # What was cut at such separators has none: a line feed in it is text.
    return ord("\n") if dialect.multi_line else layout.NO_NEWLINE


def _escape_escape(dialect: CsvDialect) -> str:
    if dialect.escape_escape is not None:
        return dialect.escape_escape
    return "" if dialect.quote == dialect.escape else dialect.escape
