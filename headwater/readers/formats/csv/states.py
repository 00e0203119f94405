"""The states of the machine that cuts records: what the grammar of a dialect says of one character.

`grammar` has a method for each state; `transitions` makes a table of their answers.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

NO_MATCH: Final = 0
"""A character is no part of the separator ..."""
PART: Final = 1
"""... continues it ..."""
WHOLE: Final = 2
"""... or ends it."""


class Move(NamedTuple):
    """Operations (`DO_...`), the next state, and the one if the condition of an operation does not hold."""

    operations: int
    next: State | None = None
    otherwise: State | None = None


class State(NamedTuple):
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


class Current(NamedTuple):
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
    state: State

    def to(self, method: str, **changes: Any) -> State:
        """Return the state of a method inside of the same value."""
        return self.state._replace(method=method, **changes)
