"""The transition table of a dialect: how the kernel cuts records that are not ordinary.

It follows univocity's CsvParser, malformed input included. A public method of `_Grammar` is a state of the
machine: it gets the current character, and returns the operations to do and the next state. Characters with
the same role in a dialect have the same transitions, so a method is called once for each class of them.

A separator may have several characters, of which a part is text where the rest does not follow. univocity
reads such records by other rules.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.readers.formats.csv import layout as L

_SPACE: Final = 32
"""White space is every character up to this one, as in Java's ``trim``."""
_ASCII: Final = 128
_NO_MATCH, _PART, _WHOLE = range(3)
_RAISE: Final = L.HANDLING_RAISE_ERROR
_SKIP: Final = L.HANDLING_SKIP_VALUE
_BACK: Final = L.HANDLING_BACK_TO_DELIMITER


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
    white = next(code for code in range(_SPACE, 0, -1) if code not in special)
    other = next(code for code in range(_SPACE + 1, _ASCII) if code not in special)
    examples = [*special, white, other]
    last = len(examples) - 1
    classes = np.full(_ASCII, last, np.uint8)
    classes[: _SPACE + 1] = last - 1
    for number, code in enumerate(special):
        if 0 <= code < _ASCII:
            classes[code] = number
    wide = [(code, number) for number, code in enumerate(special) if not 0 <= code < _ASCII]
    entries = _entries(_Grammar(codes, newline, separators), examples)
    return TransitionTable(entries, classes, np.array(wide or [(0, 0)], np.int64), len(wide), len(examples))


class _Move(NamedTuple):
    """Operations (`DO_...`), the next state, and the one if the condition of an operation does not hold."""

    operations: int
    next: _State | None = None
    otherwise: _State | None = None


class _State(NamedTuple):
    """A state of the machine.

    Attributes:
        method: of the grammar: it has the moves.
        is_unescaped: whether the value has a quote that is not escaped.
        is_long: whether a separator of several characters may end the value. Also there univocity goes on
            as if the separator were the character 0 where text follows white space behind a closing quote.
        behind: of a part of a separator: the state where that part is text.
        end: and the operations where the separator ends.
    """

    method: str
    is_unescaped: bool = False
    is_long: bool = False
    behind: str = ""
    end: int = 0


class _Current(NamedTuple):
    """A character, and its surroundings.

    Attributes:
        character: its code point.
        previous: the character before it, as far as that counts; 0 for none.
        match: whether it continues the separator, or ends it.
        state: of the machine.
    """

    character: int
    previous: int
    match: int
    state: _State

    def to(self, method: str, **changes: Any) -> _State:
        """Return the state of a method inside of the same value."""
        return self.state._replace(method=method, **changes)


def _entries(grammar: _Grammar, examples: list[int]) -> npt.NDArray[np.int64]:
    """Return the entries for all states that are reached from the beginning of a record."""
    states = [_State("record")]
    numbers = {states[0]: 0}

    def number_of(state: _State | None) -> int:
        if state is None:
            return 0
        if state not in numbers:
            numbers[state] = len(states)
            states.append(state)
        return numbers[state]

    def row_of(state: _State, previous: int) -> list[int]:
        row = []
        for match, character in product(grammar.matches, examples):
            at = _Current(character, previous, grammar.match(character, match), state)
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


class _Grammar:
    """The states of the machine: a method for each, which gets the current character."""

    def __init__(self, codes: tuple[int, ...], newline: int, separators: tuple[int, ...]) -> None:
        self._newline = newline
        self._quote, self._escape, self._escape_escape = codes[L.OPTION_QUOTE : L.OPTION_ESCAPE_ESCAPE + 1]
        self._special = (self._quote, self._escape)
        self.roles = {self._quote, self._escape, self._escape_escape}
        """The characters that count as previous ones."""
        self._skips_leading = codes[L.OPTION_LEADING] == 1
        self._trim = L.DO_TRIM if codes[L.OPTION_TRAILING] == 1 else 0
        self._trim_now = L.DO_TRIM_NOW if codes[L.OPTION_TRAILING] == 1 else 0
        self._handling = codes[L.OPTION_HANDLING]
        self._goes_on = self._handling not in {L.HANDLING_STOP_AT_CLOSING_QUOTE, _RAISE}
        """Whether a value with a quote that is not escaped goes on up to a separator."""
        self._is_long = len(separators) > 1
        self._separator = 0 if self._is_long else separators[0]
        self.matches = range(3 if self._is_long else 1)
        """The ways to match a separator that have columns in the table."""

    def match(self, character: int, match: int) -> int:
        """Return how a character matches the separator: one of several characters in each way."""
        if self._is_long:
            return match
        return _WHOLE if character == self._separator else _NO_MATCH

    def at_end(self, state: _State) -> int:
        """Return the operations where the input ends in a state."""
        is_white = state.method == "behind_white" or state.behind == "white"
        return L.DO_END_WHITE if is_white else 0

    # The beginning of values

    def record(self, at: _Current) -> _Move:
        """The first character of a record, or behind white space there."""
        if self._is_leading(at):
            return _Move(0, _State("record_white" if self._is_long else "record"))
        if at.character == self._newline:
            return _Move((L.DO_END_IF_ANY if self._is_long else 0) | L.DO_END_RECORD)
        return self.value(at)

    def record_white(self, at: _Current) -> _Move:
        """Behind white space at the beginning of a record: only here a long separator may begin."""
        return self._match(at, "record", L.DO_END_OR_NULL) or self.record(at)

    def value(self, at: _Current) -> _Move:
        """The first character behind a separator, or behind white space there."""
        if self._is_leading(at):
            return _Move(0, _State("value_white" if self._is_long else "value"))
        if at.character == self._newline:
            return _Move(L.DO_END_OR_NULL | L.DO_END_RECORD)
        if self._is_long:
            return self._match(at, "value_begin", L.DO_END_OR_NULL) or self.value_begin(at)
        if at.match == _WHOLE:
            return _Move(L.DO_NULL, _State("value"))
        whole = _State("value_end")
        if at.character == self._quote:
            return _Move(L.DO_BEGIN | L.DO_QUOTED | L.DO_PLAIN_QUOTED, _State("quoted"), whole)
        return _Move(L.DO_BEGIN | L.DO_PLAIN_TEXT | L.DO_HOLD, _State("text"), whole)

    def value_white(self, at: _Current) -> _Move:
        """Behind white space before a value: only here a long separator may begin."""
        return self._match(at, "value", L.DO_END_OR_NULL) or self.value(at)

    def value_end(self, at: _Current) -> _Move:
        """Behind a value that was taken as a whole."""
        if at.character == self._newline:
            return _Move(L.DO_END_RECORD)
        return _Move(0, _State("value")) if at.match == _WHOLE else self.value(at)

    def following(self, at: _Current) -> _Move:
        """Behind a separator of several characters."""
        return _Move(L.DO_NULL | L.DO_END_RECORD) if at.character == self._newline else self.value(at)

    def value_begin(self, at: _Current) -> _Move:
        """The first character of a value, where separators have several."""
        text = _State("long_text")
        if at.character == self._quote:
            # A part of a separator before the quote makes it text.
            quoted = _State("quoted", is_long=True)
            return _Move(L.DO_BEGIN | L.DO_IF_EMPTY | L.DO_QUOTED, quoted, text)
        return _Move(L.DO_BEGIN | L.DO_HOLD, text)

    def text(self, at: _Current) -> _Move:
        """Text without quotes, which nothing ends: else it was taken as a whole."""
        if self._ends(at):
            return self._end(at, L.DO_END_VALUE)
        return _Move(L.DO_APPEND | L.DO_KEEP_CHARACTER, at.state)

    def long_text(self, at: _Current) -> _Move:
        """Text without quotes, where separators have several characters."""
        if at.character == self._newline:
            return self._end(at, self._trim_now | L.DO_END_VALUE)
        return self._match(at, "long_text", self._trim_now | L.DO_END_VALUE) or _Move(L.DO_APPEND, at.state)

    def _is_leading(self, at: _Current) -> bool:
        """Whether this is white space that is skipped. A long separator is not looked for in it."""
        stops = {self._newline, self._quote} | (set() if self._is_long else {self._separator})
        return self._skips_leading and at.character <= _SPACE and at.character not in stops

    def _ends(self, at: _Current) -> bool:
        return at.character in {self._separator, self._newline}

    def _end(self, at: _Current, operations: int) -> _Move:
        """Go on behind a value at whose separator or line end the machine is."""
        if at.character == self._newline:
            return _Move(operations | L.DO_END_RECORD)
        return _Move(operations, _State("following" if self._is_long else "value"))

    # Separators of several characters

    def _match(self, at: _Current, behind: str, end: int) -> _Move | None:
        """Begin a separator, if the character does.

        Args:
            at: the character.
            behind: the state where a part of a separator is text, which the value has then.
            end: the operations where the separator ends, and with it the value.
        """
        return _Move(L.DO_MATCH, at.to("matching", behind=behind, end=end)) if at.match == _PART else None

    def matching(self, at: _Current) -> _Move:
        """A part of a separator."""
        state = at.state
        behind = at.to(state.behind, behind="", end=0)
        if state.behind in {"long_text", "unquoted"} and at.character == self._newline:
            return _Move(L.DO_SAVE_MATCH | L.DO_HOLD, behind)
        if at.match == _PART:
            return _Move(L.DO_MATCH, state)
        if at.match == _NO_MATCH:
            return _Move(L.DO_SAVE_MATCH | L.DO_HOLD, behind)
        if state.behind == "unquoted":
            return _Move(L.DO_NO_MATCH | L.DO_HOLD, at.to("closed", behind="", end=0))
        if state.behind in {"record", "value"}:
            return _Move(L.DO_NO_MATCH | state.end, behind)
        return self._end(at, L.DO_NO_MATCH | state.end)

    # Inside of quotes

    def quoted(self, at: _Current) -> _Move:
        """Inside of quotes, or behind the closing one."""
        is_closed = at.previous == self._quote
        if is_closed and (at.character <= _SPACE or self._ends(at)):
            if at.state.is_long:
                return self.closed(at)
            return self._done(at) if self._ends(at) else _Move(L.DO_MARK, at.to("behind_quote"))
        match = self._match(at, "inside", self._close(at)) if is_closed and at.state.is_long else None
        return match or self.inside(at)

    def inside(self, at: _Current) -> _Move:
        """Inside of quotes."""
        if at.character in self._special:
            return self._quote_or_escape(at)
        if at.previous == self._quote:
            return self._unescaped(at)
        is_escape = at.previous == self._escape != 0
        return _Move(L.DO_HOLD | (L.DO_APPEND_ESCAPE if is_escape else 0), at.to("quoted_text"))

    def quoted_text(self, at: _Current) -> _Move:
        """Text inside of quotes."""
        if at.character in {*self._special, self._escape_escape}:
            return _Move(L.DO_PREVIOUS, at.to("quoted"))
        return _Move(L.DO_APPEND | L.DO_KEEP_CHARACTER, at.state)

    def behind_special(self, at: _Current) -> _Move:
        """Behind a quote or an escape inside of quotes."""
        if at.state.is_unescaped:
            if at.character == self._newline or (self._ends(at) and not at.state.is_long):
                return self._done(at)
            match = self._match(at, "quoted", self._close(at)) if at.state.is_long else None
            if match is not None:
                return match
        return self.quoted(at)

    def behind_quote(self, at: _Current) -> _Move:
        """White space behind the closing quote: it is skipped, unless more than that follows."""
        if self._ends(at):
            return self._done(at)
        if at.character <= _SPACE:
            return _Move(0, at.state)
        if self._handling == _RAISE:
            return _Move(L.DO_FAIL | L.DO_SKIP | L.DO_HOLD, at.to("skipped"))
        return self._again(at, L.DO_APPEND_QUOTE | L.DO_APPEND_WHITE | self._behind_white(at))

    def rest_begin(self, at: _Current) -> _Move:
        """The first character of the rest of a value with a quote that is not escaped."""
        return _Move(self._trim | L.DO_HOLD, at.to("rest"))

    def rest(self, at: _Current) -> _Move:
        """The rest of such a value, up to a separator."""
        return self._done(at) if self._ends(at) else _Move(L.DO_APPEND | L.DO_KEEP_CHARACTER, at.state)

    def unquoted(self, at: _Current) -> _Move:
        """The same, up to a separator of several characters."""
        if at.character == self._newline:
            return self.closed(at)
        return self._match(at, "unquoted", 0) or _Move(L.DO_APPEND, at.state)

    def skipped(self, at: _Current) -> _Move:
        """A value that is null since it has a quote that is not escaped."""
        return self._done(at) if self._ends(at) else _Move(0, at.state)

    def _done(self, at: _Current, operations: int = 0) -> _Move:
        """End a quoted value."""
        return self._end(at, operations | self._close(at))

    def _close(self, at: _Current) -> int:
        """Return the operations at the end of a quoted value."""
        is_cut = self._handling == _BACK and at.state.is_unescaped and not self._is_long
        return L.DO_CLOSE | (L.DO_END_IF_ANY if is_cut else L.DO_END_VALUE)

    # Quotes that are not escaped

    def _unescaped(self, at: _Current) -> _Move:
        """Go on with a value in which a quote stands that is neither escaped nor at its end."""
        if self._handling == _BACK:
            operations = L.DO_UNESCAPED | L.DO_BACK | L.DO_APPEND | L.DO_NO_PREVIOUS
            return _Move(operations, at.to("quoted", is_unescaped=True))
        if self._handling in {_SKIP, _RAISE}:
            operations = L.DO_UNESCAPED | self._fail() | L.DO_SKIP | L.DO_HOLD
            return _Move(operations, at.to("skipped", is_unescaped=True))
        operations = L.DO_UNESCAPED | L.DO_APPEND_QUOTE | L.DO_APPEND | L.DO_PREVIOUS
        at = at._replace(state=at.to("quoted", is_unescaped=True, is_long=self._is_long))
        if self._is_long and self._goes_on:
            return _Move(operations | L.DO_PREPEND_QUOTE | self._trim, at.to("unquoted"))
        return _Move(operations, at.state) if self._is_long else self._again(at, operations)

    def _again(self, at: _Current, operations: int) -> _Move:
        """Go on behind such a quote, or behind white space and a closing one."""
        at = at._replace(state=at.to("quoted", is_long=False))
        if at.character == 0 or not self._goes_on:
            return _Move(operations, at.state)
        if self._handling == _SKIP:
            return _Move(operations | L.DO_SKIP | L.DO_HOLD, at.to("skipped"))
        return _Move(operations | L.DO_PREPEND_QUOTE, at.to("rest_begin"))

    def _behind_white(self, at: _Current) -> int:
        """Return the operations that make a character a part of a value that goes on behind its quote."""
        appends = self._goes_on or at.character not in self._special
        return L.DO_PREVIOUS | (L.DO_APPEND if appends else 0)

    def _fail(self) -> int:
        return L.DO_FAIL if self._handling == _RAISE else 0

    # Quotes and escapes inside of quotes

    def _quote_or_escape(self, at: _Current) -> _Move:
        """Do with a quote or an escape inside of a value the meaning that it has there."""
        operations = self._escaped(at)
        if operations is not None:
            return _Move(operations | L.DO_PREVIOUS, at.to("behind_special"))
        # A quote that is not escaped, with an escape behind it.
        if self._handling in {_SKIP, _RAISE}:
            return _Move(self._fail() | L.DO_SKIP | L.DO_HOLD, at.to("skipped_part"))
        return _Move(L.DO_APPEND_QUOTE | L.DO_PREVIOUS | L.DO_HOLD, at.to("escaped_rest"))

    def _escaped(self, at: _Current) -> int | None:
        """Return the operations for a quote or an escape that is nothing but that; else None."""
        if at.character == self._escape and at.previous == self._escape_escape != 0:
            return L.DO_APPEND_ESCAPE | L.DO_NO_CHARACTER
        if at.previous == self._escape:
            is_quote = at.character == self._quote
            return L.DO_APPEND_QUOTE | L.DO_NO_CHARACTER if is_quote else L.DO_APPEND_ESCAPE
        if at.previous == self._quote:
            return L.DO_APPEND_QUOTE if at.character == self._quote else None
        return 0

    def escaped_rest(self, at: _Current) -> _Move:
        """The rest of a value in which an escape stands behind a quote.

        Each such escape lets the value go over one more separator.
        """
        if self._ends(at):
            return _Move(L.DO_LESS | L.DO_PREVIOUS, at.to("behind_special"), at.state)
        if at.character not in self._special:
            quote = L.DO_APPEND_QUOTE if at.previous == self._quote else 0
            return _Move(quote | L.DO_APPEND | L.DO_PREVIOUS, at.state)
        operations = self._escaped(at)
        if operations is None:
            return _Move(L.DO_APPEND_QUOTE | L.DO_MORE | L.DO_PREVIOUS | L.DO_HOLD, at.state)
        return _Move(operations | L.DO_PREVIOUS, at.state)

    def skipped_part(self, at: _Current) -> _Move:
        """A value that is null since an escape stands behind a quote: it goes on behind the separator."""
        return _Move(L.DO_PREVIOUS, at.to("behind_special")) if self._ends(at) else _Move(0, at.state)

    # White space behind the closing quote, where separators have several characters

    def closed(self, at: _Current) -> _Move:
        """The end of a quoted value, or white space behind it."""
        if at.character == self._newline or at.character > _SPACE:
            return self._done(at)
        return _Move(L.DO_BEGIN_WHITE | L.DO_HOLD, at.to("white_or_separator"))

    def white_or_separator(self, at: _Current) -> _Move:
        """White space behind the closing quote, or the separator behind that."""
        return self._match(at, "white", L.DO_END_WHITE | self._close(at)) or self.white(at)

    def white(self, at: _Current) -> _Move:
        """White space: it is skipped, unless more than that follows."""
        if at.character <= _SPACE and at.character != self._newline:
            return _Move(L.DO_WHITE | L.DO_APPEND, at.to("behind_white"))
        if at.character <= _SPACE or self._handling == _RAISE:
            return self._done(at, L.DO_END_WHITE)
        return self._again(at, self._behind_white(at))

    def behind_white(self, at: _Current) -> _Move:
        """The character behind white space."""
        return self.white(at) if at.character == self._newline else self.white_or_separator(at)
