r"""Java's regular expressions, translated to Python's for the search in names of topics.

Spark's ``subscribePattern`` is a ``java.util.regex.Pattern``. The two languages look alike and differ in what
they mean: ``[a-z&&[^b]]`` is valid in both, and matches nothing in Python. So a pattern is parsed as Java
does, and written anew: each character as the set of name characters that it means
(`headwater.enumerators.kafka.java_regex.characters`), flags resolved, groups and quantifiers as they are.
What has no faithful translation is refused.

For the same name, ``java_regex(pattern).search(name)`` finds a match exactly if Java's ``Matcher.find`` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from headwater.enumerators.kafka.java_regex.characters import EVERY, NONE, NameCharacters, in_python
from headwater.enumerators.kafka.java_regex.text import JavaPatternError, PatternText

__all__ = ["JavaPatternError", "java_regex"]

_FLAGS: Final = frozenset("idmsuxU")
_BACK_REFERENCES: Final = tuple("123456789k")
_LETTERS_AND_DIGITS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


@lru_cache(maxsize=256)
def java_regex(pattern: str) -> re.Pattern[str]:
    """Return Python's form of a Java pattern, for `re.Pattern.search` in the name of a topic.

    Raises:
        JavaPatternError: it is no pattern of Java, or cannot be translated with the same meaning; names the
            construct and where it stands.
    """
    return re.compile(_Translation(PatternText(pattern)).python())


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the translation.

    Attributes:
        python: the regular expression.
        least: the fewest characters that it matches, as Java sees it.
        most: the most; None if there is no bound.
        is_unit: whether a quantifier may follow without a group around it.
        group: the number of the group that it is, if it is one; groups of all kinds are counted.
    """

    python: str
    least: int = 0
    most: int | None = 0
    is_unit: bool = False
    group: int | None = None


_ANCHORS: Final = {"^": _Piece(r"\A"), "$": _Piece(r"\Z")}
"""Names have no ends of lines, so each of them means one place, with and without ``(?m)``."""
_ESCAPES: Final = {
    "b": _Piece(r"\b"),
    "B": _Piece(r"\B"),
    "A": _Piece(r"\A"),
    "G": _Piece(r"\A"),  # a search begins at the first character
    "Z": _Piece(r"\Z"),
    "z": _Piece(r"\Z"),
    "X": _Piece(in_python(EVERY), 1, None, is_unit=True),
    "R": _Piece(in_python(NONE), 1, 2, is_unit=True),
}
_LARGEST_COUNT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Reference:
    """A back-reference.

    Attributes:
        construct: as the user wrote it.
        around: the groups around it, and those around the group that it names, with that group itself.
    """

    construct: str
    around: frozenset[int]


class _Translation:
    """One translation of one pattern."""

    def __init__(self, text: PatternText) -> None:
        self._text = text
        self._groups = 0
        self._capturing = 0
        self._names: dict[str, int] = {}
        self._around: list[int] = []
        self._around_capturing: dict[int, frozenset[int]] = {}
        self._closed: set[int] = set()
        self._special: set[int] = set()
        self._references: list[_Reference] = []

    def python(self) -> str:
        whole = self._alternatives()
        if not self._text.is_at_end:
            raise self._text.wrong(")", "it closes no group")
        for reference in self._references:
            if reference.around & self._special:
                raise self._text.refused(
                    reference.construct, "a back-reference beside or within a quantifier or a look-around"
                )
        return _joined(whole).python

    def _alternatives(self) -> list[_Piece]:
        found = [self._sequence()]
        while self._text.take("|"):
            found.append(self._sequence())
        return found

    def _sequence(self) -> _Piece:
        found: list[_Piece] = []
        while True:
            self._text.skip_comments()
            if self._text.is_at_end or self._text.peek() in ("|", ")"):
                break
            piece = self._atom()
            if piece is not None:
                found.append(self._quantified(piece))
        return _Piece(
            "".join(piece.python for piece in found),
            sum(piece.least for piece in found),
            _sum(*(piece.most for piece in found)),
        )

    def _atom(self) -> _Piece | None:
        """Read one thing that may be repeated; None for a change of flags."""
        text = self._text
        mark = text.peek()
        if mark in ("*", "+", "?", "{"):
            raise text.wrong(mark, "there is nothing that it could repeat")
        if text.take("("):
            return self._group()
        if text.take("\\"):
            return self._escape()
        if mark in _ANCHORS:
            text.take(mark)
            return _ANCHORS[mark]
        if text.take("["):
            return _one(text.character_class())
        return _one(EVERY if text.take(".") else text.literal(text.read("")))

    def _escape(self) -> _Piece:
        text = self._text
        mark = text.peek()
        if text.starts("b{"):
            raise text.refused(r"\b{", "JDK 17 finds such boundaries in places where there are none")
        if mark in _ESCAPES:
            text.take(mark)
            return _ESCAPES[mark]
        if mark in _BACK_REFERENCES:
            return self._back_reference()
        characters = text.predefined(in_class=False)
        if characters is not None:
            return _one(characters)
        character = text.escaped_character()
        if character is None:
            raise text.refused(f"\\{mark}", "there is no such escape, or it is not known here")
        return _one(text.literal(character))

    def _back_reference(self) -> _Piece:
        text = self._text
        if text.take("k"):
            name = text.read_while(_LETTERS_AND_DIGITS) if text.take("<") else ""
            if not text.take(">") or name not in self._names:
                raise text.wrong(rf"\k<{name}>", "there is no such group before it")
            number = self._names[name]
        else:
            number = text.back_reference(self._capturing)
        around = frozenset(self._around) | self._around_capturing.get(number, frozenset())
        self._references.append(_Reference(f"\\{number}", around))
        if number not in self._closed:
            return _Piece(in_python(NONE), 0, None, is_unit=True)  # a group that has not matched yet
        flags = "?i:" if "i" in self._text.flags else "?:"
        return _Piece(rf"({flags}\{number})", 0, None, is_unit=True)

    def _group(self) -> _Piece | None:
        """Read a group, of which ``(`` has been read; None for a change of flags."""
        text = self._text
        flags = text.flags
        text.skip_comments()
        self._groups += 1
        group = self._groups
        self._around.append(group)
        opening, capturing = self._opening()
        if opening is None:
            self._around.pop()
            return None
        if opening not in ("(", "(?:", "(?>"):
            self._special.add(group)
        alternatives = self._alternatives()
        if not text.take(")"):
            raise text.wrong(opening, "the group does not end")
        text.flags = flags
        self._around.pop()
        if capturing is not None:
            self._closed.add(capturing)
        if opening in ("(?<=", "(?<!"):
            return self._look_behind(opening, alternatives, group)
        joined = _joined(alternatives)
        if opening in ("(?=", "(?!"):
            return _Piece(f"{opening}{joined.python})", group=group)
        return _Piece(f"{opening}{joined.python})", joined.least, joined.most, is_unit=True, group=group)

    def _opening(self) -> tuple[str | None, int | None]:
        """Read what follows ``(``; return how Python opens such a group, and its number if it captures.

        No opening for a change of flags.
        """
        text = self._text
        if not text.take("?"):
            return "(", self._capture()
        for mark in (":", "=", "!", ">", "<=", "<!"):
            if text.take(mark):
                return f"(?{mark}", None
        if text.take("<"):
            name = text.read_while(_LETTERS_AND_DIGITS)
            if not name or name[0].isdigit() or not text.take(">"):
                raise text.wrong(f"(?<{name}", "a name of letters and digits and > must follow")
            if name in self._names:
                raise text.wrong(f"(?<{name}>", "the name comes twice")
            number = self._capture()
            self._names[name] = number
            return "(", number
        return self._flags(), None

    def _flags(self) -> str | None:
        """Read flags; return the opening of the group they are for, None if they are for what follows."""
        text = self._text
        on = text.read_while(_FLAGS)
        off = text.read_while(_FLAGS) if text.take("-") else ""
        text.flags = (text.flags | set(on)) - set(off)
        if text.take(")"):
            return None
        if text.take(":"):
            return "(?:"
        raise text.wrong(f"(?{on}", "there is no such group or flag")

    def _capture(self) -> int:
        self._capturing += 1
        self._around_capturing[self._capturing] = frozenset(self._around)
        return self._capturing

    def _look_behind(self, opening: str, alternatives: list[_Piece], group: int) -> _Piece:
        """Write each alternative as a look-behind of its own: Python wants one width, Java takes several."""
        if any(piece.most != piece.least for piece in alternatives):
            raise self._text.refused(opening, "the width of what it looks for is not fixed")
        behinds = [f"{opening}{piece.python})" for piece in alternatives]
        if opening == "(?<!":
            return _Piece("".join(behinds), group=group)
        return _Piece(f"(?:{'|'.join(behinds)})", group=group)

    def _quantified(self, piece: _Piece) -> _Piece:
        text = self._text
        text.skip_comments()
        counts = self._counts()
        if counts is None:
            return piece
        if piece.group is not None:
            self._special.add(piece.group)
        text.skip_comments()
        unit = piece.python if piece.is_unit else f"(?:{piece.python})"
        least, most, written = counts
        if text.take("+"):
            # Java takes each round as it comes and never reconsiders one.
            repeated = f"(?>(?>{piece.python}){written})"
        else:
            repeated = f"{unit}{written}{'?' if text.take('?') else ''}"
        return _Piece(
            repeated,
            piece.least * least,
            # What comes {0} times has no width that Java would know.
            piece.most * most if most and piece.most is not None else None,
        )

    def _counts(self) -> tuple[int, int | None, str] | None:
        """Read a quantifier; return its bounds and how Python writes it, None if there is none."""
        text = self._text
        for mark, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if text.take(mark):
                return least, most, mark
        if not text.take("{"):
            return None
        first = text.read_while(frozenset("0123456789"))
        is_open = text.take(",")
        last = text.read_while(frozenset("0123456789")) if is_open else first
        written = f"{{{first}{',' if is_open else ''}{last if is_open else ''}}}"
        if not first or not text.take("}"):
            raise text.wrong(written, "it must be {n}, {n,} or {n,m}")
        least, most = int(first), int(last) if last else None
        if max(least, most or 0) > _LARGEST_COUNT or (most is not None and most < least):
            raise text.wrong(written, "such counts are not possible")
        return least, most, written


def _one(characters: NameCharacters) -> _Piece:
    return _Piece(in_python(characters), 1, 1, is_unit=True)


def _joined(alternatives: list[_Piece]) -> _Piece:
    mosts = [piece.most for piece in alternatives]
    return _Piece(
        "|".join(piece.python for piece in alternatives),
        min(piece.least for piece in alternatives),
        None if None in mosts else max(most for most in mosts if most is not None),
    )


def _sum(*mosts: int | None) -> int | None:
    return None if None in mosts else sum(most for most in mosts if most is not None)
