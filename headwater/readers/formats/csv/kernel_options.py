"""The kernel's table of options, and the transition table of a dialect: how it cuts unusual records."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.csv_settings import UNESCAPED_QUOTES, CsvDialect
from headwater.readers.formats.csv.grammar import SPACE, Grammar
from headwater.readers.formats.csv.states import Current, State
from headwater.readers.formats.format import FormatOptions
from headwater.readers.kernels.arrays import address

_ASCII: Final = 128


class TransitionTable(NamedTuple):
    """The table, and the classes of characters.

    Attributes:
        entries: by state, class of the previous character, and column: the class of the current one, where
            separators have several characters for each way to match them; and the end of the input.
        classes: the class of each character of ASCII.
        wide: code point and class of other characters that have one of their own.
        wide_count: how many these are.
        class_count: how many classes there are. The last one has all other characters.
    """

    entries: npt.NDArray[np.int64]
    classes: npt.NDArray[np.uint8]
    wide: npt.NDArray[np.int64]
    wide_count: int
    class_count: int


@lru_cache(maxsize=64)
def transition_table(codes: tuple[int, ...], newline: int, separators: tuple[int, ...]) -> TransitionTable:
    """Return the table of a dialect.

    Args:
        codes: the first of the kernel's options, up to `OPTION_HANDLING`.
        newline: its option `OPTION_NEWLINE`.
        separators: the characters of the separator.
    """
    special = sorted({0, newline, *separators, *codes[L.OPTION_QUOTE : L.OPTION_LINE_END + 1]} - {-1})
    white = next(code for code in range(SPACE, 0, -1) if code not in special)
    other = next(code for code in range(SPACE + 1, _ASCII) if code not in special)
    examples = [*special, white, other]
    last = len(examples) - 1
    classes = np.full(_ASCII, last, np.uint8)
    classes[: SPACE + 1] = last - 1
    for number, code in enumerate(special):
        if 0 <= code < _ASCII:
            classes[code] = number
    wide = [(code, number) for number, code in enumerate(special) if not 0 <= code < _ASCII]
    entries = _entries(Grammar(codes, newline, separators), examples)
    return TransitionTable(entries, classes, np.array(wide or [(0, 0)], np.int64), len(wide), len(examples))


def _entries(grammar: Grammar, examples: list[int]) -> npt.NDArray[np.int64]:
    """Return the entries for all states that are reached from the beginning of a record."""
    states = [State("record")]
    numbers = {states[0]: 0}

    def number_of(state: State | None) -> int:
        if state is None:
            return 0
        if state not in numbers:
            numbers[state] = len(states)
            states.append(state)
        return numbers[state]

    def row_of(state: State, previous: int) -> list[int]:
        row = []
        for match, character in product(grammar.matches, examples):
            at = Current(character, previous, grammar.match(character, match), state)
            move = getattr(grammar, state.method)(at)
            targets = number_of(move.next) << L.NEXT_SHIFT | number_of(move.otherwise) << L.OTHERWISE_SHIFT
            stays = move.next == state and move.operations & ~L.DO_KEEP_CHARACTER in {0, L.DO_APPEND}
            row.append(move.operations | targets | (L.DO_STAY if stays else 0))
        return [*row, grammar.at_end(state)]

    rows: list[list[int]] = []
    for state in states:  # which grows
        of_state: dict[int, list[int]] = {}
        for previous in examples:
            # Any other character before this one has no role.
            role = previous if previous in grammar.roles else examples[-1]
            if role not in of_state:
                of_state[role] = row_of(state, role)
            rows.append(of_state[role])
    return np.array(rows, np.int64)


class KernelOptions:
    """The kernel's table of options, and the texts that it points to."""

    def __init__(self, dialect: CsvDialect, options: FormatOptions, line_separator: str) -> None:
        table = np.zeros(L.OPTION_FIELDS, np.int64)
        first, two = [*map(ord, line_separator), 0][:2]
        table[L.OPTION_SEPARATOR] = ord(dialect.separator[0])
        table[L.OPTION_QUOTE] = _code(dialect.quote)
        table[L.OPTION_ESCAPE] = _code(dialect.escape)
        table[L.OPTION_ESCAPE_ESCAPE] = _code(_escape_escape(dialect))
        table[L.OPTION_COMMENT] = ord(dialect.comment) if dialect.comment else -1
        table[L.OPTION_LINE_END] = first
        table[L.OPTION_LINE_END_TWO] = two
        table[L.OPTION_NEWLINE] = _newline(dialect)
        table[L.OPTION_LEADING] = dialect.ignore_leading
        table[L.OPTION_TRAILING] = dialect.ignore_trailing
        table[L.OPTION_HANDLING] = UNESCAPED_QUOTES[dialect.unescaped_quotes]
        table[L.OPTION_NORMALIZE_QUOTED] = dialect.line_separator is None or not dialect.multi_line
        table[L.OPTION_MOST_COLUMNS] = dialect.max_columns
        table[L.OPTION_MOST_CHARACTERS] = dialect.max_characters
        specials = [dialect.separator, dialect.comment, dialect.quote, dialect.escape, line_separator]
        plain = len(dialect.separator) == 1 and "".join([*specials, dialect.escape_escape or ""]).isascii()
        # At a record's end these have effects that depend on single characters.
        plain = plain and dialect.escape != "" and dialect.escape_escape in {None, dialect.escape}
        trims = dialect.ignore_leading or dialect.ignore_trailing
        if plain and dialect.max_characters < 0:
            table[L.OPTION_PLAIN] = L.PLAIN_TRIMMED if trims else L.PLAIN
        times = replace(options, time_fallback=dialect.time_fallback)
        table[L.OPTION_DATE_FALLBACK] = times.date_fallback
        table[L.OPTION_TIMESTAMP_FALLBACK] = times.timestamp_fallback
        texts = (
            *(dialect.null_value, dialect.empty_value, dialect.nan_value),
            *(dialect.positive_inf, dialect.negative_inf),
        )
        # With room behind them, which the kernel may load.
        self._texts = [np.frombuffer(text.encode() + bytes(128), np.uint8) for text in texts]
        for which, (text, room) in enumerate(zip(texts, self._texts, strict=True)):
            table[L.OPTION_TEXTS + 2 * which] = address(room)
            table[L.OPTION_TEXTS + 2 * which + 1] = len(text.encode())
        separators = tuple(map(ord, dialect.separator))
        table[L.OPTION_SEPARATORS] = len(separators)
        table[L.OPTION_SEPARATORS + 1 : L.OPTION_SEPARATORS + 1 + len(separators)] = separators
        codes = tuple(table[: L.OPTION_HANDLING + 1].tolist())
        transitions = transition_table(codes, _newline(dialect), separators)
        table[L.OPTION_TABLE] = address(transitions.entries)
        table[L.OPTION_COLUMNS] = transitions.entries.shape[1]
        table[L.OPTION_CLASS_COUNT] = transitions.class_count
        table[L.OPTION_CLASSES] = address(transitions.classes)
        table[L.OPTION_WIDE] = address(transitions.wide)
        table[L.OPTION_WIDE_COUNT] = transitions.wide_count
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
    return ord("\n") if dialect.multi_line else L.NO_NEWLINE


def _escape_escape(dialect: CsvDialect) -> str:
    if dialect.escape_escape is not None:
        return dialect.escape_escape
    return "" if dialect.quote == dialect.escape else dialect.escape
