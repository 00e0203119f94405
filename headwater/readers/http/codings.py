"""Content codings of an answer (RFC 9110, 8.4.1). A content is whole when its coding says that it ends."""

from __future__ import annotations

import sys
import zlib
from typing import Final

from headwater.core.errors import CorruptRecordError, TransientSourceError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_GZIP: Final = 16 + zlib.MAX_WBITS
_RAW: Final = -zlib.MAX_WBITS
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"


class TooLargeError(Exception):
    """The content is larger than the limit. The rest was not decompressed."""


def _zlib(content: bytes, most_bytes: int, window_bits: int) -> bytes:
    """Return one stream of zlib without its coding, or more: gzip's members."""
    text = bytearray()
    rest = content
    while True:
        decompressor = zlib.decompressobj(window_bits)
        text += decompressor.decompress(rest, most_bytes + 1 - len(text))
        _check(text, most_bytes, is_whole=decompressor.eof)
        rest = decompressor.unused_data
        # Behind the last member there may be anything, as browsers have it.
        if window_bits != _GZIP or not _begins(rest, _GZIP_MAGIC):
            return bytes(text)


def _gzip(content: bytes, most_bytes: int) -> bytes:
    return _zlib(content, most_bytes, _GZIP)


def _deflate(content: bytes, most_bytes: int) -> bytes:
    """The RFC means zlib's format; some servers write the stream without its header."""
    try:
        return _zlib(content, most_bytes, zlib.MAX_WBITS)
    except zlib.error:
        return _zlib(content, most_bytes, _RAW)


def _brotli(content: bytes, most_bytes: int) -> bytes:
    # Imported late: few answers need it.
    import brotli

    decompressor = brotli.Decompressor()
    text = bytearray(decompressor.process(content, output_buffer_limit=most_bytes + 1))
    # It gives somewhat more than its limit at a time.
    while len(text) <= most_bytes and not (decompressor.is_finished() or decompressor.can_accept_more_data()):
        text += decompressor.process(b"", output_buffer_limit=most_bytes + 1 - len(text))
    _check(text, most_bytes, is_whole=decompressor.is_finished())
    return bytes(text)


def _zstandard(content: bytes, most_bytes: int) -> bytes:
    text = bytearray()
    rest = content
    while True:
        decompressor = zstd.ZstdDecompressor()
        text += decompressor.decompress(rest, most_bytes + 1 - len(text))
        _check(text, most_bytes, is_whole=decompressor.eof)
        rest = decompressor.unused_data
        if not _begins(rest, _ZSTD_MAGIC):
            return bytes(text)


def _begins(rest: bytes, magic: bytes) -> bool:
    """Whether another stream follows, if only the first bytes of its magic number."""
    return bool(rest) and magic.startswith(rest[: len(magic)])


def _check(text: bytearray, most_bytes: int, *, is_whole: bool) -> None:
    """Raise `TooLargeError`, or `EOFError` if the end mark is missing."""
    if len(text) > most_bytes:
        raise TooLargeError
    if not is_whole:
        raise EOFError


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
