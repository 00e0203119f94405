"""The checksum file that Hadoop keeps beside each file on a local disk: ``.7.crc`` beside ``7``.

Spark writes its checkpoints through Hadoop's ``ChecksumFileSystem`` there, and cannot read a file that does
not fit its checksum file; one without a checksum file is read unchecked.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

_MAGIC: Final = b"crc\0"
_CHUNK_BYTES: Final = 512
"""How many bytes have one checksum (``file.bytes-per-checksum``). A reader takes it from the file."""


def checksum_name(name: str) -> str:
    """``offsets/7`` -> ``offsets/.7.crc``."""
    folder, separator, file = name.rpartition("/")
    return f"{folder}{separator}.{file}.crc"


def checksum_file(content: bytes) -> bytes:
    """Return what the checksum file of this content holds: CRC32 of each chunk, big-endian."""
    chunks = (content[start : start + _CHUNK_BYTES] for start in range(0, len(content), _CHUNK_BYTES))
    return (
        _MAGIC + struct.pack(">i", _CHUNK_BYTES) + b"".join(struct.pack(">I", zlib.crc32(c)) for c in chunks)
    )
