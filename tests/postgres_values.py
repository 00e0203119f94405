"""Values of each type that PostgreSQL brings along, as literals: fixed ones at the edges, and drawn ones."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType

WITHOUT_INPUT = frozenset(
    {
        "aclitem", "gtsvector", "pg_brin_bloom_summary", "pg_brin_minmax_multi_summary", "pg_dependencies",
        "pg_mcv_list", "pg_ndistinct", "pg_node_tree", "refcursor", "pg_snapshot", "txid_snapshot",
    }
)  # fmt: skip
"""Types that take no literal, or that no table has."""


def _text(random: Random) -> str:
    alphabet = "ab \t\n\\'\"%_{}(),\u00e9\u6f22\U0001f600\u0001"
    return "".join(random.choice(alphabet) for _ in range(random.randrange(40)))


def _decimal(digits: int, scale: int) -> Callable[[Random], str]:
    def draw(random: Random) -> str:
        whole = str(random.randrange(10 ** random.randrange(1, digits - scale + 1)))
        behind = "".join(random.choice("0123456789") for _ in range(random.randrange(scale + 1)))
        return f"{random.choice(('', '-'))}{whole}.{behind or '0'}"

    return draw


def _moment(random: Random) -> str:
    year = random.choice([random.randrange(1, 10_000), random.randrange(1_960, 2_040)])
    day = f"{year:04}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"
    clock = f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"
    return f"{day} {clock}.{random.randrange(10**6):06}"


def _whole(bits: int) -> Callable[[Random], str]:
    return lambda random: str(random.randrange(-(1 << bits - 1), 1 << bits - 1) >> random.randrange(bits))


def _unsigned(random: Random) -> str:
    return str(random.randrange(1 << 32))


def _float(random: Random) -> str:
    return repr(random.choice([random.random(), random.uniform(-1e30, 1e30), float(random.randrange(100))]))


def _json(random: Random) -> str:
    return json.dumps(
        {_text(random).replace("\u0001", ""): [random.random(), None, {"a": random.randrange(9)}]}
    )


def _address(random: Random) -> str:
    return ".".join(str(random.randrange(256)) for _ in range(4))


DRAWN: Mapping[str, Callable[[Random], str]] = MappingProxyType(
    {
        "bool": lambda random: random.choice("tf"),
        "bpchar(9)": lambda random: _text(random)[:9],
        "bytea": lambda random: "\\x" + random.randbytes(random.randrange(40)).hex(),
        "date": lambda random: _moment(random)[:10],
        "float4": lambda random: str(random.uniform(-1e9, 1e9)),
        "float8": _float,
        "inet": _address,
        "int2": _whole(16),
        "int4": _whole(32),
        "int8": _whole(64),
        "interval": lambda random: (
            f"{random.randrange(-99, 99)} mons {random.randrange(99)} days {random.random()}"
        ),
        "json": _json,
        "jsonb": _json,
        "name": lambda random: _text(random)[:15],
        "numeric": _decimal(60, 20),
        "numeric(38,0)": _decimal(38, 0),
        "numeric(38,38)": lambda random: f"0.{random.randrange(10**38)}",
        "numeric(38,19)": _decimal(38, 19),
        "numeric(12,3)": _decimal(12, 3),
        "numeric(5,1)": _decimal(5, 1),
        "numeric(9,6)": _decimal(9, 6),
        "oid": _unsigned,
        "text": _text,
        "text[]": lambda random: (
            json.dumps([_text(random).replace("\u0001", "") for _ in range(3)])
            .replace("[", "{")
            .replace("]", "}")
            .replace("\\u", "u")
        ),
        "timestamp": _moment,
        "timestamptz": lambda random: _moment(random) + "+00",
        "uuid": lambda random: str(uuid.UUID(int=random.getrandbits(128))),
        "varchar(20)": lambda random: _text(random)[:20],
    }
)
"""By the types as SQL has them: draws a value."""

FIXED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bit(5)": ("10101",),
        "bool": ("t", "f"),
        "box": ("(1,1),(0,0)",),
        '"char"': ("x", ""),
        "cid": ("7",),
        "cidr": ("10.0.0.0/8", "::1/128"),
        "circle": ("<(0,0),1>",),
        "date": ("0001-01-01", "9999-12-31", "1970-01-01", "1600-02-29"),
        "datemultirange": ("{[2024-01-01,2024-02-01)}",),
        "daterange": ("[2024-01-01,)", "empty"),
        "float4": ("NaN", "Infinity", "-Infinity", "-0", "1e-45", "3.4028235e38", "0.1"),
        "float8": ("NaN", "Infinity", "-Infinity", "-0", "5e-324", "1.7976931348623157e308", "0.1"),
        "inet": ("10.0.0.1", "10.0.0.1/24", "::1"),
        "int2": ("-32768", "32767"),
        "int2vector": ("1 2",),
        "int4": ("-2147483648", "2147483647"),
        "int4multirange": ("{[1,5)}",),
        "int4range": ("[1,5)",),
        "int8": ("-9223372036854775808", "9223372036854775807"),
        "int8multirange": ("{}",),
        "int8range": ("(,)",),
        "interval": ("1 year 2 mons -3 days 04:05:06.789", "-1 day"),
        "json": ('{"a" :  1}', "null"),
        "jsonb": ('{"b":1, "a":[1.50]}', "null"),
        "jsonpath": ("$.a[*]",),
        "line": ("{1,-1,0}",),
        "lseg": ("[(0,0),(1,1)]",),
        "macaddr": ("08:00:2b:01:02:03",),
        "macaddr8": ("08:00:2b:01:02:03:04:05",),
        "money": ("12.34", "-1"),
        "numeric": ("NaN", "Infinity", "-Infinity", "1e-30", "1e100"),
        "numeric(38,0)": ("9" * 38, "-" + "9" * 38, "0", "10000", "-1"),
        "numeric(38,38)": ("0." + "9" * 38, "0." + "0" * 37 + "1"),
        "numeric(38,19)": ("9" * 19 + "." + "9" * 19,),
        "numeric(3,-2)": ("99900", "-100", "0"),
        "numeric(2,4)": ("0.0099", "-0.0001"),
        "numeric(50,10)": ("9" * 40,),
        "oid": ("0", "4294967295"),
        "oidvector": ("1 2",),
        "path": ("[(0,0),(1,1)]",),
        "pg_lsn": ("16/B374D848",),
        "point": ("(1.5,2)",),
        "polygon": ("((0,0),(1,1),(1,0))",),
        "regclass": ("pg_class",),
        "regcollation": ('"C"',),
        "regconfig": ("english",),
        "regdictionary": ("simple",),
        "regnamespace": ("public",),
        "regoper": ("||/",),
        "regoperator": ("*(integer,integer)",),
        "regproc": ("now",),
        "regprocedure": ("now()",),
        "regrole": ("postgres",),
        "regtype": ("integer",),
        "regdatabase": ("postgres",),
        "numrange": ("[1.5,2)",),
        "nummultirange": ("{[1.5,2)}",),
        "text": ("", "NULL", "\\N", "x" * 9_000),
        "tid": ("(1,2)",),
        "time": ("24:00:00", "00:00:00.000001"),
        "timestamp": ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"),
        "timestamptz": ("0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"),
        "timetz": ("12:00:00+02",),
        "tsmultirange": ("{[2024-01-01,2024-02-01)}",),
        "tsquery": ("'a' & 'b'",),
        "tsrange": ("[2024-01-01,2024-02-01)",),
        "tstzmultirange": ("{[2024-01-01,2024-02-01)}",),
        "tstzrange": ("[2024-01-01,2024-02-01)",),
        "tsvector": ("'a':1 'b'",),
        "uuid": ("00000000-0000-0000-0000-000000000000",),
        "varbit": ("", "101"),
        "varchar(20)": ("", " a "),
        "xid": ("7",),
        "xid8": ("18446744073709551615",),
        "xml": ("<a>1</a>",),
        "int4[]": ("{1,NULL,3}", "{}", "{{1,2},{3,4}}", "[5:6]={1,2}"),
        "inet[]": ("{10.0.0.1}",),
        "timestamptz[]": ('{"2024-02-29 12:00:00+00"}',),
        "mood": ("glad", "it's sad"),
        "price": ("19.99",),
        "pair": ("(1,)", "(,)"),
        "pair[]": ('{"(1,x)"}',),
        "span": ("[1,2.5)",),
    }
)
"""By the types as SQL has them."""

OWN_TYPES = """
CREATE TYPE mood AS ENUM ('glad', 'it''s sad');
CREATE DOMAIN price AS numeric(10, 2) CHECK (VALUE > 0);
CREATE TYPE pair AS (i int, t text);
CREATE TYPE span AS RANGE (subtype = numeric)
"""
"""Makes the types that a database has not by itself."""


def values_of(random: Random, drawn: int) -> dict[str, list[str]]:
    """Return values by their types: the fixed ones, and so many drawn ones of each type that can be drawn."""
    values = {kind: list(fixed) for kind, fixed in FIXED.items()}
    for kind, draw in DRAWN.items():
        values.setdefault(kind, []).extend(draw(random) for _ in range(drawn))
    return values
