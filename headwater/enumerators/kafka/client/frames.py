"""Frames of Kafka's protocol: the memory that they are read into, and how a response is decoded."""

from __future__ import annotations

import io
import mmap
import struct
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

import kafka
from kafka.protocol.api_message import ApiMessage

from headwater.core.errors import CorruptRecordError, SourceError, TransientSourceError
from headwater.core.redaction import logger_of
from headwater.core.varints import read_varint
from headwater.enumerators.kafka.client.metadata import BrokerAddress
from headwater.enumerators.kafka.client.transport import Deadline

log = logger_of(__name__)
_SMALLEST_BYTES = 1 << 16
_HUGE_PAGE_BYTES = 2 << 20
_MOST_HANDSHAKE_BYTES = 1 << 19
_VIEW_BYTES = 1 << 12
"""Fields of bytes that are longer stay views of the frame in `Reply.decode_views`.

Topic names, hosts and UUIDs are all shorter, and kafka-python needs them as bytes.
"""
_ELEMENTS_PER_CHECK = 1 << 10
_API_VERSIONS = "ApiVersionsResponse"
_decoding = threading.local()
"""The deadline of the answer that this thread decodes: the generated code has no argument for it."""


def frame_size(head: bytes, address: BrokerAddress, most_bytes: int, *, is_handshake: bool) -> int:
    """Return the size of a frame, which its first four bytes tell.

    Args:
        head: the four bytes.
        address: the broker's, for messages.
        most_bytes: a larger frame is refused.
        is_handshake: whether the connection is being opened. The listener may not be Kafka then, and a frame
            is far smaller.

    Raises:
        SourceError: the frame is too large, or these are not the first bytes of a frame.
    """
    size = int.from_bytes(head, "big", signed=True)
    if 4 <= size <= (_MOST_HANDSHAKE_BYTES if is_handshake else most_bytes):
        return size
    if head[:2] == b"\x15\x03":  # a TLS record that holds an alert
        raise SourceError(
            f"the Kafka broker {address} speaks TLS there: "
            "set kafka.security.protocol to SSL or SASL_SSL, or mend the port",
            source="kafka",
        )
    if is_handshake or size < 4:
        raise SourceError(
            f"what listens at {address} is no Kafka broker: it answers {head!r}; "
            "mend kafka.bootstrap.servers",
            source="kafka",
        )
    raise SourceError(
        f"the Kafka broker {address} sends a frame of {size} bytes, more than {most_bytes}. "
        "If there are records this large, raise kafka.fetch.max.bytes to that size",
        source="kafka",
    )


class ReceiveBuffer:
    """Memory that one frame after the other is read into. Not thread-safe.

    It is used again because fresh memory costs a page fault for every 4 KB, which is dearer than the reading
    itself. It grows to the next power of two and never shrinks.

    The next frame overwrites the last one. To receive a frame while an earlier one is still in use, use two
    buffers.
    """

    __slots__ = ("_memory",)

    def __init__(self) -> None:
        self._memory = memoryview(b"")

    def take(self, size: int) -> memoryview:
        """Return the first ``size`` bytes, to be overwritten."""
        if size > len(self._memory):
            self._memory = _memory(size)
        return self._memory[:size]


def _memory(size: int) -> memoryview:
    """Return fresh memory for a frame of this size, with room for larger ones.

    A large frame lies in huge pages, where the system has them: receiving and reading it is cheaper then. Its
    last, incomplete one is left out, so that no more memory is used than the frame needs.
    """
    room = max(_SMALLEST_BYTES, 1 << (size - 1).bit_length())
    if size < _HUGE_PAGE_BYTES or not hasattr(mmap, "MADV_HUGEPAGE"):
        return memoryview(bytearray(room))
    # Private: a process that is forked of this one must not share it.
    memory = mmap.mmap(-1, room, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # the kernel was built without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE, 0, size // _HUGE_PAGE_BYTES * _HUGE_PAGE_BYTES)
    return memoryview(memory)


_views_are_right: dict[tuple[Any, int], bool] = {}
"""Whether `Reply.decode_views` and `Reply.decode` give the same, by class and version of the response."""


class _CutShortError(ValueError):
    """The bytes end before the response does."""


class Reply:
    """A broker's answer that is received but not decoded.

    Attributes:
        response_class: kafka-python's class for it.
        version: of the protocol.
        body: the bytes behind the header: a view of the receive buffer, valid until the next frame is read
            into that buffer.

    Args:
        response_class: kafka-python's class for it.
        version: of the protocol.
        frame: the answer.
        deadline: by which it must be decoded: the number of its elements, and not of its bytes alone, decides
            how long that takes.
    """

    __slots__ = ("_deadline", "body", "response_class", "version")

    def __init__(self, response_class: Any, version: int, frame: memoryview, deadline: Deadline) -> None:
        self.response_class = response_class
        self.body = frame[_header_size(frame, flexible=_has_tags(response_class, version)) :]
        # An error of ApiVersions is in version 0, whichever was asked for (KIP-511).
        is_refusal = response_class.name == _API_VERSIONS and any(self.body[:2])
        self.version = 0 if is_refusal else version
        self._deadline = deadline

    def decode(self) -> Any:
        """Return the response, which shares no memory with the frame.

        Raises:
            CorruptRecordError: the bytes are not such a response.
            TransientSourceError: the deadline has passed before the end of them.
        """
        return self._decoded(self._decode_copied)

    def decode_views(self) -> Any:
        """Return the response with its long fields of bytes, such as record sets, as views of the frame.

        Takes a few microseconds, however long they are. The first response of each version is decoded both
        ways: the views are no public interface of kafka-python, and another release may generate other
        code. If the two differ, a warning says so, and record sets are copied from then on.

        Raises:
            CorruptRecordError: the bytes are not such a response.
            TransientSourceError: the deadline has passed before the end of them.
        """
        views_are_right = _views_are_right.get((self.response_class, self.version))
        if views_are_right is None:
            return self._decoded(self._decode_both_ways)
        return self._decoded(self._decode_views) if views_are_right else self.decode()

    def _decode_both_ways(self) -> Any:
        copied = self.decode()
        viewed = None
        try:
            viewed = self._decode_views()
            views_are_right = _without_views(viewed.to_dict(json=False)) == copied.to_dict(json=False)
        except (_CutShortError, TimeoutError):
            # kafka-python itself takes a frame whose last field is cut short.
            raise
        except Exception:  # noqa: BLE001 - code that is not known may fail in any way
            views_are_right = False
        # Two threads may come here at once; both write the same.
        _views_are_right[self.response_class, self.version] = views_are_right
        if views_are_right:
            return viewed
        log.warning(
            "kafka-python %s decodes %s in a way that is not known here: record sets are copied, which is "
            "slower; install a version that headwater[kafka] names",
            kafka.__version__,
            self.response_class.name,
        )
        return copied

    def _decode_copied(self) -> Any:
        decoder = _decoder(self.response_class, self.version)
        if decoder is None:
            return self.response_class.decode(self.body, version=self.version)
        return decoder(self.body, 0)[0]

    def _decode_views(self) -> Any:
        response, end = _view_decoder(self.response_class, self.version)(self.body, 0)
        if end > len(self.body):
            raise _CutShortError("the last field is cut short")
        return response

    def _decoded(self, decode: Callable[[], Any]) -> Any:
        _decoding.deadline = self._deadline
        try:
            return decode()
        except TimeoutError as error:
            raise TransientSourceError(
                f"{len(self.body)} bytes from the broker are a {self.response_class.name} of too many "
                f"elements to be decoded in time: {error} (kafka.request.timeout.ms)",
                source="kafka",
            ) from error
        except (ValueError, LookupError, TypeError, OverflowError, AssertionError, struct.error) as error:
            raise CorruptRecordError(
                f"{len(self.body)} bytes from the broker are no {self.response_class.name} "
                f"of version {self.version}: {error}",
                source="kafka",
            ) from error


@lru_cache(maxsize=256)
def _view_decoder(response_class: Any, version: int) -> Callable[[memoryview, int], tuple[Any, int]]:
    """Return kafka-python's generated decoder, changed so that it does not copy record sets.

    The generated code calls ``bytes`` on each field of bytes. It runs here with a global of that name that
    leaves long fields as they are.
    """
    bounded = _bounded_decoder(response_class, version)
    if "bytes" not in bounded.__code__.co_names:
        raise LookupError("kafka-python's decoder does not call bytes")
    return types.FunctionType(bounded.__code__, {**bounded.__globals__, "bytes": _view_if_long})


@lru_cache(maxsize=256)
def _decoder(response_class: Any, version: int) -> types.FunctionType | None:
    """Return the decoder that copies and ends at the deadline; None where the public method is to be used.

    That method is used where a class has one of its own, but for that of ApiVersions, whose own one only
    finds the version, and with a kafka-python that is not known here. It keeps no time.
    """
    has_own = response_class.decode.__func__ is not ApiMessage.decode.__func__
    if has_own and response_class.name != _API_VERSIONS:
        return None
    try:
        return _bounded_decoder(response_class, version)
    except (AttributeError, LookupError, TypeError):
        return None


@lru_cache(maxsize=256)
def _bounded_decoder(response_class: Any, version: int) -> types.FunctionType:
    """Return kafka-python's generated decoder, changed so that it ends at the deadline.

    The generated code counts the elements of each array with ``range``, and copies the rest of the frame
    for each element that has tagged fields. Both look at the deadline here.
    """
    flexible = response_class.flexible_version_q(version)
    compiled = response_class._struct.compiled_decode_from(  # noqa: SLF001 - the public decode copies
        version, compact=flexible, tagged=flexible, data_class=response_class[None]
    )
    watched = {"range": _watched_range, "_BytesIO": _WatchedBytes}
    return types.FunctionType(compiled.__code__, {**compiled.__globals__, **watched})


def _watched_range(count: int) -> Iterator[int] | range:
    _decoding.deadline.left_s()
    return range(count) if count <= _ELEMENTS_PER_CHECK else _in_steps(count)


def _in_steps(count: int) -> Iterator[int]:
    for first in range(0, count, _ELEMENTS_PER_CHECK):
        _decoding.deadline.left_s()
        yield from range(first, min(count, first + _ELEMENTS_PER_CHECK))


class _WatchedBytes(io.BytesIO):
    """The bytes from which tagged fields are read, with a few reads for each."""

    def read(self, size: int | None = -1, /) -> bytes:
        _decoding.deadline.left_s()
        return super().read(size)


def _without_views(value: Any) -> Any:
    """Return the same with bytes for views: two of them are compared at once, a view byte by byte."""
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, dict):
        return {name: _without_views(each) for name, each in value.items()}
    return [_without_views(each) for each in value] if isinstance(value, list) else value


def _view_if_long(field: memoryview) -> memoryview | bytes:
    return field if len(field) > _VIEW_BYTES else bytes(field)


def _has_tags(response_class: Any, version: int) -> bool:
    """Whether the header ends with tagged fields (KIP-482).

    The header of an ApiVersions response never does, because the client does not know its version yet
    (KIP-511).
    """
    return response_class.name != _API_VERSIONS and bool(response_class.flexible_version_q(version))


def _header_size(frame: memoryview, *, flexible: bool) -> int:
    """Return where the body begins: after the correlation id and, if there are any, the tagged fields.

    No tagged field of a header is defined yet, so all are skipped.
    """
    position = 4
    if flexible:
        count, position = read_varint(frame, position)
        for _ in range(count):
            _, position = read_varint(frame, position)
            size, position = read_varint(frame, position)
            position += size
    return position
