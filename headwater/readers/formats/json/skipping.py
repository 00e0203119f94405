"""Values that are skipped with all that is in them, as long as they are JSON."""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0912, PLR1714, SIM109
# Compiled functions have no cheap sets; a value is skipped in one loop with many ends.

from __future__ import annotations

from headwater.readers.formats.json.layout import MOST_DEPTH
from headwater.readers.formats.json.scanner import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    COMMA,
    OPEN_LIST,
    OPEN_OBJECT,
    peek,
    skip_name,
    skip_scalar,
    skip_space,
)
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
        if byte == OPEN_OBJECT or byte == OPEN_LIST:
            is_object = 1 if byte == OPEN_OBJECT else 0
            if outer + depth >= MOST_DEPTH:
                return 0
            _push(levels, depth, is_object)
            depth += 1
            at = skip_space(at + 1, end)
            if peek(at, end) == (CLOSE_OBJECT if is_object == 1 else CLOSE_LIST):
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
            if byte == COMMA:
                at = skip_space(at, end)
                if is_object == 1:
                    at = skip_name(at, end)
                    if at == 0:
                        return 0
                break
            if byte != (CLOSE_OBJECT if is_object == 1 else CLOSE_LIST):
                return 0
            depth -= 1


@called
def skip_rest(at: int, end: int, is_object: bool, levels: int, outer: int) -> int:
    """Return where the container ends one of whose values has ended here."""
    while True:
        at = skip_space(at, end)
        byte = peek(at, end)
        at += 1
        if byte == (CLOSE_OBJECT if is_object else CLOSE_LIST):
            return at
        if byte != COMMA:
            return 0
        at = skip_space(at, end)
        if is_object:
            at = skip_name(at, end)
            if at == 0:
                return 0
        at = skip_value(at, end, levels, outer)
        if at == 0:
            return 0
