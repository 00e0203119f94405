"""The grammar of a dialect: what each state of the machine does with a character.

It follows univocity's CsvParser, malformed input included. Public methods of `Grammar` that take a character
are the states of the machine: each returns the operations to do and the next state.

A separator may have several characters, of which a part is text where the rest does not follow. univocity
reads such records by other rules.
"""

from __future__ import annotations

from typing import Final

from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.states import NO_MATCH, PART, WHOLE, Current, Move, State

SPACE: Final = 32
"""White space is every character up to this one, as in Java's ``trim``."""
_RAISE: Final = L.HANDLING_RAISE_ERROR
_SKIP: Final = L.HANDLING_SKIP_VALUE
_BACK: Final = L.HANDLING_BACK_TO_DELIMITER


class Grammar:
    """The states of the machine: a method for each, which gets the current character.

    Args:
        codes: the first of the kernel's options, up to `OPTION_HANDLING`.
        newline: its option `OPTION_NEWLINE`.
        separators: the characters of the separator.
    """

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
        return WHOLE if character == self._separator else NO_MATCH

    def at_end(self, state: State) -> int:
        """Return the operations where the input ends in a state."""
        is_white = state.method == "behind_white" or state.behind == "white"
        return L.DO_END_WHITE if is_white else 0

    # The beginning of values

    def record(self, at: Current) -> Move:
        """The first character of a record, or behind white space there."""
        if self._is_leading(at):
            return Move(0, State("record_white" if self._is_long else "record"))
        if at.character == self._newline:
            return Move((L.DO_END_IF_ANY if self._is_long else 0) | L.DO_END_RECORD)
        return self.value(at)

    def record_white(self, at: Current) -> Move:
        """Behind white space at the beginning of a record: only here a long separator may begin."""
        return self._match(at, "record", L.DO_END_OR_NULL) or self.record(at)

    def value(self, at: Current) -> Move:
        """The first character behind a separator, or behind white space there."""
        if self._is_leading(at):
            return Move(0, State("value_white" if self._is_long else "value"))
        if at.character == self._newline:
            return Move(L.DO_END_OR_NULL | L.DO_END_RECORD)
        if self._is_long:
            return self._match(at, "value_begin", L.DO_END_OR_NULL) or self.value_begin(at)
        if at.match == WHOLE:
            return Move(L.DO_NULL, State("value"))
        whole = State("value_end")
        if at.character == self._quote:
            return Move(L.DO_BEGIN | L.DO_QUOTED | L.DO_PLAIN_QUOTED, State("quoted"), whole)
        return Move(L.DO_BEGIN | L.DO_PLAIN_TEXT | L.DO_HOLD, State("text"), whole)

    def value_white(self, at: Current) -> Move:
        """Behind white space before a value: only here a long separator may begin."""
        return self._match(at, "value", L.DO_END_OR_NULL) or self.value(at)

    def value_end(self, at: Current) -> Move:
        """Behind a value that was taken as a whole."""
        if at.character == self._newline:
            return Move(L.DO_END_RECORD)
        return Move(0, State("value")) if at.match == WHOLE else self.value(at)

    def following(self, at: Current) -> Move:
        """Behind a separator of several characters."""
        return Move(L.DO_NULL | L.DO_END_RECORD) if at.character == self._newline else self.value(at)

    def value_begin(self, at: Current) -> Move:
        """The first character of a value, where separators have several."""
        text = State("long_text")
        if at.character == self._quote:
            # A part of a separator before the quote makes it text.
            quoted = State("quoted", is_long=True)
            return Move(L.DO_BEGIN | L.DO_IF_EMPTY | L.DO_QUOTED, quoted, text)
        return Move(L.DO_BEGIN | L.DO_HOLD, text)

    def text(self, at: Current) -> Move:
        """Text without quotes, which nothing ends: else it was taken as a whole."""
        if self._ends(at):
            return self._end(at, L.DO_END_VALUE)
        return Move(L.DO_APPEND | L.DO_KEEP_CHARACTER, at.state)

    def long_text(self, at: Current) -> Move:
        """Text without quotes, where separators have several characters."""
        if at.character == self._newline:
            return self._end(at, self._trim_now | L.DO_END_VALUE)
        return self._match(at, "long_text", self._trim_now | L.DO_END_VALUE) or Move(L.DO_APPEND, at.state)

    def _is_leading(self, at: Current) -> bool:
        """Whether this is white space that is skipped. A long separator is not looked for in it."""
        stops = {self._newline, self._quote} | (set() if self._is_long else {self._separator})
        return self._skips_leading and at.character <= SPACE and at.character not in stops

    def _ends(self, at: Current) -> bool:
        return at.character in {self._separator, self._newline}

    def _end(self, at: Current, operations: int) -> Move:
        """Go on behind a value at whose separator or line end the machine is."""
        if at.character == self._newline:
            return Move(operations | L.DO_END_RECORD)
        return Move(operations, State("following" if self._is_long else "value"))

    # Separators of several characters

    def _match(self, at: Current, behind: str, end: int) -> Move | None:
        """Begin a separator, if the character does.

        Args:
            at: the character.
            behind: the state where a part of a separator is text, which the value has then.
            end: the operations where the separator ends, and with it the value.
        """
        return Move(L.DO_MATCH, at.to("matching", behind=behind, end=end)) if at.match == PART else None

    def matching(self, at: Current) -> Move:
        """A part of a separator."""
        state = at.state
        behind = at.to(state.behind, behind="", end=0)
        if state.behind in {"long_text", "unquoted"} and at.character == self._newline:
            return Move(L.DO_SAVE_MATCH | L.DO_HOLD, behind)
        if at.match == PART:
            return Move(L.DO_MATCH, state)
        if at.match == NO_MATCH:
            return Move(L.DO_SAVE_MATCH | L.DO_HOLD, behind)
        if state.behind == "unquoted":
            return Move(L.DO_NO_MATCH | L.DO_HOLD, at.to("closed", behind="", end=0))
        if state.behind in {"record", "value"}:
            return Move(L.DO_NO_MATCH | state.end, behind)
        return self._end(at, L.DO_NO_MATCH | state.end)

    # Inside of quotes

    def quoted(self, at: Current) -> Move:
        """Inside of quotes, or behind the closing one."""
        is_closed = at.previous == self._quote
        if is_closed and (at.character <= SPACE or self._ends(at)):
            if at.state.is_long:
                return self.closed(at)
            return self._done(at) if self._ends(at) else Move(L.DO_MARK, at.to("behind_quote"))
        match = self._match(at, "inside", self._close(at)) if is_closed and at.state.is_long else None
        return match or self.inside(at)

    def inside(self, at: Current) -> Move:
        """Inside of quotes."""
        if at.character in self._special:
            return self._quote_or_escape(at)
        if at.previous == self._quote:
            return self._unescaped(at)
        is_escape = at.previous == self._escape != 0
        return Move(L.DO_HOLD | (L.DO_APPEND_ESCAPE if is_escape else 0), at.to("quoted_text"))

    def quoted_text(self, at: Current) -> Move:
        """Text inside of quotes."""
        if at.character in {*self._special, self._escape_escape}:
            return Move(L.DO_PREVIOUS, at.to("quoted"))
        return Move(L.DO_APPEND | L.DO_KEEP_CHARACTER, at.state)

    def behind_special(self, at: Current) -> Move:
        """Behind a quote or an escape inside of quotes."""
        if at.state.is_unescaped:
            if at.character == self._newline or (self._ends(at) and not at.state.is_long):
                return self._done(at)
            match = self._match(at, "quoted", self._close(at)) if at.state.is_long else None
            if match is not None:
                return match
        return self.quoted(at)

    def behind_quote(self, at: Current) -> Move:
        """White space behind the closing quote: it is skipped, unless more than that follows."""
        if self._ends(at):
            return self._done(at)
        if at.character <= SPACE:
            return Move(0, at.state)
        if self._handling == _RAISE:
            return Move(L.DO_FAIL | L.DO_SKIP | L.DO_HOLD, at.to("skipped"))
        return self._again(at, L.DO_APPEND_QUOTE | L.DO_APPEND_WHITE | self._behind_white(at))

    def rest_begin(self, at: Current) -> Move:
        """The first character of the rest of a value with a quote that is not escaped."""
        return Move(self._trim | L.DO_HOLD, at.to("rest"))

    def rest(self, at: Current) -> Move:
        """The rest of such a value, up to a separator."""
        return self._done(at) if self._ends(at) else Move(L.DO_APPEND | L.DO_KEEP_CHARACTER, at.state)

    def unquoted(self, at: Current) -> Move:
        """The same, up to a separator of several characters."""
        if at.character == self._newline:
            return self.closed(at)
        return self._match(at, "unquoted", 0) or Move(L.DO_APPEND, at.state)

    def skipped(self, at: Current) -> Move:
        """A value that is null since it has a quote that is not escaped."""
        return self._done(at) if self._ends(at) else Move(0, at.state)

    def _done(self, at: Current, operations: int = 0) -> Move:
        """End a quoted value."""
        return self._end(at, operations | self._close(at))

    def _close(self, at: Current) -> int:
        """Return the operations at the end of a quoted value."""
        is_cut = self._handling == _BACK and at.state.is_unescaped and not self._is_long
        return L.DO_CLOSE | (L.DO_END_IF_ANY if is_cut else L.DO_END_VALUE)

    # Quotes that are not escaped

    def _unescaped(self, at: Current) -> Move:
        """Go on with a value in which a quote stands that is neither escaped nor at its end."""
        if self._handling == _BACK:
            operations = L.DO_UNESCAPED | L.DO_BACK | L.DO_APPEND | L.DO_NO_PREVIOUS
            return Move(operations, at.to("quoted", is_unescaped=True))
        if self._handling in {_SKIP, _RAISE}:
            operations = L.DO_UNESCAPED | self._fail() | L.DO_SKIP | L.DO_HOLD
            return Move(operations, at.to("skipped", is_unescaped=True))
        operations = L.DO_UNESCAPED | L.DO_APPEND_QUOTE | L.DO_APPEND | L.DO_PREVIOUS
        at = at._replace(state=at.to("quoted", is_unescaped=True, is_long=self._is_long))
        if self._is_long and self._goes_on:
            return Move(operations | L.DO_PREPEND_QUOTE | self._trim, at.to("unquoted"))
        return Move(operations, at.state) if self._is_long else self._again(at, operations)

    def _again(self, at: Current, operations: int) -> Move:
        """Go on behind such a quote, or behind white space and a closing one."""
        at = at._replace(state=at.to("quoted", is_long=False))
        if at.character == 0 or not self._goes_on:
            return Move(operations, at.state)
        if self._handling == _SKIP:
            return Move(operations | L.DO_SKIP | L.DO_HOLD, at.to("skipped"))
        return Move(operations | L.DO_PREPEND_QUOTE, at.to("rest_begin"))

    def _behind_white(self, at: Current) -> int:
        """Return the operations that make a character a part of a value that goes on behind its quote."""
        appends = self._goes_on or at.character not in self._special
        return L.DO_PREVIOUS | (L.DO_APPEND if appends else 0)

    def _fail(self) -> int:
        return L.DO_FAIL if self._handling == _RAISE else 0

    # Quotes and escapes inside of quotes

    def _quote_or_escape(self, at: Current) -> Move:
        """Do with a quote or an escape inside of a value the meaning that it has there."""
        operations = self._escaped(at)
        if operations is not None:
            return Move(operations | L.DO_PREVIOUS, at.to("behind_special"))
        # A quote that is not escaped, with an escape behind it.
        if self._handling in {_SKIP, _RAISE}:
            return Move(self._fail() | L.DO_SKIP | L.DO_HOLD, at.to("skipped_part"))
        return Move(L.DO_APPEND_QUOTE | L.DO_PREVIOUS | L.DO_HOLD, at.to("escaped_rest"))

    def _escaped(self, at: Current) -> int | None:
        """Return the operations for a quote or an escape that is nothing but that; else None."""
        if at.character == self._escape and at.previous == self._escape_escape != 0:
            return L.DO_APPEND_ESCAPE | L.DO_NO_CHARACTER
        if at.previous == self._escape:
            is_quote = at.character == self._quote
            return L.DO_APPEND_QUOTE | L.DO_NO_CHARACTER if is_quote else L.DO_APPEND_ESCAPE
        if at.previous == self._quote:
            return L.DO_APPEND_QUOTE if at.character == self._quote else None
        return 0

    def escaped_rest(self, at: Current) -> Move:
        """The rest of a value in which an escape stands behind a quote.

        Each such escape lets the value go over one more separator.
        """
        if self._ends(at):
            return Move(L.DO_LESS | L.DO_PREVIOUS, at.to("behind_special"), at.state)
        if at.character not in self._special:
            quote = L.DO_APPEND_QUOTE if at.previous == self._quote else 0
            return Move(quote | L.DO_APPEND | L.DO_PREVIOUS, at.state)
        operations = self._escaped(at)
        if operations is None:
            return Move(L.DO_APPEND_QUOTE | L.DO_MORE | L.DO_PREVIOUS | L.DO_HOLD, at.state)
        return Move(operations | L.DO_PREVIOUS, at.state)

    def skipped_part(self, at: Current) -> Move:
        """A value that is null since an escape stands behind a quote: it goes on behind the separator."""
        return Move(L.DO_PREVIOUS, at.to("behind_special")) if self._ends(at) else Move(0, at.state)

    # White space behind the closing quote, where separators have several characters

    def closed(self, at: Current) -> Move:
        """The end of a quoted value, or white space behind it."""
        if at.character == self._newline or at.character > SPACE:
            return self._done(at)
        return Move(L.DO_BEGIN_WHITE | L.DO_HOLD, at.to("white_or_separator"))

    def white_or_separator(self, at: Current) -> Move:
        """White space behind the closing quote, or the separator behind that."""
        return self._match(at, "white", L.DO_END_WHITE | self._close(at)) or self.white(at)

    def white(self, at: Current) -> Move:
        """White space: it is skipped, unless more than that follows."""
        if at.character <= SPACE and at.character != self._newline:
            return Move(L.DO_WHITE | L.DO_APPEND, at.to("behind_white"))
        if at.character <= SPACE or self._handling == _RAISE:
            return self._done(at, L.DO_END_WHITE)
        return self._again(at, self._behind_white(at))

    def behind_white(self, at: Current) -> Move:
        """The character behind white space."""
        return self.white(at) if at.character == self._newline else self.white_or_separator(at)
