"""Files of JSON for a schema: objects whose members have mostly the right types, and broken ones."""

from __future__ import annotations

import json
from functools import cache
from typing import Final, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

from tests.formats.json_texts import LONG_EXPONENT, NUMBERS, PIECES, TIMES

__all__ = ["inferable_lines", "lines"]

Drawn = TypeVar("Drawn")

_PERCENT: Final = st.integers(0, 99)


@st.composite
def _mostly(
    draw: st.DrawFn, usual: SearchStrategy[Drawn], percent: int, rare: SearchStrategy[Drawn]
) -> Drawn:
    """Return what `rare` draws in some percent of all cases. What is smallest is usual."""
    return draw(rare if draw(_PERCENT) >= 100 - percent else usual)


_SPACE: Final = _mostly(st.just(""), 10, st.sampled_from((" ", "\n", "\t", "\r\n", "  ")))
_ASCII: Final = st.booleans()
_LETTERS: Final = st.text('abé"\\/\n\t\b\f\r\x01\x7f\u2028😀 {}[]:,ÿ€', max_size=12)
_QUOTED: Final = st.builds(
    lambda text, ascii_only: json.dumps(text, ensure_ascii=ascii_only), _LETTERS, _ASCII
)
_SINGLE_QUOTED: Final = _QUOTED.map(lambda text: "'" + text[1:-1].replace("'", "\\'") + "'")
_LONG: Final = st.builds(lambda text, times: json.dumps(text * times), _LETTERS, st.integers(2, 30))
_STRINGS: Final = _mostly(
    _QUOTED, 12, _SINGLE_QUOTED | _LONG | _QUOTED.map(lambda text: text.replace("/", "\\/"))
)

_ODD_NUMBERS: Final = st.sampled_from(NUMBERS)
_INTEGERS: Final = (
    st.integers(-128, 127) | st.integers(-(2**31), 2**31 - 1) | st.integers(-(2**63), 2**63 - 1)
).map(str)
_WHOLE: Final = _mostly(_INTEGERS, 10, _ODD_NUMBERS)
_SMALL: Final = _mostly(st.integers(-130, 130).map(str), 10, _WHOLE)
_FRACTIONS: Final = st.builds(
    "{}.{}".format, st.integers(-1_000, 1_000), st.text("0123456789", min_size=1, max_size=21)
)
_POWERS: Final = st.builds("{}e{}".format, st.integers(-(10**30), 10**30), st.integers(-340, 300))
_DOUBLES: Final = _mostly(
    st.floats(allow_nan=False, allow_infinity=False).map(repr) | _FRACTIONS | _POWERS,
    20,
    _ODD_NUMBERS | _ODD_NUMBERS.map(json.dumps),
)
_DECIMALS_PLAIN: Final = _mostly(
    st.builds("{}.{}".format, st.integers(-(10**9), 10**9), st.integers(0, 10**5))
    | st.builds("{}e{}".format, st.integers(-(10**12), 10**12), st.integers(-12, 5)),
    10,
    _ODD_NUMBERS,
)
_DECIMALS: Final = _mostly(
    _DECIMALS_PLAIN,
    30,
    st.builds(
        '"{}{}{}"'.format,
        st.sampled_from(("", "", "", "+", " ")),
        _DECIMALS_PLAIN,
        st.sampled_from(("", "", ",", " ")),
    ),
)

_DAYS: Final = st.builds(
    "{:04}-{:02}-{:02}".format, st.integers(1, 2_600), st.integers(1, 12), st.integers(1, 31)
)
_CLOCKS: Final = st.builds(
    "{}{:02}:{:02}:{:02}".format,
    st.sampled_from("T "),
    st.integers(0, 23),
    st.integers(0, 59),
    st.integers(0, 59),
)
_PARTS_OF_SECONDS: Final = st.text("0123456789", max_size=9).map(lambda digits: digits and f".{digits}")
_ZONES: Final = st.sampled_from(
    ("", "Z", "+01:00", "-3:30", "+0530", " UTC", " Europe/Paris", "America/New_York", " PST", "GMT+2")
)
_TIMES: Final = _mostly(
    st.builds('"{}{}{}{}"'.format, _DAYS, _CLOCKS, _PARTS_OF_SECONDS, _ZONES),
    35,
    st.sampled_from(TIMES).map('"{}"'.format) | _DAYS.map('"{}"'.format),
)
_DATES: Final = _mostly(
    st.builds('"{:04}-{}-{}"'.format, st.integers(1, 3_000), st.integers(1, 12), st.integers(1, 31)),
    20,
    st.sampled_from(TIMES).map('"{}"'.format),
)
_BYTES: Final = _mostly(
    st.builds(
        lambda fours, end: json.dumps("".join(fours) + end),
        st.lists(st.text("ABab+/09", min_size=4, max_size=4), max_size=3),
        st.sampled_from(("", "", "AA==", "AAA=", "AAA")),
    ),
    20,
    st.text("ABab+/09=-_ \n", max_size=10).map(json.dumps),
)


def _list(values: SearchStrategy[str]) -> SearchStrategy[str]:
    return st.lists(values, max_size=3).map(lambda each: f"[{','.join(each)}]")


def _map(values: SearchStrategy[str]) -> SearchStrategy[str]:
    pairs = st.lists(st.builds("{}:{}".format, _STRINGS, values), max_size=3)
    return pairs.map(lambda each: f"{{{','.join(each)}}}")


_FEW: Final = st.sampled_from(
    ("null", "true", "false", '""', "''", "{}", "[]", '"NaN"', '"-INF"', '"1"', '" 1"', "tRue")
)
_SIMPLE: Final = _FEW | _STRINGS | _WHOLE | _DOUBLES | _ODD_NUMBERS | _TIMES | _DECIMALS
_ANY: Final = st.recursive(_SIMPLE, lambda inner: _list(inner) | _map(inner), max_leaves=4)

_BY_NAME: Final[dict[str, SearchStrategy[str]]] = {
    "string": _mostly(_STRINGS, 30, _ANY),
    "timestamp": _TIMES,
    "timestamp_ntz": _TIMES,
    "date": _DATES,
    "byte": _SMALL,
    "short": _SMALL,
    "integer": _SMALL | _WHOLE,
    "long": _WHOLE,
    "double": _DOUBLES,
    "float": _DOUBLES,
    "boolean": st.sampled_from(("true", "false")),
    "binary": _BYTES,
}


@cache
def _values(kind: DataType) -> SearchStrategy[str]:
    return _mostly(_right(kind), 8, st.just("null") | _ANY)


def _right(kind: DataType) -> SearchStrategy[str]:
    if isinstance(kind, StructType):
        return _objects(kind)
    if isinstance(kind, ArrayType):
        return _list(_values(kind.elementType))
    if isinstance(kind, MapType):
        return _map(_values(kind.valueType))
    if isinstance(kind, DecimalType):
        return _DECIMALS
    return _BY_NAME[kind.typeName()]


def _names(name: str) -> SearchStrategy[str]:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in name)
    return _mostly(st.just(f'"{name}"'), 5, st.sampled_from((f"'{name}'", f'"{escaped}"')))


@cache
def _objects(schema: StructType) -> SearchStrategy[str]:
    members = [
        st.builds("{}{}:{}{}".format, _names(field.name), _SPACE, _SPACE, _values(field.dataType))
        for field in schema
    ]
    places = st.lists(st.sampled_from(range(len(members))), max_size=len(members), unique=True)
    # The same member twice, and one that the schema does not have.
    twice = st.lists(st.sampled_from(range(len(members))), min_size=2, max_size=len(members) + 1)
    foreign = st.builds("{}:{}".format, _STRINGS, _ANY)

    @st.composite
    def objects(draw: st.DrawFn) -> str:
        found = [draw(members[place]) for place in draw(_mostly(places, 10, twice))]
        found += draw(_mostly(st.just([]), 20, foreign.map(lambda each: [each])))
        return f"{{{draw(_SPACE)}{','.join(found)}{draw(_SPACE)}}}"

    return objects()


def _odd(schema: StructType) -> SearchStrategy[str]:
    """Return documents that are no object, or more than one."""
    behind = st.sampled_from(("x", " {}", "]", "}", "\n", ",", "\0"))
    depths = st.sampled_from((5, 500, 990, 998, 999, 1_000, 1_001, 1_100))
    deep = st.builds(
        lambda name, depth: f'{{"{name}":{"[" * depth}{"]" * depth}}}', st.sampled_from(schema.names), depths
    )
    whole = st.sampled_from(
        ("", " ", "\n\t ", "null", "1", '"x"', "[]", "{}", "[{}]", " {} ", "tru", "\x00", "{", "x")
    )
    return (
        _objects(schema).map("[{}]".format)
        | st.builds("{}{}".format, _objects(schema), behind)
        | deep
        | whole
    )


_DAMAGES: Final = st.lists(
    st.tuples(
        st.integers(0, 1_000),
        st.sampled_from((0, 0, 1, 2)),
        _mostly(st.sampled_from(PIECES), 30, st.just(b"")),
    ),
    min_size=1,
    max_size=3,
)
"""Where in thousandths of a text, how many bytes are taken away there, and what comes in their place."""


def lines(schema: StructType) -> SearchStrategy[bytes]:
    """Return up to four lines for a schema, of which each is a document; every third one is broken."""
    texts = _mostly(_objects(schema), 4, _odd(schema))

    @st.composite
    def line(draw: st.DrawFn) -> bytes:
        data = bytearray(draw(texts).encode())
        for thousandth, length, piece in draw(_mostly(st.just([]), 33, _DAMAGES)):
            at = len(data) * thousandth // 1_000
            data[at : at + length] = piece
        return LONG_EXPONENT.sub(b"e1", bytes(data))

    return st.lists(line(), min_size=1, max_size=4).map(b"\n".join)


_PLAIN: Final = st.sampled_from(
    (None, "", "x", "2024-01-01", True, 1, -(2**62), 2**63, 10**30, 10**40, 1.5, -0.25)
)


def _tree(inner: SearchStrategy[object]) -> SearchStrategy[object]:
    return st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abcé"), inner, max_size=3)


def inferable_lines() -> SearchStrategy[bytes]:
    """Return lines of objects of all types, sometimes with one that breaks off."""
    members = st.dictionaries(st.sampled_from("abcé"), st.recursive(_PLAIN, _tree, max_leaves=6), max_size=3)
    line = members.map(lambda each: json.dumps(each, ensure_ascii=False))
    whole = st.lists(line, min_size=1, max_size=7)
    cut = st.builds(
        lambda each, percent: [*each[:-1], each[-1][: len(each[-1]) * percent // 100]], whole, _PERCENT
    )
    return _mostly(whole, 20, cut).map(lambda each: "\n".join(each).encode())
