"""Random patterns of dates and times, and texts that fit them or nearly do, from a seed."""

from __future__ import annotations

import random
import re
from typing import Final

USUAL: Final = [
    *(
        "yyyy-MM-dd HH:mm:ss",
        "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]",
        "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
        "yyyy-MM",
    ),
    *("dd/MM/yyyy", "dd.MM.yyyy HH:mm", "MM/dd/yy hh:mm a", "d MMM yyyy", "MMMM d, y h:mm a", "HH:mm:ss"),
    *("dd-MMM-yyyy HH:mm:ss.SSSSSSSSS", "yyyyMMdd", "yyyyMMddHHmmss", "yyyyMMddHHmmssSSS", "yyyy-DDD"),
    *("yyyyMMdd'T'HHmmssX", "yyyyMMdd'T'HHmmss[.SSS][X][xx]", "yyyyDDD", "hh a", "y", "M", "D", "a", "X"),
    *("ZZZZZ", "yyyy/MM/dd HH:mm:ss Z", "yy", "[yyyy-MM-dd][dd/MM/yyyy][ HH:mm[:ss]]"),
    *("yyyy-MM-dd'T'HH:mm:ss'Z'", "yyyy. M. d. H:m:s.S", "'at' k 'o''clock' d L y"),
]
_LETTERS: Final = (
    *("y", "yy", "yyy", "yyyy", "yyyyy", "yyyyyy", "M", "MM", "MMM", "MMMM", "L", "LL", "LLL", "LLLL"),
    *("d", "dd", "D", "DD", "DDD", "a", "h", "hh", "H", "HH", "k", "kk", "K", "KK", "m", "mm", "s", "ss"),
    *("S", "SS", "SSS", "SSSSSS", "SSSSSSSSS", "X", "XX", "XXX", "XXXX", "XXXXX"),
    *("x", "xx", "xxx", "xxxx", "xxxxx", "Z", "ZZ", "ZZZ", "ZZZZZ"),
)
_MARKS: Final = ("-", "/", ":", ".", " ", ", ", "T", "'T'", "''", "'of'", "", "", "", "[", "]", "年", "+")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|(.)", re.DOTALL)
_ODD: Final = ("-", "+", " ", "0", "9", "Z", "z", ":", "1", "é", "٣", "T", "am", ".", "", "")


def random_pattern(rng: random.Random) -> str:
    """Return a pattern, perhaps one that is refused."""
    if rng.random() < 0.4:
        return rng.choice(USUAL)
    pattern = ""
    for _ in range(rng.randrange(1, 8)):
        mark = rng.choice(_MARKS)
        if mark != "T":
            pattern += mark
        pattern += rng.choice(_LETTERS)
    return pattern


def random_text(rng: random.Random, pattern: str) -> str:
    """Return a text for a pattern, in one of three cases not quite right."""
    fields = {
        "y": rng.choice([rng.randrange(1, 3000), rng.randrange(1900, 2100), rng.randrange(-(10**6), 10**6)]),
        "M": rng.randrange(1, 13),
        "d": rng.choice([rng.randrange(1, 29), rng.randrange(1, 32)]),
        "D": rng.randrange(1, 367),
        "H": rng.randrange(24),
        "m": rng.randrange(60),
        "s": rng.randrange(60),
    }
    depth = 0
    left_out = 0
    text = ""
    for quoted, letters, letter, other in _TOKEN.findall(pattern):
        if other == "[":
            depth += 1
            left_out = left_out or (depth if rng.random() < 0.3 else 0)
        elif other == "]":
            left_out = 0 if left_out == depth else left_out
            depth -= 1
        elif not left_out:
            text += other or (_written(rng, letter, len(letters), fields) if letter else quoted or "'")
    if rng.random() < 0.3:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(_ODD) + text[at + rng.randrange(2) :]
    return text.swapcase() if rng.random() < 0.1 else text


def _written(rng: random.Random, letter: str, count: int, fields: dict[str, int]) -> str:
    hour = fields["H"]
    if letter in "ML" and count > 2:
        return _MONTHS[fields["M"] - 1][: None if count == 4 else 3]
    if letter == "a":
        return "AM" if (hour < 12) != (rng.random() < 0.1) else "PM"
    if letter == "S":
        return "".join(rng.choices("0123456789", k=rng.choice([count, count, rng.randrange(1, 10)])))
    if letter in "XxZ":
        return _offset(rng, count)
    if letter == "y":
        return _year(fields["y"], count)
    value = {"h": (hour + 11) % 12 + 1, "K": hour % 12, "k": hour or 24, "L": fields["M"]}.get(
        letter, fields.get(letter, 0)
    )
    if rng.random() < 0.03:
        value = rng.choice([0, 13, 24, 25, 32, 60, 61, 99])
    return str(value).zfill(count)


def _year(year: int, count: int) -> str:
    if count == 2:
        return f"{year % 100:02}"
    sign = "-" if year < 0 else "+" if count >= 4 and year >= 10**count else ""
    return sign + str(abs(year)).zfill(count)


def _offset(rng: random.Random, count: int) -> str:
    if rng.random() < 0.2:
        return rng.choice(["Z", "z", "+00", "+0000", "+00:00", "-00:00", "", "+18:00", "+1801", "+24", "+5"])
    colon = ":" if count in {3, 5} else ""
    seconds = f"{colon}{rng.randrange(60):02}" if count > 3 and rng.random() < 0.3 else ""
    minutes = f"{colon}{rng.choice([0, 30, 45]):02}" if count > 1 or rng.random() < 0.3 else ""
    return f"{rng.choice('+-')}{rng.randrange(19):02}{minutes}{seconds if minutes else ''}"
