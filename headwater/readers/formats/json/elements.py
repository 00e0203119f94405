"""Documents as the objects in them: an array of objects is as many rows.

A document that is anything else is one value, as it stands; one of white space is none.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: PLR0917
# Compiled functions take positions only.

from __future__ import annotations

from headwater.readers.formats.json.documents_layout import (
    AS_IT_IS,
    DOCUMENTS_ARE_WHOLE,
    DOCUMENTS_FILLED,
    DOCUMENTS_PLACES,
    DOCUMENTS_RULES,
    DOCUMENTS_SOURCE,
    DOCUMENTS_TEXT,
    NOTE_BYTES,
)
from headwater.readers.formats.json.relaxed import put_relaxed
from headwater.readers.formats.json.scanner import (
    CLOSE_LIST,
    COMMA,
    OPEN_LIST,
    OPEN_OBJECT,
    peek,
    skip_space,
)
from headwater.readers.formats.json.skipping import skip_value
from headwater.readers.formats.kernel_columns import get, put
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, load_int64, store_int64

_NO_ROOM = -1
_NO_OBJECTS = -2


@inlined
def _note(to: int, at: int, size: int, document: int) -> None:
    store_int64(to, at)
    store_int64(to + 8, size)
    store_int64(to + 16, document)


@called
def _put_elements(at: int, end: int, document: int, levels: int, to: int, limit: int) -> int:
    """Note the objects of the array that begins here, and return the end of the notes.

    `NO_OBJECTS`: the array is broken, or has something else among its values.
    """
    at = skip_space(at + 1, end)
    if peek(at, end) == CLOSE_LIST:
        return to
    while peek(at, end) == OPEN_OBJECT:
        after = skip_value(at, end, levels, 1)
        if after == 0:
            return int64(_NO_OBJECTS)
        if to == limit:
            return int64(_NO_ROOM)
        _note(to, at, after - at, document)
        to += NOTE_BYTES
        at = skip_space(after, end)
        byte = peek(at, end)
        if byte == CLOSE_LIST:
            return to
        if byte != COMMA:
            return int64(_NO_OBJECTS)
        at = skip_space(at + 1, end)
    return int64(_NO_OBJECTS)


@inlined
def split_documents(
    starts: int, sizes: int, first: int, count: int, levels: int, begin: int, limit: int, state: int
) -> int:
    """Note the values of documents from the first one on, and return how many documents are done.

    Args:
        starts: the address of the documents' addresses, behind each of which 64 bytes may be loaded.
        sizes: the address of their sizes.
        first: how many documents are done.
        count: how many there are.
        levels: the address of room for a bit for each open container.
        begin: where the notes begin.
        limit: the end of the room for them.
        state: the address of the fields ``DOCUMENTS_...``.
    """
    rules = get(state, DOCUMENTS_RULES)
    for document in range(first, count):
        filled = get(state, DOCUMENTS_FILLED)
        at = load_int64(starts + 8 * document)
        end = at + load_int64(sizes + 8 * document)
        text = get(state, DOCUMENTS_TEXT)
        places = get(state, DOCUMENTS_PLACES)
        if rules != AS_IT_IS:
            end = put_relaxed(at, end, text, levels, rules, places, get(state, DOCUMENTS_SOURCE))
            at = text
            text = end
            places += 4 * (end - at)
        value = skip_space(at, end)
        last = begin + filled
        if value < end:
            last = int64(_NO_OBJECTS)
            if load_byte(value) == OPEN_LIST and get(state, DOCUMENTS_ARE_WHOLE) == 0:
                last = _put_elements(value, end, document, levels, begin + filled, limit)
            if last == _NO_OBJECTS:
                last = int64(_NO_ROOM)
                if begin + filled < limit:
                    _note(begin + filled, at, end - at, document)
                    last = begin + filled + NOTE_BYTES
            if last == _NO_ROOM:
                return document
        put(state, DOCUMENTS_FILLED, last - begin)
        put(state, DOCUMENTS_TEXT, text)
        put(state, DOCUMENTS_PLACES, places)
    return count
