"""The transition table of a dialect: how the kernel cuts records that are not ordinary.

The moves of the dialect's grammar for every state, previous and current character. Characters with the same
role in a dialect have the same transitions, so a state is asked once for each class of them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.grammar import SPACE, Grammar
from headwater.readers.formats.csv.states import Current, State

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
