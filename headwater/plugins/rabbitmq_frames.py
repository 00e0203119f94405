"""Frames of RabbitMQ's stream protocol, for `headwater.plugins.rabbitmq_server`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

import headwater as hw

SUBSCRIBE: Final = 7
DELIVER: Final = 8
CREDIT: Final = 9
UNSUBSCRIBE: Final = 12
METADATA: Final = 15
METADATA_UPDATE: Final = 16
PEER_PROPERTIES: Final = 17
HANDSHAKE: Final = 18
AUTHENTICATE: Final = 19
TUNE: Final = 20
OPEN: Final = 21
CLOSE: Final = 22
HEARTBEAT: Final = 23
PARTITIONS: Final = 25
STATS: Final = 28
ANSWER: Final = 0x8000

OK: Final = 1
NO_STREAM: Final = 2
NOT_AVAILABLE: Final = 6
_REFUSED_LOGIN: Final = (7, 8, 9, 10, 11)
_REFUSED_HOST: Final = 12
_REFUSED_ACCESS: Final = 16
NO_LEADER: Final = 0xFFFF


class Frame:
    """A frame that was received; each call reads its next value."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self.key = self.take(">H")
        self.take(">H")  # the version, which is ours

    def take(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return value

    def text(self) -> str:
        size = max(0, self.take(">h"))
        self._at += size
        return self._data[self._at - size : self._at].decode()

    def pairs(self) -> list[tuple[str, str]]:
        return [(self.text(), self.text()) for _ in range(self.take(">I"))]

    def rest(self) -> memoryview:
        return memoryview(self._data)[self._at :]


def text_of(value: str) -> bytes:
    """Return the protocol's form of a text."""
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded


def pairs_of(values: Sequence[tuple[str, str]]) -> bytes:
    """Return the protocol's form of names with values."""
    return struct.pack(">I", len(values)) + b"".join(text_of(key) + text_of(value) for key, value in values)


FIRST: Final = struct.pack(">H", 1)
LAST: Final = struct.pack(">H", 2)


def at_offset(offset: int) -> bytes:
    """Return the protocol's form of an offset."""
    return struct.pack(">HQ", 4, offset)


def at_time(timestamp_ms: int) -> bytes:
    """Return the protocol's form of a time."""
    return struct.pack(">Hq", 5, timestamp_ms)


def subscription(slot: int, stream: str, offset: bytes, credit: int) -> bytes:
    """Return a request to subscribe to a stream from an offset on; `credit`: chunks to send at once."""
    return struct.pack(">B", slot) + text_of(stream) + offset + struct.pack(">HI", credit, 0)


def refusal(code: int, subject: str) -> Exception:
    """Return the error for a code of the protocol."""
    if code in _REFUSED_LOGIN:
        return hw.errors.AuthenticationError(
            f"the broker refuses the credentials (code {code}); guest may come from the broker's host only",
            source="rabbitmq",
        )
    if code == _REFUSED_HOST:
        return hw.errors.AuthorizationError("this user may not use the virtual host", source="rabbitmq")
    if code == _REFUSED_ACCESS:
        return hw.errors.AuthorizationError(
            f"this user may not read {subject}; docs/rabbitmq.md names the rights", source="rabbitmq"
        )
    return hw.TransientSourceError(f"the broker refuses {subject}: code {code}", source="rabbitmq")
