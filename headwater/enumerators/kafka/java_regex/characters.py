"""What one character of a Java pattern means where only names of topics are searched.

Kafka allows 65 characters in the name of a topic: ASCII letters, digits, ``.``, ``_`` and ``-``. What a
pattern says about one character (a literal, an escape, a property, a class) is therefore a subset of these
65, and is written as this subset. What Java and Python see differently beyond them, such as letters of other
scripts or the ends of lines, cannot be in a name.

Source: the documentation of ``java.util.regex.Pattern`` (JDK 17, the oldest that Spark 4 runs on).
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Final, TypeAlias

NameCharacters: TypeAlias = frozenset[str]
"""Some of the characters that the name of a topic may have."""

LOWER: Final = frozenset(string.ascii_lowercase)
UPPER: Final = frozenset(string.ascii_uppercase)
LETTERS: Final = LOWER | UPPER
DIGITS: Final = frozenset(string.digits)
MARKS: Final = frozenset("._-")
EVERY: Final = LETTERS | DIGITS | MARKS
NONE: Final[NameCharacters] = frozenset()

_NEVER: Final = r"[^\x00-\U0010ffff]"
"""Matches no character, and is one character wide, as a look-behind wants it."""

PREDEFINED: Final[Mapping[str, NameCharacters]] = {
    "d": DIGITS,
    "w": LETTERS | DIGITS | {"_"},
    "s": NONE,
    "h": NONE,
    "v": NONE,
}
"""The classes ``\\d``, ``\\w`` and so on; a capital letter negates."""

_HEX: Final = DIGITS | frozenset("abcdefABCDEF")
_CATEGORIES: Final[Mapping[str, NameCharacters]] = {
    "Ll": LOWER,
    "Lu": UPPER,
    "LC": LETTERS,
    "L": LETTERS,
    "Nd": DIGITS,
    "N": DIGITS,
    "LD": LETTERS | DIGITS,
    "Po": frozenset("."),
    "Pc": frozenset("_"),
    "Pd": frozenset("-"),
    "P": MARKS,
    "L1": EVERY,
    "all": EVERY,
    "ASCII": EVERY,
    **dict.fromkeys(("Lt", "Lm", "Lo", "M", "Mn", "Me", "Mc", "Nl", "No", "Z", "Zs", "Zl", "Zp", "C"), NONE),
    **dict.fromkeys(
        ("Cn", "Cc", "Cf", "Co", "Cs", "Ps", "Pe", "Pi", "Pf", "S", "Sm", "Sc", "Sk", "So"), NONE
    ),
}
_POSIX: Final[Mapping[str, NameCharacters]] = {
    "Lower": LOWER,
    "Upper": UPPER,
    "Alpha": LETTERS,
    "Digit": DIGITS,
    "Alnum": LETTERS | DIGITS,
    "Punct": MARKS,
    "Graph": EVERY,
    "Print": EVERY,
    "Blank": NONE,
    "Cntrl": NONE,
    "XDigit": _HEX,
    "Space": NONE,
}
_OF_JAVA: Final[Mapping[str, NameCharacters]] = {
    "javaLowerCase": LOWER,
    "javaUpperCase": UPPER,
    "javaTitleCase": NONE,
    "javaAlphabetic": LETTERS,
    "javaLetter": LETTERS,
    "javaDigit": DIGITS,
    "javaLetterOrDigit": LETTERS | DIGITS,
    "javaDefined": EVERY,
    "javaJavaIdentifierStart": LETTERS | {"_"},
    "javaJavaIdentifierPart": LETTERS | DIGITS | {"_"},
    "javaWhitespace": NONE,
    "javaSpaceChar": NONE,
    "javaISOControl": NONE,
    "javaMirrored": NONE,
}
_BINARY: Final[Mapping[str, NameCharacters]] = {
    "ALPHABETIC": LETTERS,
    "LETTER": LETTERS,
    "LOWERCASE": LOWER,
    "UPPERCASE": UPPER,
    "TITLECASE": NONE,
    "DIGIT": DIGITS,
    "ALNUM": LETTERS | DIGITS,
    "HEX_DIGIT": _HEX,
    "HEXDIGIT": _HEX,
    "PUNCTUATION": MARKS,
    "WORD": LETTERS | DIGITS | {"_"},
    "ASSIGNED": EVERY,
    "GRAPH": EVERY,
    "PRINT": EVERY,
    "IDEOGRAPHIC": NONE,
    "WHITE_SPACE": NONE,
    "WHITESPACE": NONE,
    "BLANK": NONE,
    "CONTROL": NONE,
}
_SCRIPTS: Final[Mapping[str, NameCharacters]] = {
    "LATIN": LETTERS,
    "COMMON": DIGITS | MARKS,
    "GREEK": NONE,
    "CYRILLIC": NONE,
}
_BLOCKS: Final[Mapping[str, NameCharacters]] = {
    "BASICLATIN": EVERY,
    "BASIC_LATIN": EVERY,
    "BASIC LATIN": EVERY,
    "GREEK": NONE,
    "CYRILLIC": NONE,
}
_CASED: Final = frozenset(
    {
        *("Ll", "Lu", "Lt", "Lower", "Upper", "LOWERCASE", "UPPERCASE", "TITLECASE"),
        *("javaLowerCase", "javaUpperCase", "javaTitleCase"),
    }
)
"""Properties that mean any letter that has a case once the case does not count."""


def literal(character: str, *, ignores_case: bool) -> NameCharacters:
    """Return what a character means that stands for itself."""
    return between(character, character, ignores_case=ignores_case)


def between(first: str, last: str, *, ignores_case: bool) -> NameCharacters:
    """Return what a range of a class means."""
    return frozenset(
        character
        for character in EVERY
        if first <= character <= last or (ignores_case and first <= character.swapcase() <= last)
    )


def with_property(name: str, *, ignores_case: bool) -> NameCharacters | None:
    r"""Return what ``\p{name}`` means; None if it is not known here."""
    key, equals, value = name.partition("=")
    if equals:
        tables = {
            "sc": (_SCRIPTS, value.upper()),
            "script": (_SCRIPTS, value.upper()),
            "blk": (_BLOCKS, value.upper()),
            "block": (_BLOCKS, value.upper()),
            "gc": (_CATEGORIES, value),
            "general_category": (_CATEGORIES, value),
        }
        if key.lower() not in tables:
            return None
        return _in_table(*tables[key.lower()], ignores_case=ignores_case)
    if name.startswith("In"):
        return _BLOCKS.get(name[2:].upper())
    if name.startswith("Is"):
        for table, known_as in (
            (_BINARY, name[2:].upper()),
            ({**_CATEGORIES, **_POSIX}, name[2:]),
            (_SCRIPTS, name[2:].upper()),
        ):
            found = _in_table(table, known_as, ignores_case=ignores_case)
            if found is not None:
                return found
        return None
    return _in_table({**_CATEGORIES, **_POSIX, **_OF_JAVA}, name, ignores_case=ignores_case)


def _in_table(table: Mapping[str, NameCharacters], name: str, *, ignores_case: bool) -> NameCharacters | None:
    found = table.get(name)
    return LETTERS if found is not None and ignores_case and name in _CASED else found


def in_python(characters: NameCharacters) -> str:
    """Return the regular expression of Python that matches one of these characters."""
    if characters == EVERY:
        return "."
    if not characters:
        return _NEVER
    if len(characters) == 1:
        return re.escape(*characters)
    return f"[{''.join(map(_run, _runs(sorted(characters))))}]"


def _runs(characters: list[str]) -> list[list[str]]:
    runs: list[list[str]] = []
    for character in characters:
        if runs and ord(character) == ord(runs[-1][-1]) + 1:
            runs[-1].append(character)
        else:
            runs.append([character])
    return runs


def _run(run: list[str]) -> str:
    if len(run) > 2:
        return f"{run[0]}-{run[-1]}"
    return "".join(map(re.escape, run))
