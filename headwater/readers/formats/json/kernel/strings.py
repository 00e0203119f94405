"""Values as the strings of a column, and the text of strings in JSON."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import SYNTAX, TAKEN, end_data
from headwater.readers.formats.columns.kernel.room import has_data_room, no_room
from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.scanner import plain_string_end, skip_string, skip_value
from headwater.readers.formats.json.kernel.text import TEXT_GROWTH, TEXT_SPARE, put_compact, put_text
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.kernels.memory import (
    called,
    copy_bytes,
    copy_chunk,
    get,
    inlined,
    int64,
    load_byte,
    load_int32,
    non_ascii,
    rare,
)
from headwater.readers.kernels.utf8 import REPLACEMENT_GROWTH, put_code_point, sequence

_SPACE = 32
QUESTION_MARK = 0x3F
"""Java's encoder writes it for half of a surrogate pair."""
_REPLACEMENT = 0xFFFD


@inlined
def put_string(nodes: int, node: int, at: int, end: int, state: int) -> tuple[int, int]:
    """Write the string that begins here into a node of strings; see `put_scalar`."""
    room = get(node, T.NODE_MOST_DATA) - get(node, T.NODE_DATA_SIZE)
    if room < REPLACEMENT_GROWTH * (end - at):
        return _put_sized_string(nodes, node, at, end, state)
    to = get(node, T.NODE_DATA) + get(node, T.NODE_DATA_SIZE)
    if load_byte(at) == C.QUOTE:
        last = plain_string_end(at, end)
        if last != 0 and non_ascii(at + 1) & ((1 << (last - at - 1)) - 1) == 0:
            copy_chunk(to, at + 1)
            end_data(node, to + last - at - 1)
            return TAKEN, last + 1
    string_end, last = put_text(at, end, to, QUESTION_MARK)
    if string_end == 0:
        return SYNTAX, at
    end_data(node, last)
    return TAKEN, string_end


@rare
def _put_sized_string(nodes: int, node: int, at: int, end: int, state: int) -> tuple[int, int]:
    """Write a string that may be too long for the room: its size is looked at before."""
    string_end = skip_string(at, end)
    if string_end == 0:
        return SYNTAX, at
    if not has_data_room(node, REPLACEMENT_GROWTH * (string_end - at)):
        return no_room(nodes, node, state), at
    to = get(node, T.NODE_DATA) + get(node, T.NODE_DATA_SIZE)
    string_end, last = put_text(at, end, to, QUESTION_MARK)
    if string_end == 0:
        return SYNTAX, at
    end_data(node, last)
    return TAKEN, string_end


@called
def put_other(nodes: int, node: int, at: int, end: int, state: int, depth: int) -> tuple[int, int]:
    """Write a value that is no string into a node of strings."""
    value_end = skip_value(at, end, get(state, L.STATE_LEVELS), depth)
    if value_end == 0:
        return SYNTAX, at
    if get(state, L.STATE_EXACT) == 1:
        places = get(state, L.STATE_PLACES)
        if places == 0:
            return append_exactly(nodes, node, at, value_end, state)
        # A value ends where the next token may begin. Of other bytes, as in
        # `-1.5+1`, the places are unknown; with them the document is broken.
        if value_end == end or not _may_follow(load_byte(value_end)):
            return SYNTAX, at
        source = get(state, L.STATE_SOURCE)
        text = get(state, L.STATE_TEXT)
        begin = source + load_int32(places + 4 * (at - text))
        last = source + load_int32(places + 4 * (value_end - text))
        return _append_source(nodes, node, begin, last, state), value_end
    room = 2 * (TEXT_GROWTH * (value_end - at) + TEXT_SPARE)
    if not has_data_room(node, room):
        return no_room(nodes, node, state), at
    to = get(node, T.NODE_DATA) + get(node, T.NODE_DATA_SIZE)
    end_data(node, put_compact(at, value_end, to, room, get(state, L.STATE_SCRATCH), False))
    return TAKEN, value_end


@inlined
def _may_follow(byte: int) -> bool:
    """Whether a byte may stand behind a value in a container."""
    return byte <= _SPACE or byte == C.COMMA or byte == C.CLOSE_OBJECT or byte == C.CLOSE_LIST


@inlined
def append_exactly(nodes: int, node: int, at: int, value_end: int, state: int) -> tuple[int, int]:
    """Write a value as it stands into a node of strings."""
    if not has_data_room(node, value_end - at):
        return no_room(nodes, node, state), at
    to = get(node, T.NODE_DATA) + get(node, T.NODE_DATA_SIZE)
    copy_bytes(to, at, value_end - at)
    end_data(node, to + value_end - at)
    return TAKEN, value_end


@called
def _append_source(nodes: int, node: int, at: int, end: int, state: int) -> int:
    """Write the source text of a rewritten value into a node of strings.

    Spark keeps its bytes, of which each that is no UTF-8 becomes U+FFFD.
    """
    if not has_data_room(node, REPLACEMENT_GROWTH * (end - at)):
        return no_room(nodes, node, state)
    to = get(node, T.NODE_DATA) + get(node, T.NODE_DATA_SIZE)
    while at < end:
        size = sequence(at, end)
        if size > 0:
            copy_bytes(to, at, size)
            to += size
            at += size
            continue
        for _ in range(-size):
            to = put_code_point(to, _REPLACEMENT)
        at -= size
    end_data(node, to)
    return int64(TAKEN)


@called
def unescaped(at: int, string_end: int, state: int) -> tuple[int, int]:
    """Return where the text of a string lies: in place if it has no escapes; 0 if it is far too long."""
    begin = at + 1
    end = string_end - 1
    escaped = False
    for i in range(begin, end):
        escaped = escaped or load_byte(i) == C.BACKSLASH
    if not escaped:
        return begin, end
    if REPLACEMENT_GROWTH * (string_end - at) > L.SCRATCH_BYTES - TEXT_SPARE:
        return int64(0), int64(0)
    scratch = get(state, L.STATE_SCRATCH)
    _, last = put_text(at, string_end, scratch, QUESTION_MARK)
    return scratch, last
