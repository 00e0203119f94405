"""Avro types of every kind, and random values of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

NAMES = ("a", "b", "c")


def record(*fields: dict[str, Any], name: str = "Outer") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


def fixed(name: str, size: int, **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


PRIMITIVES: dict[str, Any] = {
    kind: kind for kind in ("boolean", "int", "long", "float", "double", "string", "bytes")
}
TIMES: dict[str, Any] = {
    "date": logical("int", "date"),
    "time-millis": logical("int", "time-millis"),
    "time-micros": logical("long", "time-micros"),
    **{
        f"{local}timestamp-{unit}": logical("long", f"{local}timestamp-{unit}")
        for local in ("", "local-")
        for unit in ("millis", "micros", "nanos")
    },
}
DECIMALS: dict[str, Any] = {
    "decimal(9,2)": logical("bytes", "decimal", precision=9, scale=2),
    "decimal(30,2)": logical("bytes", "decimal", precision=30, scale=2),
    "decimal(9,3)": logical("bytes", "decimal", precision=9, scale=3),
    "fixed decimal": fixed("Money", 6, logicalType="decimal", precision=12, scale=2),
    "decimal without precision": logical("bytes", "decimal"),
}
NAMED: dict[str, Any] = {
    "uuid": logical("string", "uuid"),
    "fixed": fixed("Four", 4),
    "other fixed": fixed("Other", 4),
    "larger fixed": fixed("Four", 5),
    "renamed fixed": fixed("New", 4, aliases=["Four"]),
    "enum": {"type": "enum", "name": "Color", "symbols": ["a", "b", "c"]},
    "enum with default": {"type": "enum", "name": "Color", "symbols": ["b", "d"], "default": "d"},
    "enum without it": {"type": "enum", "name": "Color", "symbols": ["b", "d"]},
    "other enum": {"type": "enum", "name": "Shade", "symbols": ["a", "b", "c"]},
    "renamed enum": {"type": "enum", "name": "Shade", "symbols": ["c", "b", "a"], "aliases": ["Color"]},
}
NESTED: dict[str, Any] = {
    "array of int": {"type": "array", "items": "int"},
    "array of long": {"type": "array", "items": "long"},
    "array of nullable": {"type": "array", "items": ["null", "string"]},
    "array of array": {"type": "array", "items": {"type": "array", "items": "float"}},
    "map of int": {"type": "map", "values": "int"},
    "map of double": {"type": "map", "values": "double"},
    "map of record": {"type": "map", "values": record(field("a", "int"), name="Inner")},
    "record": record(field("a", "int"), field("b", ["null", "string"]), name="Inner"),
    "wider record": record(
        field("a", "long"),
        field("b", ["null", "string"]),
        field("c", "string", default="none"),
        field("d", ["null", "int"], default=None),
        field("e", {"type": "array", "items": "int"}, default=[1, 2]),
        name="Inner",
    ),
    "narrower record": record(field("b", ["null", "string"]), name="Inner"),
    "renamed record": record(
        field("z", "double", aliases=["a"]), field("y", ["null", "string"], aliases=["b"]), name="Inner"
    ),
    "record of another name": record(field("a", "int"), field("b", ["null", "string"]), name="Else"),
    "record that needs more": record(field("a", "int"), field("q", "int"), name="Inner"),
}
UNIONS: dict[str, Any] = {
    "null": "null",
    "nullable int": ["null", "int"],
    "int or null": ["int", "null"],
    "nullable long": ["null", "long"],
    "nullable string": ["null", "string"],
    "nullable date": ["null", TIMES["date"]],
    "nullable timestamp": ["null", TIMES["timestamp-millis"]],
    "nullable record": ["null", NESTED["record"]],
    "int or long": ["int", "long"],
    "float or double": ["float", "double"],
    "null, int or long": ["null", "int", "long"],
    "int or string": ["int", "string"],
    "null, string or double": ["null", "string", "double"],
    "string, boolean or record": ["string", "boolean", NESTED["record"]],
    "only int": ["int"],
    "enum or fixed": [NAMED["enum"], NAMED["fixed"]],
}
TYPES: dict[str, Any] = {**PRIMITIVES, **TIMES, **DECIMALS, **NAMED, **NESTED, **UNIONS}


def plain(kind: Any) -> Any:
    """Return a schema without logical types: fastavro writes values as they stand in the bytes then."""
    if isinstance(kind, list):
        return [plain(branch) for branch in kind]
    if isinstance(kind, dict):
        return {key: plain(part) for key, part in kind.items() if key != "logicalType"}
    return kind


def value(rng: random.Random, kind: Any) -> Any:  # noqa: PLR0911 - a case for each type
    """Return a random value of a schema without logical types."""
    match kind:
        case list():
            branch = rng.choice(kind)
            name = branch if isinstance(branch, str) else branch.get("name", branch["type"])
            found = value(rng, branch)
            return found if branch == "null" else (name, found)
        case {"type": "record", "fields": fields}:
            return {each["name"]: value(rng, each["type"]) for each in fields}
        case {"type": "array", "items": items}:
            return [value(rng, items) for _ in range(rng.randrange(4))]
        case {"type": "map", "values": values}:
            return {name: value(rng, values) for name in rng.sample(NAMES, rng.randrange(4))}
        case {"type": "enum", "symbols": symbols}:
            return rng.choice(symbols)
        case {"type": "fixed", "size": size}:
            return rng.choice([bytes(size), b"\xff" * size, b"\0\0" + rng.randbytes(size - 2)])
        case {"type": inner}:
            return value(rng, inner)
    return _primitive(rng, kind)


def _primitive(rng: random.Random, kind: str) -> Any:
    most = 31 if kind == "int" else 63
    bits = rng.choice([1, 7, 20, 31, 50, 63])
    number = rng.getrandbits(min(bits, most)) * rng.choice([1, -1])
    values: dict[str, Any] = {
        "null": None,
        "boolean": rng.random() < 0.5,
        "int": number,
        "long": number,
        "float": rng.choice([0.0, -0.0, 1.5, float("inf"), float("nan"), 3e38]),
        "double": rng.choice([0.0, -0.0, 0.1, 1e300, float("nan"), rng.random()]),
        "string": rng.choice(["", "a", "zażółć", "🙂", "x" * rng.randrange(99)]),
        "bytes": rng.randbytes(rng.choice([0, 1, 3, 4, 5, 13])),
    }
    return values[kind]


def schema_of(kind: Any) -> str:
    """Return the schema of a record of a field of this type, and one that is null in bad values only."""
    return json.dumps(record(field("x", kind), field("mark", "boolean")))


REFUSED_BY_SPARK = frozenset(name for name in TYPES if name.endswith("timestamp-nanos"))
"""Types that Spark does not have, unless a feature is enabled."""
DIFFERENCES: dict[str, Callable[[str, str], bool]] = {
    "times are of the unit that the writer's schema says": lambda written, read: (
        "time" in written and "time" in read and written != read
    ),
    "a time of day in microseconds (`time-micros`) is a bigint": lambda _, read: read == "time-micros",
    "decimals of another scale than the reader's are bad": lambda written, read: (
        "decimal" in written and "decimal" in read and written != read
    ),
}
"""What stands in the documentation, and which types it is about."""

DEFAULT_TYPES: dict[str, Any] = {
    **{
        name: TYPES[name] for name in ("boolean", "int", "long", "float", "double", "string", "bytes", "date")
    },
    **{name: TYPES[name] for name in ("timestamp-micros", "decimal(9,2)", "fixed", "enum", "map of int")},
    **{name: TYPES[name] for name in ("array of int", "array of array", "nullable int", "int or null")},
    **{name: TYPES[name] for name in ("nullable string", "null, string or double", "int or string")},
    **{name: TYPES[name] for name in ("string, boolean or record", "enum or fixed", "enum with default")},
    "array of double": {"type": "array", "items": "double"},
    "nullable float": ["null", "float"],
    "double or null": ["double", "null"],
    "nullable fixed": ["null", NAMED["fixed"]],
    "nullable map": ["null", NESTED["map of int"]],
    "nullable array": ["null", NESTED["array of int"]],
    "record of defaults": record(
        field("a", "int", default=7), field("b", "double", default="-Infinity"), name="Inner"
    ),
}
DEFAULTS = (
    *("1", "1.0", "1.7", "-1.7", "-0.0", "1e30", "1e300", "-1e300", "1e400", "1e-400", "16777217"),
    *("2147483648", "9223372036854775808", "123456789012345678901234567890", "true", "null"),
    *('""', '"1"', '" 1.5 "', '"1.5f"', '"0x1p3"', '"NaN"', '"-Infinity"', '"abc"', '"a"', '"abcdef"'),
    *('"\\u00ff\\u0100"', '"\\u20ac"', '"\\ud800"', '"\\ud83d\\ude00"'),
    *("[]", "[1]", "[1.5]", '["1"]', "[null]", "[[1], []]", "{}", '{"a": 1}', '{"a": 1.9}', '{"a": null}'),
    *('{"a": 1, "b": null}', '{"a": 1, "a": 2}', '{"b": "x"}', '{"b": 2}'),
)
"""As a schema has them: of many types, for each type."""


def is_meant(written: str, read: str) -> bool:
    """Return whether values of these two types may differ."""
    return any(concerns(written, read) for concerns in DIFFERENCES.values())
