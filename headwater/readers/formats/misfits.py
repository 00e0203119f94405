"""The error of a value that does not fit the type of its column: the field, the text, the type.

Kernels note it in the code of the reason, for bad values alone: which node of the columns, and where in the
value the text begins. The words are made when somebody asks for them.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa

REASON_BITS: Final = 8
"""The lowest bits of a code: the reason itself."""
_NODE_BITS: Final = 20
_PLACE: Final = REASON_BITS + _NODE_BITS
_MOST_SHOWN: Final = 60
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?|[^,\]}\s]+')
"""A scalar of JSON; of an object or list its beginning."""
_NAMES: Final[dict[pa.DataType, str]] = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.time64("ns"): "time",
    pa.duration("us"): "interval",
    pa.string(): "string",
    pa.binary(): "binary",
}


def reason_of(code: int) -> int:
    """Return the reason in a code."""
    return code & ((1 << REASON_BITS) - 1)


def node_of(code: int) -> int:
    """Return the node of the columns that a value does not fit."""
    return (code >> REASON_BITS) & ((1 << _NODE_BITS) - 1)


def place_of(code: int) -> int:
    """Return where in the value the text begins that does not fit."""
    return code >> _PLACE


def told(field: str, text: str | None) -> str:
    """Return the end of a sentence about a value.

    Args:
        field: as `named` returns it.
        text: that does not fit; None: it is not at hand.
    """
    return f"has {'a value' if text is None else shortened(text)} in {field}"


def named(path: str, kind: pa.DataType) -> str:
    """Return the end of that sentence for a field: the same for all values."""
    return f"the field {path!r}, which does not fit its type {type_name(kind)}"


def json_text(value: bytes, place: int) -> str:
    """Return the text of a value of JSON that begins somewhere in a larger one."""
    begin = value[place : place + 4 * _MOST_SHOWN]
    if begin[:1] in {b"{", b"["}:
        return begin.decode("utf-8", "replace")
    token = _TOKEN.match(begin)
    return (token[0] if token else begin).decode("utf-8", "replace")


def shortened(text: str) -> str:
    """Return a text in one line that is not too long."""
    line = text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}..."


def type_name(kind: pa.DataType) -> str:
    """Return Spark's name of a type; of containers the outermost word."""
    if isinstance(kind, pa.TimestampType):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if isinstance(kind, pa.Decimal128Type):
        return f"decimal({kind.precision},{kind.scale})"
    for test, name in _CONTAINERS:
        if test(kind):
            return name
    return _NAMES.get(kind, str(kind))


_CONTAINERS: Final[tuple[tuple[Any, str], ...]] = (
    (pa.types.is_struct, "struct"),
    (pa.types.is_map, "map"),
    (pa.types.is_list, "array"),
)
