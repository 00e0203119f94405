"""Content codings of an answer (RFC 9110, 8.4.1). A content is whole when its coding says that it ends."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Final, Protocol

from headwater.core.errors import CorruptRecordError, TransientSourceError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_GZIP: Final = 16 + zlib.MAX_WBITS
_RAW: Final = -zlib.MAX_WBITS
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_CHUNK_BYTES: Final = 1 << 16


class TooLargeError(Exception):
    """The content is larger than the limit. The rest was not decompressed."""


class _Decompressor(Protocol):
    """As zlib and zstd have it."""

    @property
    def eof(self) -> bool:
        """Whether its stream has ended."""

    @property
    def unused_data(self) -> bytes:
        """The bytes behind the end of its stream."""

    def decompress(self, data: memoryview, max_length: int, /) -> bytes:
        """Return at most so many bytes."""


def _streams(
    content: bytes, most_bytes: int, make: Callable[[], _Decompressor], magic: bytes | None = None
) -> bytes:
    """Return a stream without its coding, and those behind it that begin with a magic number.

    Pieces bound the time too: what a decompressor does not use is copied at the end of each stream.
    """
    text = bytearray()
    data = memoryview(content)
    at = 0
    while True:
        decompressor = make()
        while not decompressor.eof:
            chunk = data[at : at + _CHUNK_BYTES]
            if not chunk:
                raise EOFError
            text += decompressor.decompress(chunk, most_bytes + 1 - len(text))
            if len(text) > most_bytes:
                raise TooLargeError
            at += len(chunk) - len(decompressor.unused_data)
        # Behind the last one there may be anything, as browsers have it.
        if magic is None or at == len(data) or not magic.startswith(data[at : at + len(magic)]):
            return bytes(text)


def _gzip(content: bytes, most_bytes: int) -> bytes:
    return _streams(content, most_bytes, lambda: zlib.decompressobj(_GZIP), _GZIP_MAGIC)


def _deflate(content: bytes, most_bytes: int) -> bytes:
    """The RFC means zlib's format; some servers write the stream without its header."""
    try:
        return _streams(content, most_bytes, zlib.decompressobj)
    except zlib.error:
        return _streams(content, most_bytes, lambda: zlib.decompressobj(_RAW))


def _brotli(content: bytes, most_bytes: int) -> bytes:
    # Imported late: few answers need it.
    import brotli

    decompressor = brotli.Decompressor()
    text = bytearray(decompressor.process(content, output_buffer_limit=most_bytes + 1))
    # It gives somewhat more than its limit at a time.
    while len(text) <= most_bytes and not (decompressor.is_finished() or decompressor.can_accept_more_data()):
        text += decompressor.process(b"", output_buffer_limit=most_bytes + 1 - len(text))
    if len(text) > most_bytes:
        raise TooLargeError
    if not decompressor.is_finished():
        raise EOFError
    return bytes(text)


def _zstandard(content: bytes, most_bytes: int) -> bytes:
    return _streams(content, most_bytes, zstd.ZstdDecompressor, _ZSTD_MAGIC)


_DECODERS: Final = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _deflate, "br": _brotli, "zstd": _zstandard}
ACCEPTED: Final = "gzip, deflate, br, zstd"
"""The header Accept-Encoding."""


def decoded(content: bytes, codings: str, most_bytes: int, *, display_url: str) -> bytes:
    """Return the content of an answer without its codings.

    Args:
        content: as it was sent.
        codings: the header Content-Encoding, in the order in which they were applied.
        most_bytes: the most that each step may make of it.
        display_url: the URL, for errors.

    Raises:
        TransientSourceError: a coding ends before its end mark: the answer was broken off.
        CorruptRecordError: it is not coded as its header says, or by a coding that was not asked for.
        TooLargeError: it is larger than ``most_bytes``.
    """
    if len(content) > most_bytes:
        raise TooLargeError
    for coding in reversed([name.strip().lower() for name in codings.split(",")]):
        if coding in ("", "identity") or not content:
            continue
        decoder = _DECODERS.get(coding)
        if decoder is None:
            raise CorruptRecordError(
                f"the page is coded as {coding!r} (Content-Encoding); asked for were {ACCEPTED}",
                source="http",
                split=display_url,
            )
        try:
            content = decoder(content, most_bytes)
        except EOFError:
            raise TransientSourceError(
                f"the answer breaks off: its {coding} ends before its end mark",
                source="http",
                split=display_url,
            ) from None
        except TooLargeError:
            raise
        except Exception:  # noqa: BLE001 - each library has errors of its own
            raise CorruptRecordError(
                "the page cannot be decompressed", source="http", split=display_url
            ) from None
    return content
