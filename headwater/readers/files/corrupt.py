"""Lines that cannot be read: found by halving, then dropped, kept as they are, or named in an error."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.readers.files.record_settings import CorruptMode

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class BadLines:
    """Does with lines that cannot be read what the mode says. One for each block.

    Attributes:
        mode: Spark's.
        url: of the file, for messages.
        start: where in the file the block begins.
        parse: makes rows of lines, one each. Raises a ValueError (pyarrow's ArrowInvalid is one) if a line is
            bad.
        keep: makes a row of a bad line: null where a value cannot be read.
        dropped: how many lines were left out.
    """

    mode: CorruptMode
    url: str
    start: int
    parse: Callable[[Sequence[bytes]], pa.RecordBatch]
    keep: Callable[[bytes], pa.RecordBatch]
    dropped: int = 0

    def rows(self, lines: Sequence[bytes]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the block's lines, in order, and log how many were dropped.

        Raises:
            CorruptRecordError: a line is bad, and the mode is to fail.
        """
        yield from self._halved(lines)
        if self.dropped:
            log.warning(
                "%s: %d records that cannot be read were dropped after position %d",
                self.url,
                self.dropped,
                self.start,
            )

    def _halved(self, lines: Sequence[bytes]) -> Iterator[pa.RecordBatch]:
        """Halve the lines until a bad one is alone: a few of them cost a few more parses, not one a line."""
        try:
            batch = self.parse(lines)
        except ValueError as why:
            if len(lines) == 1:
                yield from self._handled(lines[0], why)
                return
            half = len(lines) // 2
            yield from self._halved(lines[:half])
            yield from self._halved(lines[half:])
        else:
            yield batch

    def _handled(self, line: bytes, why: ValueError) -> Iterator[pa.RecordBatch]:
        """Yield the row of a bad line, if it gives one."""
        if self.mode == "failfast":
            shown = line[:200].decode("utf-8", "replace")
            raise CorruptRecordError(
                f"a record cannot be read: {why}: {shown!r} (in the block that begins at this position; "
                "mode=FAILFAST)",
                source="files",
                split=self.url,
                position=self.start,
            ) from why
        if self.mode == "permissive":
            yield self.keep(line)
        else:
            self.dropped += 1
