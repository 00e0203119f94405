r"""Where lines end: after ``\n``, ``\r\n`` and ``\r``, or after a separator of the user's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

Bytes: TypeAlias = bytes | bytearray
"""What was read of a file."""


def line_ends(separator: bytes | None) -> LineEnds:
    r"""Return what finds lines.

    Args:
        separator: what ends a line; None for ``\n``, ``\r\n`` and ``\r``.
    """
    return UniversalEnds() if separator is None else SeparatorEnds(separator)


class LineEnds(ABC):
    """Finds the ends of lines. A line ends after its separator, and the next one begins there."""

    lookback: int
    """How many bytes before a place are needed to know whether a line ends there."""

    is_splittable: bool
    """Whether lines can be found from any place of a file."""

    separator: bytes | None
    """What ends a line; None for what ends one in any text."""

    @abstractmethod
    def last(self, buffer: Bytes) -> int:
        """Return where the last whole line of a buffer that begins with a line ends; 0 if none is whole."""

    @abstractmethod
    def first(self, buffer: Bytes, least: int) -> int:
        """Return the first end of a line at ``least`` or after it; 0 if more bytes are needed to know it."""


class UniversalEnds(LineEnds):
    r"""Lines that end with ``\n``, ``\r\n`` or ``\r``."""

    lookback = 1
    is_splittable = True
    separator = None

    def last(self, buffer: Bytes) -> int:
        feed = buffer.rfind(b"\n")
        # Only behind the last line feed, so that the whole buffer is not searched for what few files have.
        # And not at the end: what comes after a last \r may be its \n.
        return max(feed, buffer.rfind(b"\r", feed + 1, len(buffer) - 1)) + 1

    def first(self, buffer: Bytes, least: int) -> int:
        begin = max(0, least - 1)
        feed = buffer.find(b"\n", begin)
        # No further than the line feed: the next carriage return may be at the end of the file.
        found = buffer.find(b"\r", begin, None if feed < 0 else feed)
        if found < 0 or found + 1 == feed:
            return feed + 1
        return 0 if found + 1 == len(buffer) else found + 1


class SeparatorEnds(LineEnds):
    """Lines that end with one text. It is looked for from the beginning of a line, as by Hadoop's reader."""

    def __init__(self, separator: bytes) -> None:
        self.separator: bytes = separator
        self.lookback = len(separator)
        # In `aaa` the separator `aa` is found at two places: only the lines before tell which one counts.
        self.is_splittable = not any(separator.startswith(separator[at:]) for at in range(1, len(separator)))

    def last(self, buffer: Bytes) -> int:
        if self.is_splittable:
            found = buffer.rfind(self.separator)
            return 0 if found < 0 else found + self.lookback
        return len(buffer) - len(buffer.split(self.separator)[-1])

    def first(self, buffer: Bytes, least: int) -> int:
        found = buffer.find(self.separator, max(0, least - self.lookback))
        return 0 if found < 0 else found + self.lookback
