"""Fields by the names that stand in a row."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import NODE_BYTES, get
from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.scanner import skip_string
from headwater.readers.formats.json.kernel.strings import unescaped
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, load_int64


@inlined
def is_name(node: int, at: int, end: int) -> bool:
    """Return whether a node's name and a quotation mark stand here."""
    left = get(node, T.NODE_NAME_SIZE) + 1
    if left > end - at:
        return False
    name = get(node, T.NODE_NAME)
    while left >= 8:
        if load_int64(name) != load_int64(at):
            return False
        name += 8
        at += 8
        left -= 8
    return (load_int64(name) ^ load_int64(at)) & ((1 << (8 * left)) - 1) == 0


@called
def find_field(first: int, count: int, at: int, end: int, state: int) -> tuple[int, int]:
    """Return the field whose name begins here with a quotation mark, 0 if there is none, and the name's end.

    The end is 0 if this is no string.
    """
    plain = load_int64(state + 8 * L.STATE_PLAIN_NAMES) == 1 and load_byte(at) == C.QUOTE
    if plain:
        # A name that is one of the schema has no escapes: it need not be looked at before.
        child = first
        for _ in range(count):
            if is_name(child, at + 1, end):
                return child, at + get(child, T.NODE_NAME_SIZE) + 2
            child += NODE_BYTES
    after = skip_string(at, end)
    if after == 0:
        return int64(0), int64(0)
    text, last = unescaped(at, after, state)
    if text == 0 or (plain and text == at + 1):
        return int64(0), after
    child = first
    for _ in range(count):
        if get(child, T.NODE_NAME_SIZE) == last - text:
            name = get(child, T.NODE_NAME)
            i = 0
            while i < last - text and load_byte(name + i) == load_byte(text + i):
                i += 1
            if i == last - text:
                return child, after
        child += NODE_BYTES
    return int64(0), after
