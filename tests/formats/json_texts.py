"""Random JSON texts for a schema, good ones and broken ones, from a seed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Final

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

SCHEMAS: Final = (
    "a long, b int, d double, s string, t timestamp, o boolean, n struct<x:long,y:string>",
    "a byte, b short, f float, p decimal(12,3), q decimal(38,18), dt date, tn timestamp_ntz, x binary",
    "l array<int>, m map<string,double>, ls array<struct<x:int,y:string,t:timestamp>>, z string",
    "ml map<string,array<string>>, ll array<array<long>>, y struct<x:map<string,int>,y:struct<d:date>>",
)
PIECES: Final = (
    *(
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b" ",
        b"\n",
        b"\t",
        b"0",
        b"1",
        b"9",
        b"-",
        b".",
        b"e",
    ),
    *(
        b"'",
        b"null",
        b"true",
        b"false",
        b"NaN",
        b"\\u00e9",
        b"\\n",
        b"\xc3\xa9",
        b"\xff",
        b"\xe2\x82",
        b"\xf4\x90",
    ),
    *(
        b'"a":',
        b"1e3",
        b"T",
        b"Z",
        b'"n":{"x":1}',
        b',"s":"x"',
        b"+01:00",
        b"-INF",
        b"\x00",
        b"\x1f",
        b"\x7f",
    ),
    *(
        b"Infinity",
        b"+",
        b"/*x*/",
        b"//x",
        b"#",
        b"\\x",
        b"\\'",
        b"\\u12",
        b"\xc2\xa0",
        b"\xef\xbb\xbf",
        b"GMT",
    ),
)
NUMBERS: Final = (
    *(
        "-0",
        "-0.0",
        "00",
        "01",
        "-01",
        "1.",
        ".5",
        "+1",
        "1e",
        "1e+",
        "1E+2",
        "0e0",
        "-",
        "1_0",
        "0x1F",
        "1d",
        "1L",
    ),
    *(
        str(sign * (1 << bits) + near)
        for bits in (7, 8, 15, 31, 63)
        for sign in (-1, 1)
        for near in (-1, 0, 1)
    ),
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        "+Infinity",
        "INF",
        "-INF",
        "+INF",
        "-NaN",
        "nan",
        "9" * 400,
        "1e400",
        "1e-400",
    ),
    *(
        "4.9e-324",
        "2.4703282292062328e-324",
        "1.7976931348623159e308",
        "9007199254740993",
        "1e22",
        "1e23",
        "3.4e38",
    ),
    *(
        "1.00000017881393432617187499",
        "1e39",
        "1e-46",
        "0.1e-44",
        "999999999.9995",
        "0." + "0" * 30 + "1",
        "1e999",
    ),
)
_TIMES: Final = (
    "2020~2020-~2020-1~2020-1-2~2020-01-02T~2020-01-02 ~ 2020-01-02~+2020-01-02~-0044-03-15~"
    "20200-01-01~294247-01-10T04:00:54.775807Z~294247-01-10T04:00:54.775808Z~"
    "-290308-12-21T19:59:05.224192Z~9999999-12-31~0000-01-01~2020-02-30~2019-02-29~2020-13-01~"
    "2020-00-10~2020-01-00~20-01-01~2020-01-02T3~2020-01-02T3:4~2020-01-02T3:4:5~2020-01-02T03:04:05.~"
    "2020-01-02T03:04:05.1234567891~2020-01-02T24:00:00~2020-01-02T23:60:00~2020-01-02T23:59:60~"
    "2020-01-02t03:04:05~2020-01-02T03:04Z~2020-01-02T03Z~2020-01-02Z~2020-01-02T03:04:05 Z~"
    "2020-01-02T03:04:05z~2020-01-02T03:04:05+19:00~2020-01-02T03:04:05+1~2020-01-02T03:04:05+18:00~"
    "2020-01-02T03:04:05-18:00:01~2020-01-02T03:04:05+0100~2020-01-02T03:04:05+01:00:00~"
    "2020-01-02T03:04:05UTC+1~2020-01-02T03:04:05 GMT~2020-01-02T03:04:05GMT0~2020-01-02T03:04:05+1:0~"
    "2020-01-02T03:04:05 Nowhere/Town~2020-01-02T03:04:05 CET~2020-03-29T02:30:00~2020-10-25T02:30:00~"
    "2020-10-25T02:30:00 Europe/Paris~1582-10-10~1900-01-01T00:00:00~1000-01-01T00:00:00~0~1~12~-5~123~"
    "1234~12345~1234567~12345678~-141428~719529~+7~ 7~7 ~2147483648~2020-01-02T03:04:05\\u0020Z~"
    "2020\\u002d01-02~~ ~null~now~epoch~2020/01/02~20200102~\u0662020~-10000000~-99999999~2147483647~"
    "-2147483648~-12345678"
)
TIMES: Final = _TIMES.split("~")
LONG_EXPONENT: Final = re.compile(rb"[eE][+,]*[\d,]{5,}")
"""With such a decimal Java computes for minutes."""


def json_texts(rng: random.Random, schema: StructType, count: int) -> Iterator[bytes]:
    """Yield objects whose fields have mostly the right types; every third one is broken somewhere."""
    for i in range(count):
        text = bytearray(_top(rng, schema).encode("utf-8", "surrogatepass"))
        for _ in range(rng.choice([1, 1, 2, 3]) if i % 3 == 0 else 0):
            at = rng.randrange(len(text) + 1)
            text[at : at + rng.choice([0, 0, 1, 2])] = rng.choice(PIECES) if rng.random() < 0.7 else b""
        yield LONG_EXPONENT.sub(b"e1", bytes(text))


def _top(rng: random.Random, schema: StructType) -> str:
    chance = rng.random()
    if chance < 0.96:
        return _object(rng, schema)
    if chance < 0.97:
        return f"[{_object(rng, schema)}]"
    if chance < 0.98:
        return _object(rng, schema) + rng.choice(["x", " {}", "]", "}", "\n", ",", "\0"])
    if chance < 0.99:
        depth = rng.choice([5, 500, 990, 998, 999, 1000, 1001, 1100])
        name = rng.choice(schema.names)
        return f'{{"{name}":' + "[" * depth + "]" * depth + "}"
    return rng.choice(
        ["", " ", "\n\t ", "null", "1", '"x"', "[]", "{}", "[{}]", " {} ", "tru", "\x00", "{", "x"]
    )


def _object(rng: random.Random, schema: StructType) -> str:
    fields = [*rng.sample(list(schema), rng.randrange(len(schema) + 1))]
    if fields and rng.random() < 0.1:
        fields.append(rng.choice(fields))
    members = [
        f"{_name(rng, field.name)}{_space(rng)}:{_space(rng)}{_value(rng, field.dataType)}"
        for field in fields
    ]
    if rng.random() < 0.2:
        members.insert(rng.randrange(len(members) + 1), f"{_string(rng)}:{_any(rng)}")
    return f"{{{_space(rng)}{','.join(members)}{_space(rng)}}}"


def _name(rng: random.Random, name: str) -> str:
    chance = rng.random()
    if chance < 0.95:
        return f'"{name}"'
    return (
        f"'{name}'" if chance < 0.97 else "".join(['"', *(f"\\u{ord(letter):04x}" for letter in name), '"'])
    )


def _space(rng: random.Random) -> str:
    return "" if rng.random() < 0.9 else rng.choice([" ", "\n", "\t", "\r\n", "  "])


def _value(rng: random.Random, kind: DataType) -> str:
    chance = rng.random()
    if chance < 0.04:
        return "null"
    if chance < 0.08:
        return _any(rng)
    return _right(rng, kind)


def _right(rng: random.Random, kind: DataType) -> str:
    if isinstance(kind, StructType):
        return _object(rng, kind)
    if isinstance(kind, ArrayType):
        return "[" + ",".join(_value(rng, kind.elementType) for _ in range(rng.randrange(4))) + "]"
    if isinstance(kind, MapType):
        pairs = (f"{_string(rng)}:{_value(rng, kind.valueType)}" for _ in range(rng.randrange(4)))
        return f"{{{','.join(pairs)}}}"
    if isinstance(kind, DecimalType):
        return _decimal(rng)
    return _MAKERS.get(kind.typeName(), _integer)(rng)


def _any(rng: random.Random) -> str:
    """Return a value of any type, with objects and lists in it."""
    chance = rng.random()
    if chance < 0.15:
        return "[" + ",".join(_any(rng) for _ in range(rng.randrange(3))) + "]"
    if chance < 0.3:
        return "{" + ",".join(f"{_string(rng)}:{_any(rng)}" for _ in range(rng.randrange(3))) + "}"
    if chance < 0.5:
        return rng.choice(
            ["null", "true", "false", '""', "''", "{}", "[]", '"NaN"', '"-INF"', '"1"', '" 1"', "tRue"]
        )
    return rng.choice([_string, _integer, _double, _odd_number, _time, _decimal])(rng)


def _odd_number(rng: random.Random) -> str:
    return rng.choice(NUMBERS)


def _integer(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return _odd_number(rng)
    return str(
        rng.choice([rng.randrange(-128, 128), rng.randrange(-(2**31), 2**31), rng.randrange(-(2**63), 2**63)])
    )


def _small(rng: random.Random) -> str:
    return str(rng.randrange(-130, 130)) if rng.random() < 0.9 else _integer(rng)


def _double(rng: random.Random) -> str:
    chance = rng.random()
    if chance < 0.1:
        return _odd_number(rng)
    if chance < 0.2:
        return json.dumps(_odd_number(rng))
    if chance < 0.5:
        return repr(rng.uniform(-1e4, 1e4) if chance < 0.4 else rng.random() * 10 ** rng.randrange(-320, 308))
    if chance < 0.6:
        return f"{rng.randrange(-(10**30), 10**30)}e{rng.randrange(-340, 300)}"
    return f"{rng.randrange(-1000, 1000)}.{rng.randrange(10 ** rng.randrange(1, 22))}"


def _string(rng: random.Random) -> str:
    letters = "".join(rng.choices('abé"\\/\n\t\b\f\r\x01\x7f\u2028😀 {}[]:,ÿ€', k=rng.randrange(12)))
    if rng.random() < 0.1:
        letters = letters * rng.randrange(30)
    text = json.dumps(letters, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.03:
        return "'" + text[1:-1].replace("'", "\\'") + "'"
    return text.replace("/", "\\/") if rng.random() < 0.1 else text


def _text_or_value(rng: random.Random) -> str:
    return rng.choice([_string, _string, _any])(rng)


def _time(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return f'"{rng.choice(TIMES)}"'
    day = f"{rng.randrange(1, 2600):04}-{rng.randrange(1, 13):02}-{rng.randrange(1, 32):02}"
    if rng.random() < 0.2:
        return f'"{day}"'
    clock = f"{rng.choice('T ')}{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
    fraction = rng.choice(["", "", f".{rng.randrange(10 ** rng.randrange(1, 10))}"])
    zones = [
        "",
        "",
        "Z",
        "+01:00",
        "-3:30",
        "+0530",
        " UTC",
        " Europe/Paris",
        "America/New_York",
        " PST",
        "GMT+2",
    ]
    return f'"{day}{clock}{fraction}{rng.choice(zones)}"'


def _date(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return f'"{rng.choice(TIMES)}"'
    return f'"{rng.randrange(1, 3000):04}-{rng.randrange(1, 13)}-{rng.randrange(1, 32)}"'


def _decimal(rng: random.Random) -> str:
    chance = rng.random()
    if chance < 0.1:
        text = _odd_number(rng)
    elif chance < 0.5:
        text = f"{rng.randrange(-(10**9), 10**9)}.{rng.randrange(10 ** rng.randrange(1, 6))}"
    else:
        text = f"{rng.randrange(-(10**12), 10**12)}e{rng.randrange(-12, 6)}"
    return (
        text
        if rng.random() < 0.7
        else f'"{rng.choice(["", "", "", "+", " "])}{text}{rng.choice(["", "", ",", " "])}"'
    )


def _binary(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return json.dumps("".join(rng.choices("ABab+/09=-_ \n", k=rng.randrange(10))))
    return json.dumps(
        "".join(rng.choices("ABab+/09", k=4 * rng.randrange(4))) + rng.choice(["", "", "AA==", "AAA=", "AAA"])
    )


_MAKERS: Final[dict[str, Callable[[random.Random], str]]] = {
    "string": _text_or_value,
    "timestamp": _time,
    "timestamp_ntz": _time,
    "date": _date,
    "byte": _small,
    "short": _small,
    "integer": lambda rng: rng.choice([_small, _integer])(rng),
    "double": _double,
    "float": _double,
    "boolean": lambda rng: rng.choice(["true", "false"]),
    "binary": _binary,
}
