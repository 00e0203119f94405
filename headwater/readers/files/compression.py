"""Compression, by the suffix of a file's name."""

from __future__ import annotations

import lzma
from typing import IO, Any, cast

import pyarrow as pa

_CODECS: dict[str, Any] = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".bz2": "bz2",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".lz4": "lz4",
    ".br": "brotli",
    ".xz": "xz",
}


def is_compressed(url: str) -> bool:
    """Whether a file is compressed as a whole, so that it can only be read from its beginning."""
    return _suffix(url) in _CODECS


def decompressed(url: str, file: IO[bytes]) -> Any:
    """Return a file-like object of what a file holds."""
    codec = _CODECS.get(_suffix(url))
    if codec is None:
        return file
    if codec == "xz":
        return lzma.open(file)
    return pa.CompressedInputStream(cast("Any", file), codec)


def _suffix(url: str) -> str:
    name = url.rpartition("/")[2]
    _, dot, suffix = name.rpartition(".")
    return f".{suffix.lower()}" if dot else ""
