"""Checksums of record batches, at the speed of the hardware: CRC-32C, and CRC-32 in the old formats."""

from __future__ import annotations

import zlib

from crc32c import crc32c

from headwater.readers.kafka.faults import corrupt
from headwater.readers.kafka.layout import BatchArray, ByteArray

__all__ = ["verify"]

_BEFORE_RECORDS = 40
"""In format v2 the checked bytes begin with the attributes, this far before the records."""
_AFTER_CRC = 16
"""In the old formats they begin with the magic byte, this far into the message."""


def verify(data: ByteArray, batches: BatchArray, split_id: str) -> None:
    """Check batches of any format against the checksums in their headers.

    What is inside of compressed ones is covered too.

    Batches that will be skipped have to be checked as well: a flipped bit in the header makes a control batch
    of any other, or lets it seem to end too early.

    Raises:
        CorruptRecordError: a batch is not what the producer wrote.
    """
    view = data.data
    columns = (batches[name].tolist() for name in ("magic", "start", "end", "crc", "base_offset"))
    for magic, start, end, expected, base_offset in zip(*columns, strict=True):
        found = (
            crc32c(view[start - _BEFORE_RECORDS : end])
            if magic == 2
            else zlib.crc32(view[start + _AFTER_CRC : end])
        )
        if found != expected:
            raise corrupt(
                f"fails its checksum (its bytes have {found:08x}, its header says {expected:08x})",
                split_id,
                base_offset,
            )
