r"""Lines of text: their encoding, and where they end: after ``\n``, ``\r\n``, ``\r``, or a set separator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, TypeAlias

from headwater.core.options import Spec, one_of, option

Bytes: TypeAlias = bytes | bytearray
"""Bytes of a file."""


def line_ends(separator: bytes | None) -> LineEnds:
    r"""Return the finder of lines.

    Args:
        separator: the end of a line; None for ``\n``, ``\r\n`` and ``\r``.
    """
    return UniversalEnds() if separator is None else SeparatorEnds(separator)


class LineEnds(ABC):
    """Finds the ends of lines. A line ends after its separator, and the next one begins there."""

    lookback: int
    """How many bytes before a place are needed to know whether a line ends there."""

    is_splittable: bool
    """Whether lines can be found from any place of a file."""

    separator: bytes | None
    """The end of a line; None for those of any text."""

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
        return_at = buffer.find(b"\r", begin, None if feed < 0 else feed)
        if return_at < 0 or return_at + 1 == feed:
            return feed + 1
        return 0 if return_at + 1 == len(buffer) else return_at + 1


class SeparatorEnds(LineEnds):
    """Lines that end with one text. It is looked for from the beginning of a line, as by Hadoop's reader."""

    def __init__(self, separator: bytes) -> None:
        self.separator: bytes = separator
        self.lookback = len(separator)
        # In `aaa` the separator `aa` is found at two places: only the lines before tell which one counts.
        self.is_splittable = not any(separator.startswith(separator[at:]) for at in range(1, len(separator)))

    def last(self, buffer: Bytes) -> int:
        if self.is_splittable:
            separator_at = buffer.rfind(self.separator)
            return 0 if separator_at < 0 else separator_at + self.lookback
        return len(buffer) - len(buffer.split(self.separator)[-1])

    def first(self, buffer: Bytes, least: int) -> int:
        separator_at = buffer.find(self.separator, max(0, least - self.lookback))
        return 0 if separator_at < 0 else separator_at + self.lookback


UTF_8: Final = "UTF-8"
_UTF_16_MARKS: Final = {b"\xfe\xff": "utf-16-be", b"\xff\xfe": "utf-16-le"}
_UTF_32_MARKS: Final = {b"\x00\x00\xfe\xff": "utf-32-be", b"\xff\xfe\x00\x00": "utf-32-le"}


def _marked(marks: dict[bytes, str], otherwise: str) -> Callable[[Bytes, str], str]:
    """Return a decoder by the byte order mark; without one by the order that Java takes then."""

    def decode(data: Bytes, errors: str) -> str:
        for mark, codec in marks.items():
            if data.startswith(mark):
                return data[len(mark) :].decode(codec, errors)
        return data.decode(otherwise, errors)

    return decode


def _plain(codec: str) -> Callable[[Bytes, str], str]:
    return lambda data, errors: data.decode(codec, errors)


_DECODERS: Final[dict[str, Callable[[Bytes, str], str]]] = {
    UTF_8: _plain("utf-8"),
    "US-ASCII": _plain("ascii"),
    "ISO-8859-1": _plain("latin-1"),
    "UTF-16BE": _plain("utf-16-be"),
    "UTF-16LE": _plain("utf-16-le"),
    "UTF-16": _marked(_UTF_16_MARKS, "utf-16-be"),
    "UTF-32": _marked(_UTF_32_MARKS, "utf-32-be"),
}
ENCODINGS: Final = tuple(_DECODERS)
"""Those that Spark takes, as it spells them."""


_WITH_MARKS: Final = ("UTF-16", "UTF-32")
"""Encodings whose lines Spark does not read: a mark is expected in each of them."""


def _separator(raw: str) -> str:
    if not raw:
        raise ValueError("must not be empty")
    return raw


class LineSettings(Spec):
    """How lines are written."""

    separator: str | None = option(
        "lineSep",
        "Text, CSV, JSON: what ends a line.",
        default=None,
        parse=_separator,
        shown_default="line feed, carriage return, or both",
    )
    encoding: str | None = option(
        "encoding",
        f"CSV, JSON: how text is encoded: {', '.join(ENCODINGS)}. Text is not decoded, as in Spark: there it "
        "counts for `lineSep` only.",
        default=None,
        parse=one_of(*ENCODINGS),
        shown_default="`UTF-8`",
        also="charset",
    )
    whole: bool = option("wholetext", "Text: whether a file is one row.", default=False)

    def check_json(self) -> None:
        """Refuse lines that Spark does not read as JSON.

        Raises:
            OptionError: such lines would be cut at the wrong bytes.
        """
        if self.encoding in _WITH_MARKS:
            raise self.refusal(
                "encoding",
                f"{self.encoding} is for files with multiLine=true: name the order of bytes, as UTF-16LE",
            )
        if self.encoding not in {None, UTF_8} and self.separator is None:
            raise self.refusal("encoding", f"{self.encoding} needs option 'lineSep': what ends a line")

    @property
    def separator_bytes(self) -> bytes | None:
        """The separator as Java encodes it."""
        if self.separator is None:
            return None
        if self.encoding == "UTF-16":
            # With a mark, which no line of a file has: Spark's readers find no line end then.
            return b"\xfe\xff" + self.separator.encode("utf-16-be")
        codec = "utf-32-be" if self.encoding == "UTF-32" else self.encoding or UTF_8
        return self.separator.encode(codec, "replace")

    def decoded(self, data: Bytes, *, errors: str = "replace") -> str:
        """Return the text of a line, or of a file.

        Args:
            data: its bytes.
            errors: for bytes that are not of the encoding, as in `bytes.decode`: by default
                U+FFFD stands for them, as in Java.
        """
        return _DECODERS[self.encoding or UTF_8](data, errors)
