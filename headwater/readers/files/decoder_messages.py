"""What a reader of files and the process that decodes for it say to each other, over two pipes.

A message is one byte that says what it is, the length of what it holds in eight, and that.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import IO, Final

import pyarrow as pa


class DecoderMessage(IntEnum):
    """What a message is. The first four come from the reader, the others from the process."""

    OPEN = 1
    """A file of ORC begins. Holds its size (`NUMBER`)."""
    STRIPE = 2
    """A stripe is wanted. Holds its number, and the names of the columns, in JSON."""
    BYTES = 3
    """Answers `READ`."""
    FOOTER = 4
    """Statistics of Parquet are wanted. Holds the names of the columns and the end of the file, pickled."""

    READ = 5
    """Bytes of the file are wanted. Holds where they begin and how many they are (`RANGE`)."""
    FILE = 6
    """Answers `OPEN`. Holds the number of stripes (`NUMBER`), and the schema of Arrow IPC."""
    ROWS = 7
    """A part of a stripe, as a stream of Arrow IPC."""
    END = 8
    """There are no more rows of the stripe."""
    STATISTICS = 10
    """Answers `FOOTER`. Holds `GroupBounds` of each row group, pickled."""
    FAILED = 9
    """The file, or the stripe, cannot be read. Holds why, as text. Ends the answer."""


NUMBER: Final = struct.Struct("<q")
RANGE: Final = struct.Struct("<qq")
_HEAD: Final = struct.Struct("<Bq")


def send(pipe: IO[bytes], message: DecoderMessage, content: bytes | pa.Buffer = b"") -> None:
    """Write one message.

    Raises:
        OSError: nobody reads it.
    """
    view = memoryview(content)
    pipe.write(_HEAD.pack(message, len(view)))
    pipe.write(view)
    pipe.flush()


def receive(pipe: IO[bytes]) -> tuple[DecoderMessage, pa.Buffer]:
    """Read one message.

    Raises:
        EOFError: nobody writes any more.
    """
    message, size = _HEAD.unpack(_exactly(pipe, _HEAD.size))
    return DecoderMessage(message), _exactly(pipe, size)


def _exactly(pipe: IO[bytes], size: int) -> pa.Buffer:
    content = pa.allocate_buffer(size)
    view = memoryview(content).cast("B")
    at = 0
    while at < size:
        count = pipe.readinto(view[at:])  # type: ignore[attr-defined]  # pipes have it
        if not count:
            raise EOFError("the other end of the pipe is closed")
        at += count
    return content
