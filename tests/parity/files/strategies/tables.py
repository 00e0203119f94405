"""Tables of all types that files of columns have, and which of their columns a file has."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["COLUMNS", "DDL", "MOMENTS", "tables"]

_TEXTS: Final = st.text("abé😀\0 \n", max_size=8)
_LONGS: Final = st.integers(-(2**63), 2**63 - 1)
_INTS: Final = st.integers(-(2**31), 2**31 - 1)
MOMENTS: Final = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
"""Microseconds since 1970, from the year 1 to 9999."""
_DAYS: Final = st.integers(-719_162, 2_932_896)
_PAIRS: Final = pa.struct([("x", pa.int32()), ("y", pa.string())])


def _or_null(values: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.none() | values


_NESTED: Final = st.fixed_dictionaries({"x": _or_null(_INTS), "y": _or_null(_TEXTS)})
COLUMNS: Final[dict[str, tuple[str, pa.DataType, SearchStrategy[Any]]]] = {
    "o": ("boolean", pa.bool_(), st.booleans()),
    "y": ("tinyint", pa.int8(), st.integers(-128, 127)),
    "h": ("smallint", pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "i": ("int", pa.int32(), _INTS),
    "g": ("bigint", pa.int64(), _LONGS),
    "f": ("float", pa.float32(), st.floats(width=32)),
    "d": ("double", pa.float64(), st.floats()),
    "s": ("string", pa.string(), _TEXTS),
    "x": ("binary", pa.binary(), st.binary(max_size=8)),
    "t": ("date", pa.date32(), _DAYS),
    "m": ("timestamp", pa.timestamp("us", "UTC"), MOMENTS),
    "p": ("decimal(9,2)", pa.decimal128(9, 2), st.decimals(-9_999_999, 9_999_999, places=2)),
    "q": (
        "decimal(38,10)",
        pa.decimal128(38, 10),
        st.integers(-(10**38) + 1, 10**38 - 1).map(lambda each: Decimal(f"{each}E-10")),
    ),
    "l": ("array<int>", pa.list_(pa.int32()), st.lists(_or_null(_INTS), max_size=3)),
    "k": (
        "map<string,bigint>",
        pa.map_(pa.string(), pa.int64()),
        st.lists(st.tuples(_TEXTS, _or_null(_LONGS)), max_size=3, unique_by=lambda pair: pair[0]),
    ),
    "r": ("struct<x:int,y:string>", _PAIRS, _NESTED),
    "w": ("array<struct<x:int,y:string>>", pa.list_(_PAIRS), st.lists(_or_null(_NESTED), max_size=2)),
}
"""By the name of a column: its type in Spark, its type in Arrow, and what its values are drawn from."""

DDL: Final = ", ".join(f"{name} {kind}" for name, (kind, _, _) in COLUMNS.items())


@st.composite
def tables(draw: st.DrawFn, moments: SearchStrategy[int] = MOMENTS) -> pa.Table:
    """Return a table of one to 12 rows with up to eight of the columns in any order.

    Args:
        draw: hypothesis passes it.
        moments: what timestamps are drawn from.
    """
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=8, unique=True))
    rows = draw(st.integers(1, 12))
    columns = {}
    for name in names:
        _, kind, values = COLUMNS[name]
        each = st.none() | (moments if pa.types.is_timestamp(kind) else values)
        found = draw(st.lists(each, min_size=rows, max_size=rows))
        columns[draw(st.sampled_from((name, name.upper())))] = pa.array(found, kind)
    return pa.table(columns)
