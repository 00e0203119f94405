"""Files of Avro: values of all types, whose schema the writer may have said in several ways."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any, Final

from hypothesis import strategies as st

from tests.parity.files.avro_files import avro_file
from tests.parity.files.strategies.tables import COLUMNS

__all__ = ["DDL", "KINDS", "avro_files"]

_PAIR: Final = {
    "type": "record",
    "name": "pair",
    "fields": [{"name": "x", "type": ["null", "int"]}, {"name": "y", "type": ["string", "null"]}],
}
KINDS: Final[dict[str, tuple[Any, ...]]] = {
    "o": ("boolean",),
    "i": ("int",),
    "g": ("long",),
    "f": ("float",),
    "d": ("double",),
    "s": ("string",),
    "x": ("bytes",),
    "t": ({"type": "int", "logicalType": "date"},),
    "m": ({"type": "long", "logicalType": "timestamp-micros"},),
    "p": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        {"type": "fixed", "name": "nine", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2},
        {"type": "fixed", "name": "more", "size": 12, "logicalType": "decimal", "precision": 9, "scale": 2},
    ),
    "q": (
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10},
        {"type": "fixed", "name": "wide", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 10},
    ),
    "l": ({"type": "array", "items": ["null", "int"]}, {"type": "array", "items": ["int", "null"]}),
    "k": ({"type": "map", "values": ["long", "null"]},),
    "r": (_PAIR,),
    "w": ({"type": "array", "items": ["null", {**_PAIR, "name": "other"}]},),
}
"""By the name of a column of `COLUMNS`: what a writer may call its type."""
DDL: Final = ", ".join(f"{name} {COLUMNS[name][0]}" for name in KINDS)
_ALL_DIGITS: Final = Context(prec=38)
_CODECS: Final = st.sampled_from(("null", "deflate", "snappy", "bzip2", "xz"))


def _unscaled(value: Decimal, kind: Any) -> bytes:
    number = int(_ALL_DIGITS.scaleb(value, kind["scale"]))
    return number.to_bytes(kind.get("size", number.bit_length() // 8 + 1), "big", signed=True)


def _written(name: str, kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if name in "pq":
        return _unscaled(value, kind)
    return dict(value) if name == "k" else value


@st.composite
def avro_files(draw: st.DrawFn) -> bytes:
    """Return a file of one to 12 rows with up to eight of the columns in any order."""
    names = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=8, unique=True))
    kinds = {name: draw(st.sampled_from(KINDS[name])) for name in names}
    if {"r", "w"} <= kinds.keys() and names.index("r") < names.index("w") and draw(st.booleans()):
        kinds["w"] = {"type": "array", "items": ["null", _PAIR["name"]]}  # A record that is named again.
    # A column that may be null, in both orders of its union, or never is.
    nullable = {name: draw(st.sampled_from((0, 1, None))) for name in names}
    values = st.fixed_dictionaries(
        {name: COLUMNS[name][2] if nullable[name] is None else st.none() | COLUMNS[name][2] for name in names}
    )
    rows = [
        {name: _written(name, kinds[name], value) for name, value in row.items()}
        for row in draw(st.lists(values, min_size=1, max_size=12))
    ]
    unions = {
        name: kind if nullable[name] is None else ["null", kind][:: 1 if nullable[name] else -1]
        for name, kind in kinds.items()
    }
    return avro_file(unions, rows, draw(_CODECS), draw(st.sampled_from((1, 50, 16_000))))
