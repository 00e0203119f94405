"""The text of a Java pattern, character by character: quotations, comments, escapes and character classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.enumerators.kafka.java_regex.characters import (
    EVERY,
    NONE,
    PREDEFINED,
    NameCharacters,
    between,
    literal,
    with_property,
)

_BLANKS: Final = frozenset(" \t\n\v\f\r")
_LINE_ENDS: Final = frozenset("\n\r\x85\u2028\u2029")
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_OCTAL: Final = frozenset("01234567")


class JavaPatternError(ValueError):
    """A pattern is not one of Java, or means something that Python's patterns cannot say.

    The message names the construct and where it stands.
    """


@dataclass(frozen=True, slots=True)
class _Character:
    value: str
    is_quoted: bool
    index: int


class PatternText:
    r"""Reads a pattern from the left to the right. What stands between ``\Q`` and ``\E`` is quoted.

    Args:
        pattern: as the user wrote it.

    Attributes:
        flags: the letters of the inline flags that hold where the reader stands.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._characters = _without_quotations(pattern)
        self._at = 0
        self.flags: frozenset[str] = frozenset()

    @property
    def index(self) -> int:
        """Where the reader stands, in the user's text."""
        if self._at < len(self._characters):
            return self._characters[self._at].index
        return len(self._pattern)

    @property
    def is_at_end(self) -> bool:
        """Whether everything has been read."""
        return self._at >= len(self._characters)

    def peek(self, ahead: int = 0) -> str:
        """Return a character that may have a meaning, without reading it.

        Empty at the end, and for a quoted character, which never has one.
        """
        at = self._at + ahead
        if at >= len(self._characters) or self._characters[at].is_quoted:
            return ""
        return self._characters[at].value

    def starts(self, text: str) -> bool:
        """Whether this text comes next."""
        return all(self.peek(ahead) == character for ahead, character in enumerate(text))

    def take(self, text: str) -> bool:
        """Read this text if it comes next."""
        found = self.starts(text)
        self._at += len(text) if found else 0
        return found

    def read(self, needed_for: str) -> str:
        """Read one character, quoted or not."""
        if self.is_at_end:
            raise self.wrong(needed_for, "it does not end")
        character = self._characters[self._at].value
        self._at += 1
        return character

    def read_while(self, allowed: frozenset[str]) -> str:
        """Read characters for as long as they are among these."""
        found = ""
        while (character := self.peek()) and character in allowed:
            found += character
            self._at += 1
        return found

    def skip_comments(self) -> None:
        """Skip blanks and comments where the flag ``x`` holds."""
        while "x" in self.flags and (character := self.peek()):
            if character == "#":
                while not self.is_at_end and self._characters[self._at].value not in _LINE_ENDS:
                    self._at += 1
            elif character in _BLANKS:
                self._at += 1
            else:
                return

    def wrong(self, construct: str, reason: str) -> JavaPatternError:
        """Return the error about a construct that Java refuses as well."""
        return JavaPatternError(
            f"{construct!r} before index {self.index} is no regular expression of Java: {reason}"
        )

    def refused(self, construct: str, reason: str) -> JavaPatternError:
        """Return the error about a construct of Java that cannot be translated faithfully."""
        return JavaPatternError(
            f"{construct!r} before index {self.index} cannot be translated from Java's regular expressions "
            f"to Python's with the same meaning: {reason}"
        )

    def literal(self, character: str) -> NameCharacters:
        """Return what a character means that stands for itself here."""
        if "i" in self.flags and not character.isascii() and self.flags & {"u", "U"}:
            # A few of them are other cases of ASCII letters: the sign of Kelvin, the long s, two kinds of i.
            raise self.refused(character, "with (?iu) a letter beyond ASCII may match one of ASCII")
        return literal(character, ignores_case="i" in self.flags)

    def escaped_character(self) -> str | None:
        r"""Read what follows a backslash if it stands for one character; return that character.

        None if it is something else, such as ``\d`` or ``\b``. Then nothing has been read.
        """
        mark = self.peek()
        if not mark:
            raise self.wrong("\\", "nothing is escaped")
        if not (mark.isascii() and mark.isalnum()):
            return self.read("\\")
        if mark in _CONTROLS:
            self._at += 1
            return _CONTROLS[mark]
        if mark not in "0xuc":
            return None
        self._at += 1
        if mark == "c":
            return chr(ord(self.read(r"\c")) ^ 64)
        return self._octal() if mark == "0" else self._hexadecimal(mark)

    def predefined(self, *, in_class: bool) -> NameCharacters | None:
        r"""Read what follows a backslash if it stands for characters, such as ``\d`` or ``\p{L}``."""
        mark = self.peek()
        if mark in ("p", "P"):
            self._at += 1
            return self._property(mark)
        if mark.lower() in PREDEFINED:
            if mark == "v" and in_class and (self.peek(1) == "-" or self._follows_hyphen()):
                raise self.refused(r"\v", "beside a hyphen it means one character for Java")
            self._at += 1
            found = PREDEFINED[mark.lower()]
            return found if mark.islower() else EVERY - found
        return None

    def character_class(self) -> NameCharacters:
        """Read a character class, of which ``[`` has been read.

        As JDK 9 and later: ``^`` negates all of the class, also the classes inside it.
        """
        is_negated = self.take("^")
        found = self._union(is_first=True)
        while self.take("&&"):
            if self.peek() in ("&", "]"):
                raise self.refused("&&", "one operand is missing, or they do not group from the left")
            found &= self._union(is_first=False)
        if not self.take("]"):
            raise self.wrong("[", "the class does not end")
        return EVERY - found if is_negated else found

    def _union(self, *, is_first: bool) -> NameCharacters:
        """Read the members of a class up to its end, or to ``&&``.

        Args:
            is_first: whether they come before any ``&&``. Java reads those behind one differently: after a
                class as their first member, others bind more loosely than the next ``&&``.
        """
        found = NONE
        kinds = ""
        while not self.is_at_end:
            is_mixed = not is_first and kinds.startswith("[") and kinds.strip("[")
            if self.starts("&&"):
                if not kinds or is_mixed:
                    raise self.refused("&&", "one operand is missing, or they do not group from the left")
                return found
            if self.peek() == "]" and (kinds or not is_first):
                return found
            if "x" in self.flags and self.peek() in _BLANKS | {"#"}:
                raise self.refused("(?x)", "blanks and # in a character class are ignored by Java")
            if not is_first and kinds.startswith("[") and self.peek() == "&":
                raise self.refused("&", "behind && and a class it ends the operand")
            is_class = self.take("[")
            found |= self.character_class() if is_class else self._member()
            kinds += "[" if is_class else "."
        raise self.wrong("[", "the class does not end")

    def _member(self) -> NameCharacters:
        """Read a character, a range, or a predefined class."""
        if self.peek() == "\\":
            self._at += 1
            predefined = self.predefined(in_class=True)
            if predefined is not None:
                return predefined
            first = self._class_escape()
        else:
            first = self.read("[")
        if self.peek() != "-" or self.peek(1) in ("[", "]"):
            return self.literal(first)
        self._at += 1
        last = self._class_escape() if self.take("\\") else self.read("[")
        if last < first:
            raise self.wrong(f"{first}-{last}", "the range ends before it begins")
        self.literal(first)
        self.literal(last)
        return between(first, last, ignores_case="i" in self.flags)

    def _class_escape(self) -> str:
        escaped = self.escaped_character()
        if escaped is None:
            raise self.wrong(f"\\{self.peek()}", "it means nothing in a character class, or in a range")
        return escaped

    def _follows_hyphen(self) -> bool:
        return self._at >= 2 and self._characters[self._at - 2].value == "-"

    def _octal(self) -> str:
        digits = ""
        most = 3
        while len(digits) < most and (digit := self.peek()) and digit in _OCTAL:
            digits += digit
            self._at += 1
            most = 3 if digits[0] <= "3" else 2
        if not digits:
            raise self.wrong(r"\0", "octal digits must follow")
        self._check_unbroken(rf"\0{digits}")
        return chr(int(digits, 8))

    def _hexadecimal(self, mark: str) -> str:
        if mark == "x" and self.take("{"):
            digits = self.read_while(frozenset("0123456789abcdefABCDEF"))
            if not digits or int(digits, 16) > 0x10FFFF or not self.take("}"):
                raise self.wrong(r"\x{", "hexadecimal digits and } must follow")
            return chr(int(digits, 16))
        wanted = 2 if mark == "x" else 4
        digits = "".join(self.peek(ahead) or " " for ahead in range(wanted))
        try:
            value = int(digits, 16)
        except ValueError:
            value = -1
        if value < 0 or not digits.isalnum():
            raise self.wrong(f"\\{mark}", f"{wanted} hexadecimal digits must follow")
        self._at += wanted
        return chr(value)

    def _property(self, mark: str) -> NameCharacters:
        if self.take("{"):
            name = ""
            while not self.is_at_end and self.peek() != "}":
                name += self.read("\\p{")
            if not self.take("}"):
                raise self.wrong(f"\\{mark}{{", "the name does not end")
        else:
            name = self.read(f"\\{mark}")
        found = with_property(name, ignores_case="i" in self.flags)
        if found is None:
            raise self.refused(f"\\{mark}{{{name}}}", "this property is not known here")
        return found if mark == "p" else EVERY - found

    def _check_unbroken(self, construct: str) -> None:
        """Refuse a number that Java would read on behind blanks, where the flag ``x`` holds."""
        if "x" in self.flags and self.peek() in _BLANKS | {"#"} and not self.is_at_end:
            raise self.refused(construct, "with (?x) Java may take digits behind the blank for a part of it")

    def back_reference(self, groups: int) -> int:
        """Read the number of a group: with (more than one digit) only if there are so many groups."""
        number = int(self.read("\\"))
        while (digit := self.peek()) and digit in "0123456789" and number * 10 + int(digit) <= groups:
            number = number * 10 + int(digit)
            self._at += 1
        self._check_unbroken(f"\\{number}")
        return number


def _without_quotations(pattern: str) -> list[_Character]:
    found = []
    index = 0
    while index < len(pattern):
        if pattern.startswith("\\Q", index):
            stop = pattern.find("\\E", index + 2)
            stop = len(pattern) if stop < 0 else stop
            found += [_Character(pattern[at], True, at) for at in range(index + 2, stop)]
            index = stop + 2
            continue
        width = 2 if pattern[index] == "\\" else 1
        found += [_Character(pattern[at], False, at) for at in range(index, min(index + width, len(pattern)))]
        index += width
    return found
