"""Patterns of dates and times, as Spark takes them in `timestampFormat`, as programs for the kernel.

The letters mean the same as in Java's `DateTimeFormatterBuilder.appendPattern` in the locale ``en-US``, with
Spark's changes: ``y`` may be negative, and ``S`` are as many digits of a fraction as there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from headwater.readers.formats.values import layout

PatternStep: TypeAlias = tuple[int, ...]
PatternProgram: TypeAlias = tuple[PatternStep, ...]

_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|(.)", re.DOTALL)
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_NUMBERS: Final = {
    "M": layout.MONTH,
    "L": layout.MONTH,
    "d": layout.DAY,
    "h": layout.CLOCK_HOUR_OF_HALF,
    "K": layout.HOUR_OF_HALF,
    "k": layout.CLOCK_HOUR,
    "H": layout.HOUR,
    "m": layout.MINUTE,
    "s": layout.SECOND,
}
_MOST_DIGITS: Final = 19
_MOST_YEAR_LETTERS: Final = 6
_MOST_FRACTION: Final = 9
_CENTURY: Final = 2000
_OFFSETS: Final = {
    1: (0, layout.PART_MAY, layout.PART_NEVER),
    2: (0, layout.PART_MUST, layout.PART_NEVER),
    3: (1, layout.PART_MUST, layout.PART_NEVER),
    4: (0, layout.PART_MUST, layout.PART_MAY),
    5: (1, layout.PART_MUST, layout.PART_MAY),
}
"""By the number of letters: whether there are colons, and when minutes and seconds."""
_REFUSED: Final = {
    **dict.fromkeys("YWwuecF", "weeks and their days, which Spark refuses too"),
    **dict.fromkeys("EqQ", "a day of the week or a quarter, which Spark takes for writing only"),
    **dict.fromkeys("GBAnNp", "an era, a part of the day or of a second, or padding"),
    **dict.fromkeys("VzvO", "the name of a zone, which depends on what Java knows; use X, x or Z"),
}


class PatternError(ValueError):
    """A pattern that Spark refuses, or that has no faithful translation. The end of a sentence."""


def datetime_pattern(raw: str) -> str:
    """A pattern of dates and times that the kernel can follow."""
    if not raw:
        raise ValueError("must not be empty")
    program_of(raw)
    return raw


def program_of(pattern: str) -> PatternProgram:
    """Translate a pattern.

    Raises:
        PatternError: with the letters that are not taken, and why.
    """
    steps = _Steps()
    _check_quotes(pattern)
    for program in _TOKEN.finditer(pattern):
        quoted, letters, letter, other = program.groups()
        if letters is not None:
            steps.add_letters(letter, len(letters))
        elif quoted is not None:
            steps.add_literal(quoted.replace("''", "'") or "'")
        elif other == "[":
            steps.open()
        elif other == "]":
            steps.close()
        elif other in "{}#'":
            raise PatternError(f"has {other!r}, which must stand in quotation marks: {pattern!r}")
        else:
            steps.add_literal(other)
    return steps.finish()


def _check_quotes(pattern: str) -> None:
    """Refuse quotation marks that Spark and Java read in different ways."""
    if pattern.count("'") % 2:
        raise PatternError(f"has a quotation mark without its other one: {pattern!r}")
    if "S" in pattern and ("'''" in pattern or pattern.endswith("''")):
        raise PatternError(f"has S and quotation marks that Spark takes apart in its own way: {pattern!r}")


class _Steps:
    def __init__(self) -> None:
        self._steps: list[PatternStep] = []
        self._open: list[int] = []
        self._adjacent: int | None = None
        """The number before this place, if nothing stands between: the digits that follow are not its own."""

    def add_letters(self, letter: str, count: int) -> None:
        """Add the steps for a run of one letter."""
        run = letter * count
        if letter in _REFUSED:
            raise PatternError(f"has {run!r}: {_REFUSED[letter]}")
        if letter == "y" and count <= _MOST_YEAR_LETTERS:
            self._add_year(count)
        elif letter == "S" and count <= _MOST_FRACTION:
            self._add_fraction(count)
        elif letter in "ML" and count in {3, 4}:
            size = 3 if count == 3 else None
            self._add_words(layout.MONTH, [name[:size] for name in _MONTHS], 1)
        elif letter == "a" and count == 1:
            self._add_words(layout.AM_PM, ["AM", "PM"], 0)
        elif letter == "D" and count <= 3:
            sign = layout.SIGN_MINUS if count == 1 else layout.SIGN_NONE
            self._add_number(layout.DAY_OF_YEAR, count, _MOST_DIGITS if count == 1 else 3, sign)
        elif letter in _NUMBERS and count == 1:
            self._add_number(_NUMBERS[letter], 1, _MOST_DIGITS, layout.SIGN_MINUS)
        elif letter in _NUMBERS and count == 2:
            self._add_number(_NUMBERS[letter], 2, 2, layout.SIGN_NONE)
        elif letter in "XxZ" and count <= 5:
            self._add_offset(letter, count)
        else:
            raise PatternError(f"has {run!r}, which Spark does not take")

    def add_literal(self, text: str) -> None:
        """Add characters that stand for themselves, letters of ASCII in both cases."""
        for character in text:
            if not character.isascii() and character.lower() != character.upper():
                raise PatternError(f"has {character!r}: letters that are not ASCII have no case here")
            for byte in character.encode():
                letter = chr(byte).isalpha() and byte < 0x80
                self._add(layout.STEP_BYTE, byte | 0x20 if letter else byte, int(letter))

    def open(self) -> None:
        """Begin an optional section."""
        if len(self._open) == layout.MOST_OPEN:
            raise PatternError(f"has more than {layout.MOST_OPEN} optional sections inside of each other")
        self._open.append(len(self._steps))
        self._add(layout.STEP_OPEN, 0)

    def close(self) -> None:
        """End an optional section."""
        if not self._open:
            raise PatternError("has ']' without '['")
        at = self._open.pop()
        self._add(layout.STEP_CLOSE)
        self._steps[at] = _step(layout.STEP_OPEN, len(self._steps))

    def finish(self) -> PatternProgram:
        """Return the program. Sections that are still open end here, as in Java."""
        while self._open:
            self.close()
        self._add(layout.STEP_DONE)
        return tuple(self._steps)

    def _add(self, *numbers: int) -> None:
        self._steps.append(_step(*numbers))
        self._adjacent = None

    def _add_year(self, count: int) -> None:
        if count == 2:
            self._add_number(layout.YEAR, 2, 2, layout.SIGN_NONE, base=_CENTURY)
        else:
            sign = layout.SIGN_BEYOND if count >= 4 else layout.SIGN_MINUS
            self._add_number(layout.YEAR, count, _MOST_DIGITS, sign)

    def _add_number(self, field: int, least: int, most: int, sign: int, base: int = 0) -> None:
        """Add a number, whose digits the numbers before it leave to it if it has always as many."""
        previous = self._adjacent
        at = len(self._steps)
        self._add(layout.STEP_NUMBER, field, least, most, 0, sign, base)
        self._adjacent = at
        if previous is None:
            return
        if least == most and sign == layout.SIGN_NONE:
            self._leave_digits(previous, most)
        else:
            # As in Java: the number before it forgets that others followed, too.
            step = self._steps[previous]
            self._steps[previous] = (*step[:4], 0, *step[5:])

    def _leave_digits(self, to: int, count: int) -> None:
        step = self._steps[to]
        self._steps[to] = (*step[:4], step[4] + count, *step[5:])
        self._adjacent = to

    def _add_fraction(self, count: int) -> None:
        previous = self._adjacent
        self._add(layout.STEP_FRACTION, count)
        if count == 1 and previous is not None:
            self._leave_digits(previous, 1)

    def _add_words(self, field: int, words: Sequence[str], first: int) -> None:
        self._add(layout.STEP_WORDS, field, len(words))
        by_length = sorted(enumerate(words, first), key=lambda word: -len(word[1]))
        for value, word in by_length:
            self._add(layout.STEP_WORD, value, len(word), *_halves(word.lower()))

    def _add_offset(self, letter: str, count: int) -> None:
        zero = "Z"
        if letter == "x":
            zero = "+00" if count == 1 else "+00:00" if count % 2 else "+0000"
        elif letter == "Z":
            if count == 4:
                raise PatternError("has 'ZZZZ', an offset with words; use XXX or xxx")
            zero = "Z" if count == 5 else "+0000"
            count = 5 if count == 5 else 2
        low, _ = _halves(zero.lower())
        self._add(layout.STEP_OFFSET, *_OFFSETS[count], len(zero), low)


def _step(*numbers: int) -> PatternStep:
    return (*numbers, *[0] * (layout.STEP_FIELDS - len(numbers)))


def _halves(word: str) -> Iterator[int]:
    padded = word.encode().ljust(16, b"\0")
    yield int.from_bytes(padded[:8], "little")
    yield int.from_bytes(padded[8:], "little")
