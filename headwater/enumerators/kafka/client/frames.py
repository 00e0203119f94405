"""Kafka's frames: memory to read them into, and what they mean."""

from __future__ import annotations

import struct
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from headwater.core.errors import CorruptRecordError

__all__ = ["ReceiveBuffer", "Reply"]

_SMALLEST_BYTES = 1 << 16
_VIEW_BYTES = 1 << 12
"""Longer fields of bytes stay views when a reply is decoded without copying.

Topic names, hosts and UUIDs are all shorter.
"""


class ReceiveBuffer:
    """Memory that one frame after the other is read into.

    It grows to the next power of two and never shrinks.

    Fresh memory costs a page fault for every 4 KB, which is dearer than the reading itself. What was read
    last is overwritten by the next frame: who reads on while an earlier frame is still in use has two of
    these. Not thread-safe.
    """

    __slots__ = ("_memory",)

    def __init__(self) -> None:
        self._memory = memoryview(b"")

    def take(self, size: int) -> memoryview:
        """Return the first ``size`` bytes, to be overwritten."""
        if size > len(self._memory):
            self._memory = memoryview(bytearray(max(_SMALLEST_BYTES, 1 << (size - 1).bit_length())))
        return self._memory[:size]


class Reply:
    """A broker's answer that is received but not decoded.

    Attributes:
        correlation_id: which question it answers.
        response_class: kafka-python's class for it.
        version: of the protocol.
        body: what follows the header. A view of the receive buffer: valid until the next frame is read into
            that.
    """

    __slots__ = ("body", "correlation_id", "response_class", "version")

    def __init__(self, correlation_id: int, response_class: Any, version: int, frame: memoryview) -> None:
        self.correlation_id, self.response_class, self.version = correlation_id, response_class, version
        self.body = frame[_header_size(frame, flexible=_has_tags(response_class, version)) :]

    def decode(self) -> Any:
        """Return the response; it shares no memory with the frame.

        Raises:
            CorruptRecordError: the bytes are no such response.
        """
        return self._decoded(lambda: self.response_class.decode(self.body, version=self.version))

    def decode_views(self) -> Any:
        """Return the response with its long fields of bytes, such as record sets, as views of the frame.

        A few microseconds whatever their size.

        Raises:
            CorruptRecordError: the bytes are no such response.
        """
        return self._decoded(self._decode_views)

    def _decode_views(self) -> Any:
        response, end = _view_decoder(self.response_class, self.version)(self.body, 0)
        if end > len(self.body):
            raise ValueError("the last field is cut short")
        return response

    def _decoded(self, decode: Callable[[], Any]) -> Any:
        try:
            return decode()
        except (ValueError, LookupError, TypeError, OverflowError, AssertionError, struct.error) as error:
            raise CorruptRecordError(
                f"{len(self.body)} bytes from the broker are no {self.response_class.name} of version {self.version}: {error}",
                source="kafka",
            ) from error


@lru_cache(maxsize=256)
def _view_decoder(response_class: Any, version: int) -> Callable[[memoryview, int], tuple[Any, int]]:
    """Return kafka-python's generated decoder with another idea of ``bytes``.

    It takes every field of bytes, and would copy record sets.
    """
    flexible = response_class.flexible_version_q(version)
    compiled = response_class._struct.compiled_decode_from(  # noqa: SLF001 - the public decode copies
        version, compact=flexible, tagged=flexible, data_class=response_class[None]
    )
    return types.FunctionType(compiled.__code__, {**compiled.__globals__, "bytes": _view_if_long})


def _view_if_long(field: memoryview) -> memoryview | bytes:
    return field if len(field) > _VIEW_BYTES else bytes(field)


def _has_tags(response_class: Any, version: int) -> bool:
    """Whether the header ends with tagged fields (KIP-482).

    ApiVersions' never does: its version may not be known to the client (KIP-511).
    """
    return response_class.name != "ApiVersionsResponse" and bool(response_class.flexible_version_q(version))


def _header_size(frame: memoryview, *, flexible: bool) -> int:
    """Return where the body begins.

    After the correlation id and, if flexible, the tagged fields, none of which is known.
    """
    position = 4
    if flexible:
        count, position = _varint(frame, position)
        for _ in range(count):
            _, position = _varint(frame, position)
            size, position = _varint(frame, position)
            position += size
    return position


def _varint(frame: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    return value, position
