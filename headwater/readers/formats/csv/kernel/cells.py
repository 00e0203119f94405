"""Values of records as entries of columns, by the rules of Spark's `UnivocityParser`."""

from __future__ import annotations

import numpy as np

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import (
    MISMATCH,
    TAKEN,
    append_null,
    begin_entry,
    end_data,
    put_boolean,
    stop,
)
from headwater.readers.formats.columns.kernel.room import no_room
from headwater.readers.formats.columns.kernel.text import NO_ROOM, write_text
from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.kernel.cell_times import date_of, free_scratch, timestamp_of
from headwater.readers.formats.csv.kernel.intervals import day_time_interval
from headwater.readers.formats.csv.kernel.numbers import (
    NO_NUMBER,
    NUMBER_SPARE,
    double_of,
    float_of,
    number_of,
    short_decimal,
    to_long,
    without_commas,
)
from headwater.readers.formats.csv.kernel.times_of_day import time_of_day
from headwater.readers.formats.values.kernel.entries import (
    put_decimal,
    put_double,
    put_int,
    put_integer,
    put_long,
    put_moment,
)
from headwater.readers.kernels.memory import (
    CHUNK_BYTES,
    called,
    get,
    inlined,
    int64,
    load_byte,
    load_int32,
    load_int64,
)

_TRUE = 0x65757274
_FALS = 0x736C6166
_LETTERS = 0x20202020


@inlined
def is_option_text(state: int, which: int, at: int, size: int) -> bool:
    """Return whether a value is one of the texts of the options."""
    text = get(state, L.OPTIONS) + 8 * (L.OPTION_TEXTS + 2 * which)
    if get(text, 1) != size:
        return False
    same = load_int64(text)
    i = int64(0)
    while i < size and load_byte(same + i) == load_byte(at + i):
        i += 1
    return i == size


@called
def put_cell(nodes: int, node: int, at: int, size: int, state: int) -> int:
    """Append a value to a column, null if it stands for that or cannot be one.

    Return `TAKEN`; `MISMATCH` if it cannot be a value of the column; or `STOPPED`.
    """
    if at == L.NULL_TOKEN:
        append_null(nodes, node)
        return int64(TAKEN)
    if at == L.EMPTY_TOKEN:
        text = get(state, L.OPTIONS) + 8 * (L.OPTION_TEXTS + 2 * L.TEXT_EMPTY)
        at = load_int64(text)
        size = get(text, 1)
    if is_option_text(state, int64(L.TEXT_NULL), at, size):
        append_null(nodes, node)
        return int64(TAKEN)
    kind = get(node, T.NODE_TYPE)
    if kind == T.TYPE_STRING or kind == T.TYPE_BINARY:
        end = write_text(node, get(node, T.NODE_DATA_SIZE), at, size, at + size + 2 * CHUNK_BYTES, False)
        if end == NO_ROOM:
            return no_room(nodes, node, state)
        end_data(node, get(node, T.NODE_DATA) + end)
        return int64(TAKEN)
    status = _put_other(node, kind, at, at + size, state)
    if status == MISMATCH:
        append_null(nodes, node)
    return status


@called
def _put_other(node: int, kind: int, at: int, end: int, state: int) -> int:
    entry = get(node, T.NODE_ENTRIES)
    if kind == T.TYPE_LONG or kind == T.TYPE_INT or kind == T.TYPE_SHORT or kind == T.TYPE_BYTE:
        fits, value = to_long(at, end)
        return put_integer(node, kind, entry, value, 127) if fits else int64(MISMATCH)
    if kind == T.TYPE_DOUBLE or kind == T.TYPE_FLOAT:
        return _put_double(node, kind, entry, at, end, state)
    if kind == T.TYPE_BOOLEAN:
        return _put_boolean(node, entry, at, end)
    if kind == T.TYPE_DECIMAL:
        at = without_commas(at, end)
        return put_decimal(node, entry, at, end)
    return _put_time(node, kind, entry, at, end, state)


@called
def _put_time(node: int, kind: int, entry: int, at: int, end: int, state: int) -> int:
    if kind == T.TYPE_DATE:
        fits, days = date_of(at, end, state)
        return put_int(node, entry, days) if fits else int64(MISMATCH)
    if kind == T.TYPE_DURATION or kind == T.TYPE_TIME:
        fits, value = day_time_interval(at, end) if kind == T.TYPE_DURATION else time_of_day(at, end)
        return put_long(node, entry, value) if fits else int64(MISMATCH)
    outcome, micros, zone, size = timestamp_of(at, end, kind != T.TYPE_TIMESTAMP, state)
    return put_moment(node, entry, outcome, micros, zone, size, state)


@inlined
def is_word(at: int, end: int) -> bool:
    """Return whether a text is ``true`` or ``false``, in any case."""
    word = load_int32(at) | _LETTERS
    if end - at == 4:
        return word == _TRUE
    return end - at == 5 and word == _FALS and load_byte(at + 4) | 0x20 == 0x65


@inlined
def _put_boolean(node: int, entry: int, at: int, end: int) -> int:
    if not is_word(at, end):
        return int64(MISMATCH)
    begin_entry(node, entry)
    put_boolean(node, entry, int64(end - at == 4))
    return int64(TAKEN)


@called
def _put_double(node: int, kind: int, entry: int, at: int, end: int, state: int) -> int:
    size = end - at
    if is_option_text(state, int64(L.TEXT_NAN), at, size):
        return put_double(node, kind, entry, np.nan)
    if is_option_text(state, int64(L.TEXT_NEGATIVE), at, size):
        return put_double(node, kind, entry, -np.inf)
    if is_option_text(state, int64(L.TEXT_POSITIVE), at, size):
        return put_double(node, kind, entry, np.inf)
    if kind == T.TYPE_DOUBLE:
        certain, value = short_decimal(at, end)
        if certain:
            return put_double(node, kind, entry, value)
    number, at, end = number_of(at, end)
    if number == NO_NUMBER:
        return int64(MISMATCH)
    scratch, room = free_scratch(state)
    if room < size + NUMBER_SPARE:
        return stop(state, L.STOP_MORE_SCRATCH, 0)
    if kind == T.TYPE_DOUBLE:
        return put_double(node, kind, entry, double_of(number, at, end, scratch))
    return put_double(node, kind, entry, float_of(number, at, end, scratch))
