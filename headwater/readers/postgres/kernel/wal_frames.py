"""Messages of pgoutput as rows whose values lie where they came: nothing is copied.

A message is checked against its end before it is read. Numbers are big-endian.
"""

from __future__ import annotations

from headwater.readers.kernels.memory import (
    called,
    get,
    inlined,
    int64,
    load_byte,
    load_int32,
    load_int64,
    put,
    rare,
    store_byte,
    store_int32,
    swapped_int32,
)
from headwater.readers.postgres import wal_layout as L

_BEGIN = 0x42
_COMMIT = 0x43
_DELETE = 0x44
_INSERT = 0x49
_KEY = 0x4B
_MESSAGE = 0x4D
_NEW = 0x4E
_OLD_OR_ORIGIN = 0x4F
_RELATION = 0x52
_TRUNCATE = 0x54
_UPDATE = 0x55
_TYPE = 0x59
_NULL = 0x6E
_TEXT = 0x74
_UNCHANGED = 0x75


@inlined
def _int16(at: int) -> int:
    return (load_byte(at) << 8) | load_byte(at + 1)


@inlined
def _int32(at: int) -> int:
    return swapped_int32(load_int32(at))


@inlined
def _int64(at: int) -> int:
    high = _int32(at)
    low = _int32(at + 4) & 0xFFFFFFFF
    return (high << 32) | low


@called
def scan(state: int) -> int:
    """Find the first transaction that is not to be read, and note how far the last one has come.

    Returns:
        How many messages come before it.
    """
    data = get(state, L.DATA)
    ends = get(state, L.ENDS)
    count = get(state, L.COUNT)
    begin = int64(0)
    for i in range(count):
        end = get(ends, i)
        at = data + begin + L.HEADER_BYTES
        begin = end
        if data + end <= at:
            continue
        kind = load_byte(at)
        if kind == _BEGIN and data + end >= at + 21:
            lsn = _int64(at + 1)
            if lsn >= get(state, L.STOP_LSN):
                return int64(i)
            put(state, L.FINAL_LSN, lsn)
            put(state, L.SINCE_BEGIN, 0)
            put(state, L.HAS_ENDED, 0)
        elif kind == _COMMIT:
            put(state, L.HAS_ENDED, 1)
        elif kind == _INSERT or kind == _UPDATE or kind == _DELETE or kind == _TRUNCATE:
            put(state, L.SINCE_BEGIN, get(state, L.SINCE_BEGIN) + 1)
    return count


@called
def frame(state: int) -> int:
    """Make rows of messages from `AT` on; return why no more were made.

    `AT` is then the first message that is not read. A row is never made of a part of a message.
    """
    data = get(state, L.DATA)
    ends = get(state, L.ENDS)
    count = get(state, L.COUNT)
    at_message = get(state, L.AT)
    begin = get(ends, at_message - 1) if at_message > 0 else int64(0)
    while at_message < count:
        if get(state, L.ROW) + 1 + get(state, L.TABLES) > get(state, L.ROOM):
            put(state, L.AT, at_message)
            return int64(L.END_OF_ROOM)
        end = data + get(ends, at_message)
        at = data + begin + L.HEADER_BYTES
        result = int64(L.END_OF_MESSAGES)
        if at >= end:
            result = int64(L.MALFORMED)
        else:
            kind = load_byte(at)
            if kind == _INSERT or kind == _UPDATE or kind == _DELETE:
                if get(state, L.FINAL_LSN) >= get(state, L.START_LSN):
                    result = _change(state, kind, at + 1, end)
            else:
                result = _other(state, kind, at + 1, end)
        if result != L.END_OF_MESSAGES:
            put(state, L.AT, at_message)
            return result
        at_message += 1
        begin = end - data
    put(state, L.AT, at_message)
    return int64(L.END_OF_MESSAGES)


@inlined
def _other(state: int, kind: int, at: int, end: int) -> int:
    """Take a message that is no change of one row."""
    if kind == _BEGIN:
        if end < at + 20:
            return int64(L.MALFORMED)
        lsn = _int64(at)
        if lsn >= get(state, L.STOP_LSN):
            return int64(L.END_OF_RANGE)
        put(state, L.FINAL_LSN, lsn)
        put(state, L.COMMIT_TIME, _int64(at + 8) + L.EPOCH_MICROS)
        put(state, L.XID, _int32(at + 16) & 0xFFFFFFFF)
        put(state, L.SEQUENCE, 0)
        put(state, L.HAS_ENDED, 0)
        return int64(L.END_OF_MESSAGES)
    if kind == _COMMIT:
        put(state, L.HAS_ENDED, 1)
        return int64(L.END_OF_MESSAGES)
    if kind == _RELATION:
        return int64(L.RELATION)
    if kind == _TRUNCATE:
        return _truncate(state, at, end)
    if kind == _OLD_OR_ORIGIN or kind == _TYPE or kind == _MESSAGE:
        return int64(L.END_OF_MESSAGES)
    return int64(L.MALFORMED)


@rare
def _truncate(state: int, at: int, end: int) -> int:
    if end < at + 5 or end < at + 5 + 4 * _int32(at):
        return int64(L.MALFORMED)
    if get(state, L.FINAL_LSN) < get(state, L.START_LSN):
        return int64(L.END_OF_MESSAGES)
    # Before the first row: a message is read again once the form is known.
    rows = int64(0)
    for i in range(_int32(at)):
        if _is_read(state, _int32(at + 5 + 4 * i) & 0xFFFFFFFF):
            if get(state, L.MAP_COUNT) < 0:
                return int64(L.UNKNOWN_RELATION)
            rows += 1
    # There is room for a row of each table, and the server names each once.
    if rows > get(state, L.TABLES):
        return int64(L.MALFORMED)
    for i in range(_int32(at)):
        if _is_read(state, _int32(at + 5 + 4 * i) & 0xFFFFFFFF):
            row = get(state, L.ROW)
            _clear(state, row, get(state, L.STARTS), get(state, L.LENGTHS))
            _finish(state, row, L.OP_TRUNCATE, 0)
    return int64(L.END_OF_MESSAGES)


@called
def _is_read(state: int, table: int) -> bool:
    """Make a table the one whose rows come; return False for one that is not read."""
    forms = get(state, L.FORMS)
    for i in range(get(state, L.TABLES)):
        if get(forms, L.FORM_FIELDS * i) == table:
            put(state, L.TABLE, table)
            put(state, L.MAP, get(forms, L.FORM_FIELDS * i + 1))
            put(state, L.MAP_COUNT, get(forms, L.FORM_FIELDS * i + 2))
            put(state, L.KEYS, get(forms, L.FORM_FIELDS * i + 3))
            put(state, L.FORM, get(forms, L.FORM_FIELDS * i + 4))
            return True
    return False


@inlined
def _change(state: int, kind: int, at: int, end: int) -> int:
    """Make a row, or two, of an insert, an update or a delete."""
    if end < at + 5:
        return int64(L.MALFORMED)
    table = _int32(at) & 0xFFFFFFFF
    if table != get(state, L.TABLE) and not _is_read(state, table):
        return int64(L.END_OF_MESSAGES)
    if get(state, L.MAP_COUNT) < 0:
        return int64(L.UNKNOWN_RELATION)
    row = get(state, L.ROW)
    starts = get(state, L.STARTS)
    lengths = get(state, L.LENGTHS)
    mark = load_byte(at + 4)
    at += 5
    if kind == _INSERT:
        at = _tuple(state, at, end, row, starts, lengths) if mark == _NEW else int64(0)
        if at != end:
            return int64(L.MALFORMED)
        _finish(state, row, L.OP_INSERT, 0)
        return int64(L.END_OF_MESSAGES)
    if mark == _NEW:
        at = _tuple(state, at, end, row, starts, lengths) if kind == _UPDATE else int64(0)
        if at != end:
            return int64(L.MALFORMED)
        _count_unchanged(state, row)
        _finish(state, row, L.OP_UPDATE, 0)
        return int64(L.END_OF_MESSAGES)
    if mark != _KEY and mark != _OLD_OR_ORIGIN:
        return int64(L.MALFORMED)
    # The old row comes first. It is put in the place of the first row, and kept beside it.
    at = _tuple(state, at, end, row, starts, lengths)
    if kind == _DELETE:
        if at != end:
            return int64(L.MALFORMED)
        _keep_old(state, row)
        _put_old(state, row)
        _finish(state, row, L.OP_DELETE, 1)
        return int64(L.END_OF_MESSAGES)
    if at == 0 or at >= end or load_byte(at) != _NEW:
        return int64(L.MALFORMED)
    _keep_old(state, row)
    at = _tuple(state, at + 1, end, row + 1, starts, lengths)
    if at != end:
        return int64(L.MALFORMED)
    moved = _take_unchanged(state, row + 1, mark == _OLD_OR_ORIGIN)
    if moved:
        _put_old(state, row)
        _finish(state, row, L.OP_DELETE, 1)
        _count_unchanged(state, row + 1)
        _finish(state, row + 1, L.OP_INSERT, 0)
        return int64(L.END_OF_MESSAGES)
    if get(state, L.PREIMAGES) != 0 and mark == _OLD_OR_ORIGIN:
        _put_old(state, row)
        _finish(state, row, L.OP_BEFORE, 1)
        row += 1
    else:
        _copy_row(state, row + 1, row)
    _put_old(state, row)
    _count_unchanged(state, row)
    _finish(state, row, L.OP_UPDATE, 1)
    return int64(L.END_OF_MESSAGES)


@inlined
def _tuple(state: int, at: int, end: int, row: int, starts: int, lengths: int) -> int:
    """Note where the values of a row lie; return where it ends, 0 if it is malformed."""
    room = get(state, L.ROOM)
    data = get(state, L.DATA)
    places = get(state, L.MAP)
    if end < at + 2:
        return int64(0)
    count = _int16(at)
    at += 2
    if count != get(state, L.MAP_COUNT):
        return int64(0)
    _clear(state, row, starts, lengths)
    for i in range(count):
        if at >= end:
            return int64(0)
        kind = load_byte(at)
        at += 1
        length = int64(L.NULL)
        start = int64(0)
        if kind == _TEXT:
            if end < at + 4:
                return int64(0)
            length = _int32(at)
            at += 4
            if length < 0 or end - at < length:
                return int64(0)
            start = at - data
            at += length
        elif kind == _UNCHANGED:
            length = int64(L.UNCHANGED)
        elif kind != _NULL:
            return int64(0)
        column = get(places, i)
        if column >= 0:
            place = column * room + row
            put(starts, place, start)
            store_int32(lengths + 4 * place, length)
    return at


@inlined
def _clear(state: int, row: int, starts: int, lengths: int) -> None:
    """Make every value of a row NULL: columns that a message does not have stay so."""
    room = get(state, L.ROOM)
    for column in range(get(state, L.COLUMNS)):
        place = column * room + row
        put(starts, place, 0)
        store_int32(lengths + 4 * place, L.NULL)


@inlined
def _finish(state: int, row: int, kind: int, has_old: int) -> None:
    """Count a row, and write the columns of its transaction."""
    store_byte(get(state, L.KINDS) + row, kind)
    store_byte(get(state, L.HAS_OLD) + row, has_old)
    put(get(state, L.LSNS), row, get(state, L.FINAL_LSN))
    store_int32(get(state, L.SEQUENCES) + 4 * row, get(state, L.SEQUENCE))
    put(get(state, L.XIDS), row, get(state, L.XID))
    put(get(state, L.TIMES), row, get(state, L.COMMIT_TIME))
    store_int32(get(state, L.ROW_FORMS) + 4 * row, get(state, L.FORM))
    put(state, L.SEQUENCE, get(state, L.SEQUENCE) + 1)
    put(state, L.ROW, row + 1)


@inlined
def _count_unchanged(state: int, row: int) -> None:
    room = get(state, L.ROOM)
    lengths = get(state, L.LENGTHS)
    for column in range(get(state, L.COLUMNS)):
        if load_int32(lengths + 4 * (column * room + row)) == L.UNCHANGED:
            put(state, L.UNCHANGED_ROWS, get(state, L.UNCHANGED_ROWS) + 1)
            return


@called
def _keep_old(state: int, row: int) -> None:
    """Keep the row that stands in a place, before another one is put there."""
    room = get(state, L.ROOM)
    old = get(state, L.OLD_TUPLE)
    for column in range(get(state, L.COLUMNS)):
        place = column * room + row
        put(old, 2 * column, get(get(state, L.STARTS), place))
        put(old, 2 * column + 1, load_int32(get(state, L.LENGTHS) + 4 * place))


@called
def _put_old(state: int, row: int) -> None:
    """Put the row that was kept beside a row, if that is wanted."""
    starts = get(state, L.OLD_STARTS)
    if starts == 0:
        return
    room = get(state, L.ROOM)
    old = get(state, L.OLD_TUPLE)
    for column in range(get(state, L.COLUMNS)):
        place = column * room + row
        put(starts, place, get(old, 2 * column))
        store_int32(get(state, L.OLD_LENGTHS) + 4 * place, get(old, 2 * column + 1))


@called
def _copy_row(state: int, source: int, to: int) -> None:
    room = get(state, L.ROOM)
    starts = get(state, L.STARTS)
    lengths = get(state, L.LENGTHS)
    for column in range(get(state, L.COLUMNS)):
        put(starts, column * room + to, get(starts, column * room + source))
        store_int32(lengths + 4 * (column * room + to), load_int32(lengths + 4 * (column * room + source)))


@called
def _take_unchanged(state: int, row: int, is_whole: bool) -> bool:
    """Take values that the new row lacks from the old one; return whether the key is another one.

    The old row has all values, or those of the replica identity.
    """
    room = get(state, L.ROOM)
    data = get(state, L.DATA)
    old = get(state, L.OLD_TUPLE)
    starts = get(state, L.STARTS)
    lengths = get(state, L.LENGTHS)
    moved = False
    for column in range(get(state, L.COLUMNS)):
        place = column * room + row
        is_key = get(get(state, L.KEYS), column) != 0
        length = load_int32(lengths + 4 * place)
        old_length = get(old, 2 * column + 1)
        if length == L.UNCHANGED:
            if is_whole or is_key:
                put(starts, place, get(old, 2 * column))
                store_int32(lengths + 4 * place, old_length)
        elif is_key and not moved:
            moved = length != old_length or (
                length > 0 and not _same(data + get(starts, place), data + get(old, 2 * column), length)
            )
    return moved


@inlined
def _same(one: int, other: int, size: int) -> bool:
    i = int64(0)
    while i + 8 <= size:
        if load_int64(one + i) != load_int64(other + i):
            return False
        i += 8
    while i < size:
        if load_byte(one + i) != load_byte(other + i):
            return False
        i += 1
    return True
