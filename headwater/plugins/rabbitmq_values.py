"""Decodes values of AMQP 1.0, for `headwater.plugins.rabbitmq`."""

from __future__ import annotations

import json
import struct
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_FIXED: Final[dict[int, str]] = {
    0x50: ">B",
    0x51: ">b",
    0x52: ">B",
    0x53: ">B",
    0x54: ">b",
    0x55: ">b",
    0x56: ">B",
    0x60: ">H",
    0x61: ">h",
    0x70: ">I",
    0x71: ">i",
    0x72: ">f",
    0x73: ">I",
    0x80: ">Q",
    0x81: ">q",
    0x82: ">d",
    0x83: ">q",
}
_ALONE: Final[dict[int, Any]] = {0x40: None, 0x41: True, 0x42: False, 0x43: 0, 0x44: 0, 0x45: []}
_DESCRIBED: Final = 0x00
_BOOLEAN: Final = 0x56
_CHAR: Final = 0x73
_TIMESTAMP: Final = 0x83
_UUID: Final = 0x98
_OTHERS: Final = {0x74: 4, 0x84: 8, 0x94: 16, _UUID: 16}
_LAST_MS: Final = 60_000_000_000_000
"""Times beyond this one, which Python does not have, stay numbers."""
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_SECTIONS: Final = {
    "amqp:header:list": 0x70,
    "amqp:delivery-annotations:map": 0x71,
    "amqp:message-annotations:map": 0x72,
    "amqp:properties:list": 0x73,
    "amqp:application-properties:map": 0x74,
    "amqp:data:binary": 0x75,
    "amqp:amqp-sequence:list": 0x76,
    "amqp:amqp-value:*": 0x77,
    "amqp:footer:map": 0x78,
}
"""The codes of sections that say by name what they are."""
PROPERTIES: Final = (
    "message-id",
    "user-id",
    "to",
    "subject",
    "reply-to",
    "correlation-id",
    "content-type",
    "content-encoding",
    "absolute-expiry-time",
    "creation-time",
    "group-id",
    "group-sequence",
    "reply-to-group-id",
)
"""The names of the fields of AMQP's properties, which are sent without names."""


def sections(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the sections of a message: the code of each, and its value.

    Raises:
        ValueError: it is no message of AMQP 1.0.
    """
    at = 0
    try:
        while at < len(message):
            if message[at] != _DESCRIBED:
                raise ValueError("a section without a type")
            name, at = value_at(message, at + 1)
            code = _SECTIONS.get(name) if isinstance(name, str) else name
            if not isinstance(code, int):
                what = f"a section of the unknown kind {name!r:.60}"
                raise ValueError(what)  # noqa: TRY004 - as all errors of messages
            value, at = value_at(message, at)
            yield code, value
    except (IndexError, struct.error) as error:
        raise ValueError("a section that is cut off") from error
    except RecursionError as error:
        raise ValueError("a value that is nested too deeply") from error


def value_at(data: bytes, at: int) -> tuple[Any, int]:
    """Return the value that begins somewhere, and where it ends."""
    form = data[at]
    return _value(form, data, at + 1)


def _value(form: int, data: bytes, at: int) -> tuple[Any, int]:
    if form in _ALONE:
        return _ALONE[form], at
    if form == _DESCRIBED:
        _, at = value_at(data, at)
        return value_at(data, at)
    return _sized(form, data, at) if form >> 4 >= 0xA else _fixed(form, data, at)


def _fixed(form: int, data: bytes, at: int) -> tuple[Any, int]:
    """Return a value whose size is that of its type."""
    if form in _OTHERS:
        end = at + _OTHERS[form]
        # Decimals, which clients do not send, stay bytes.
        return (uuid.UUID(bytes=data[at:end]) if form == _UUID else data[at:end]), end
    if form not in _FIXED:
        raise ValueError(f"a value of the unknown type {form:#x}")
    (value,) = struct.unpack_from(_FIXED[form], data, at)
    if form == _BOOLEAN:
        value = value == 1
    elif form == _CHAR:
        if value > sys.maxunicode:
            raise ValueError(f"the character {value:#x}, which there is not")
        value = chr(value)
    elif form == _TIMESTAMP and abs(value) < _LAST_MS:
        value = _EPOCH + timedelta(milliseconds=value)
    return value, at + struct.calcsize(_FIXED[form])


def _sized(form: int, data: bytes, at: int) -> tuple[Any, int]:
    """Return a value with its size in front: by the upper half of its form, in one byte or four."""
    kind, width = form & 0x0F, 1 if form >> 4 in (0xA, 0xC, 0xE) else 4
    size = int.from_bytes(data[at : at + width], "big")
    at += width
    end = at + size
    if end > len(data):
        raise ValueError("a value that is cut off")
    if form >> 4 in (0xA, 0xB):
        return (data[at:end] if kind == 0 else data[at:end].decode(errors="replace")), end
    count = int.from_bytes(data[at : at + width], "big")
    at += width
    if form >> 4 in (0xE, 0xF):
        return _array(data[:end], at, count), end
    items = []
    for _ in range(count):
        item, at = value_at(data, at)
        items.append(item)
    if kind == 1:
        keys = (key if isinstance(key, str) else text(key) or "" for key in items[::2])
        return dict(zip(keys, items[1::2], strict=True)), end
    return items, end


def _array(data: bytes, at: int, count: int) -> list[Any]:
    form = data[at]
    at += 1
    if form == _DESCRIBED:
        _, at = value_at(data, at)
        form = data[at]
        at += 1
    # Of a type without bytes an array of any length would fit in.
    if count > len(data) - at:
        raise ValueError("an array that is cut off")
    items = []
    for _ in range(count):
        item, at = _value(form, data, at)
        items.append(item)
    return items


def text(value: Any) -> str | None:
    """Return a value as text: nested ones as JSON, bytes by UTF-8, times in ISO 8601."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list | dict):
        return json.dumps(value, default=text)
    return str(value)


def raw(value: Any) -> bytes | None:
    """Return a value as bytes: bytes as they are, all else as its text."""
    if isinstance(value, bytes):
        return value
    written = text(value)
    return None if written is None else written.encode()
