"""Values that are skipped with all that is in them, as long as they are JSON."""

from __future__ import annotations

from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.scanner import skip_name, skip_scalar, skip_space
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import peek
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, store_byte


@inlined
def _push(levels: int, depth: int, is_object: int) -> None:
    byte = levels + (depth >> 3)
    bit = depth & 7
    store_byte(byte, (load_byte(byte) & ~(1 << bit)) | (is_object << bit))


@inlined
def _top(levels: int, depth: int) -> int:
    return (load_byte(levels + ((depth - 1) >> 3)) >> ((depth - 1) & 7)) & 1


@called
def skip_value(at: int, end: int, levels: int, outer: int) -> int:
    """Return where the value that begins here ends.

    ``levels`` has room for a bit for each open container; ``outer`` is how many containers are around it.
    """
    depth = int64(0)
    while True:
        byte = peek(at, end)
        if byte == C.OPEN_OBJECT or byte == C.OPEN_LIST:
            is_object = 1 if byte == C.OPEN_OBJECT else 0
            if outer + depth >= L.MOST_DEPTH:
                return 0
            _push(levels, depth, is_object)
            depth += 1
            at = skip_space(at + 1, end)
            if peek(at, end) == (C.CLOSE_OBJECT if is_object == 1 else C.CLOSE_LIST):
                at += 1
                depth -= 1
            else:
                if is_object == 1:
                    at = skip_name(at, end)
                    if at == 0:
                        return 0
                continue
        else:
            at = skip_scalar(at, end)
            if at == 0:
                return 0
        # After a value: the containers that end here, and what is before the next value.
        while True:
            if depth == 0:
                return at
            at = skip_space(at, end)
            byte = peek(at, end)
            at += 1
            is_object = _top(levels, depth)
            if byte == C.COMMA:
                at = skip_space(at, end)
                if is_object == 1:
                    at = skip_name(at, end)
                    if at == 0:
                        return 0
                break
            if byte != (C.CLOSE_OBJECT if is_object == 1 else C.CLOSE_LIST):
                return 0
            depth -= 1


@called
def skip_rest(at: int, end: int, is_object: bool, levels: int, outer: int) -> int:
    """Return where the container ends one of whose values has ended here."""
    while True:
        at = skip_space(at, end)
        byte = peek(at, end)
        at += 1
        if byte == (C.CLOSE_OBJECT if is_object else C.CLOSE_LIST):
            return at
        if byte != C.COMMA:
            return 0
        at = skip_space(at, end)
        if is_object:
            at = skip_name(at, end)
            if at == 0:
                return 0
        at = skip_value(at, end, levels, outer)
        if at == 0:
            return 0
