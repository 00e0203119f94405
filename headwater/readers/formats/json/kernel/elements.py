"""Documents as the objects in them: an array of objects is as many rows.

Any other document is one value, as it stands; a document of white space has no value.
"""

from __future__ import annotations

from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.relaxed import put_relaxed
from headwater.readers.formats.json.kernel.scanner import skip_space, skip_value
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import peek
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte, put, store_int64

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
    if peek(at, end) == C.CLOSE_LIST:
        return to
    while peek(at, end) == C.OPEN_OBJECT:
        value_end = skip_value(at, end, levels, 1)
        if value_end == 0:
            return int64(_NO_OBJECTS)
        if to == limit:
            return int64(_NO_ROOM)
        _note(to, at, value_end - at, document)
        to += L.NOTE_BYTES
        at = skip_space(value_end, end)
        byte = peek(at, end)
        if byte == C.CLOSE_LIST:
            return to
        if byte != C.COMMA:
            return int64(_NO_OBJECTS)
        at = skip_space(at + 1, end)
    return int64(_NO_OBJECTS)


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
    rules = get(state, L.DOCUMENTS_RULES)
    for document in range(first, count):
        filled = get(state, L.DOCUMENTS_FILLED)
        at = get(starts, document)
        end = at + get(sizes, document)
        text = get(state, L.DOCUMENTS_TEXT)
        places = get(state, L.DOCUMENTS_PLACES)
        if rules != L.AS_IT_IS:
            end = put_relaxed(at, end, text, levels, rules, places, get(state, L.DOCUMENTS_SOURCE))
            at = text
            text = end
            places += 4 * (end - at)
        value = skip_space(at, end)
        last = begin + filled
        if value < end:
            last = int64(_NO_OBJECTS)
            if load_byte(value) == C.OPEN_LIST and get(state, L.DOCUMENTS_ARE_WHOLE) == 0:
                last = _put_elements(value, end, document, levels, begin + filled, limit)
            if last == _NO_OBJECTS:
                last = int64(_NO_ROOM)
                if begin + filled < limit:
                    _note(begin + filled, at, end - at, document)
                    last = begin + filled + L.NOTE_BYTES
            if last == _NO_ROOM:
                return document
        put(state, L.DOCUMENTS_FILLED, last - begin)
        put(state, L.DOCUMENTS_TEXT, text)
        put(state, L.DOCUMENTS_PLACES, places)
    return count
