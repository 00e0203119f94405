"""Lines that cannot be read: found by halving, then dropped, kept as they are, or named in an error."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from headwater.core.errors import CorruptRecordError
from headwater.readers.files.settings import CorruptMode

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

Parse = Callable[[Sequence[bytes]], "pa.RecordBatch"]
"""Makes rows of lines, one each. Raises a ValueError (pyarrow's ArrowInvalid is one) if a line is bad."""


class BadLines:
    """Does with lines that cannot be read what the mode says. One for each block.

    Args:
        mode: Spark's.
        url: of the file, for messages.
        start: where in the file the block begins.
        keep: makes a row of a bad line: null where a value cannot be read.
    """

    def __init__(
        self, mode: CorruptMode, url: str, start: int, keep: Callable[[bytes], pa.RecordBatch]
    ) -> None:
        self._mode = mode
        self._url = url
        self._start = start
        self._keep = keep
        self.dropped = 0

    def handle(self, line: bytes, why: ValueError) -> Iterator[pa.RecordBatch]:
        """Yield the row of a bad line, if it gives one.

        Raises:
            CorruptRecordError: the mode is to fail.
        """
        if self._mode == "failfast":
            shown = line[:200].decode("utf-8", "replace")
            raise CorruptRecordError(
                f"a record cannot be read: {why}: {shown!r} (in the block that begins at this position; "
                "mode=FAILFAST)",
                source="files",
                split=self._url,
                position=self._start,
            ) from why
        if self._mode == "permissive":
            yield self._keep(line)
        else:
            self.dropped += 1

    def report(self) -> None:
        """Log how many were dropped."""
        if self.dropped:
            log.warning(
                "%s: %d records that cannot be read were dropped after position %d",
                self._url,
                self.dropped,
                self._start,
            )


def without_bad_lines(lines: Sequence[bytes], parse: Parse, bad: BadLines) -> Iterator[pa.RecordBatch]:
    """Yield the rows of lines, in order, the bad ones as `BadLines` says.

    Halves the lines until a bad one is alone: a few bad lines cost a few more parses, not one for each line.
    """
    try:
        batch = parse(lines)
    except ValueError as why:
        if len(lines) == 1:
            yield from bad.handle(lines[0], why)
            return
        half = len(lines) // 2
        yield from without_bad_lines(lines[:half], parse, bad)
        yield from without_bad_lines(lines[half:], parse, bad)
    else:
        yield batch
