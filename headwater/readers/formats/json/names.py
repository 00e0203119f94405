"""Fields by the names that stand in a row."""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

from __future__ import annotations

from headwater.readers.formats.json.layout import STATE_PLAIN_NAMES
from headwater.readers.formats.json.scanner import QUOTE, skip_string
from headwater.readers.formats.json.strings import unescaped
from headwater.readers.formats.kernel_columns import NODE_BYTES, get
from headwater.readers.formats.table_layout import NODE_NAME, NODE_NAME_SIZE
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, load_int64


@inlined
def is_name(node: int, at: int, end: int) -> bool:
    """Return whether a node's name and a quotation mark stand here."""
    left = get(node, NODE_NAME_SIZE) + 1
    if left > end - at:
        return False
    name = get(node, NODE_NAME)
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
    plain = load_int64(state + 8 * STATE_PLAIN_NAMES) == 1 and load_byte(at) == QUOTE
    if plain:
        # A name that is one of the schema has no escapes: it need not be looked at before.
        child = first
        for _ in range(count):
            if is_name(child, at + 1, end):
                return child, at + get(child, NODE_NAME_SIZE) + 2
            child += NODE_BYTES
    after = skip_string(at, end)
    if after == 0:
        return int64(0), int64(0)
    text, last = unescaped(at, after, state)
    if text == 0 or (plain and text == at + 1):
        return int64(0), after
    child = first
    for _ in range(count):
        if get(child, NODE_NAME_SIZE) == last - text:
            name = get(child, NODE_NAME)
            i = 0
            while i < last - text and load_byte(name + i) == load_byte(text + i):
                i += 1
            if i == last - text:
                return child, after
        child += NODE_BYTES
    return int64(0), after
