"""Messages of `headwater.plugins.rabbitmq` as Arrow columns: payload, properties, annotations, headers.

A message is AMQP 1.0: a sequence of sections. One of them, or several of one kind, are the payload.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

import headwater as hw
from headwater.plugins.rabbitmq_chunks import Chunks
from headwater.plugins.rabbitmq_values import PROPERTIES, raw, sections, text

try:
    import numpy as np
except ImportError as error:
    raise hw.errors.MissingDependencyError(
        "numpy", needed_for="the rabbitmq source", extra="rabbitmq"
    ) from error

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

_ANNOTATIONS, _PROPERTIES, _HEADERS, _DATA, _SEQUENCE, _VALUE = 0x72, 0x73, 0x74, 0x75, 0x76, 0x77
_SHORT: Final = 0xA0
_LONG: Final = 0xB0
_EMPTY_LIST: Final = 0x45
_MOST_SECTIONS: Final = 7


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages in the order of their offsets.

    Attributes:
        data: the bytes that they lie in.
        starts: where each begins.
        ends: where each ends.
        offsets: of each.
        times_ms: when the chunk of each was written.
    """

    data: bytes
    starts: Numbers
    ends: Numbers
    offsets: Numbers
    times_ms: Numbers


def messages_of(chunks: Chunks) -> Messages:
    """Return the messages of chunks."""
    counts = [end - first for first, end, _ in chunks.spans]
    return Messages(
        chunks.blocks[0] if len(chunks.blocks) == 1 else b"".join(chunks.blocks),
        np.array(chunks.starts, np.int64),
        np.array(chunks.ends, np.int64),
        np.concatenate([np.arange(first, end) for first, end, _ in chunks.spans]),
        np.repeat(np.array([each for _, _, each in chunks.spans], np.int64), counts),
    )


def whole(messages: Messages) -> pa.Array[Any]:
    """Return each message as it is."""
    return _slices(messages, messages.starts.copy(), messages.ends.copy())


def payloads(messages: Messages) -> pa.Array[Any]:
    """Return the payload of each message: null if it has none.

    All messages are read together, section by section. A message with an unusual section is read by itself.
    """
    count = len(messages.starts)
    data = np.frombuffer(messages.data, np.uint8)
    # Sections are read before their place is checked: it may be behind the last message.
    padded = np.concatenate((data, np.zeros(8, np.uint8)))
    at = messages.starts.copy()
    begins = np.zeros(count, np.int64)
    ends = np.full(count, -1, np.int64)
    rest = np.arange(count)
    for _ in range(_MOST_SECTIONS):
        if not len(rest):
            break
        here = at[rest]
        code, form = padded[here + 2], padded[here + 3]
        is_usual = (padded[here] == 0) & (padded[here + 1] == 0x53)
        is_short = form < _LONG
        is_short |= (form & 0xF0) == 0xC0
        long_size = (
            (padded[here + 4].astype(np.int64) << 24)
            | (padded[here + 5].astype(np.int64) << 16)
            | (padded[here + 6].astype(np.int64) << 8)
            | padded[here + 7]
        )
        is_empty = form == _EMPTY_LIST
        size = np.where(is_empty, 0, np.where(is_short, padded[here + 4], long_size))
        begin = here + np.where(is_empty, 4, np.where(is_short, 5, 8))
        end = begin + size
        is_plain = is_usual & (end <= messages.ends[rest])
        is_payload = is_plain & (code == _DATA) & ((form == _SHORT) | (form == _LONG))
        # Anything behind it is another part of the payload, or a footer: rare, and read by itself.
        is_done = is_payload & (end == messages.ends[rest])
        begins[rest[is_done]] = begin[is_done]
        ends[rest[is_done]] = end[is_done]
        in_front = is_plain & (code < _DATA) & (is_empty | (form & 0xF0 == 0xC0) | (form & 0xF0 == 0xD0))
        at[rest[in_front]] = end[in_front]
        rest = rest[in_front]
    return _slices(messages, begins, ends)


def _slices(messages: Messages, begins: Any, ends: Any) -> pa.Array[Any]:
    """Return parts of messages as an array: Arrow's `take` skips the bytes between them."""
    alone = np.flatnonzero(ends < 0)
    begins[alone] = ends[alone] = messages.starts[alone]
    order = np.argsort(begins, kind="stable") if np.any(np.diff(begins) < 0) else None
    if order is not None:
        begins, ends = begins[order], ends[order]
    pieces = np.empty(2 * len(begins) + 1, np.int64)
    pieces[0:-1:2] = begins
    pieces[1::2] = ends
    pieces[-1] = ends[-1] if len(ends) else 0
    buffers: Any = [None, pa.py_buffer(pieces.astype(np.int32).tobytes()), pa.py_buffer(messages.data)]
    chosen = np.arange(0, 2 * len(begins), 2)
    if order is not None:
        chosen = chosen[np.argsort(order, kind="stable")]
    array = pa.Array.from_buffers(pa.binary(), 2 * len(begins), buffers).take(pa.array(chosen, pa.int64()))
    if not len(alone):
        return array
    values = [payload(messages.data[messages.starts[each] : messages.ends[each]]) for each in alone]
    mask = np.zeros(len(messages.starts), bool)
    mask[alone] = True
    mixed: pa.Array[Any] = pc.replace_with_mask(array, pa.array(mask), pa.array(values, pa.binary()))
    return mixed


def payload(message: bytes) -> bytes | None:
    """Return the payload of one message: bytes as they are, anything else as its text."""
    parts = [(code, value) for code, value in sections(message) if _DATA <= code <= _VALUE]
    if parts and all(code == _DATA and isinstance(value, bytes) for code, value in parts):
        return b"".join(value for _, value in parts)
    values = [value for _, value in parts]
    return raw(values[0] if len(values) == 1 else values or None)


def beside(messages: Messages, pairs: pa.DataType) -> list[pa.Array[Any]]:
    """Return properties, annotations and headers of messages; null where a message has none."""
    columns: dict[int, list[Any]] = {_PROPERTIES: [], _ANNOTATIONS: [], _HEADERS: []}
    for start, end in zip(messages.starts, messages.ends, strict=True):
        by_code = dict(sections(messages.data[start:end]))
        for code, column in columns.items():
            value = by_code.get(code)
            if isinstance(value, list):
                value = {
                    name: each for name, each in zip(PROPERTIES, value, strict=False) if each is not None
                }
            items = value.items() if isinstance(value, dict) else ()
            column.append([{"key": text(key), "value": raw(each)} for key, each in items] or None)
    return [pa.array(column, pairs) for column in columns.values()]
