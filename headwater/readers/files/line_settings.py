"""How lines are written: the options that text, CSV and JSON share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headwater.readers.files.lines import Bytes

UTF_8: Final = "UTF-8"
_UTF_16_MARKS: Final = {b"\xfe\xff": "utf-16-be", b"\xff\xfe": "utf-16-le"}
_UTF_32_MARKS: Final = {b"\x00\x00\xfe\xff": "utf-32-be", b"\xff\xfe\x00\x00": "utf-32-le"}


def _marked(marks: dict[bytes, str], otherwise: str) -> Callable[[Bytes, str], str]:
    """Return what decodes by the byte order mark; without one by the order that Java takes then."""

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


@dataclass(frozen=True, kw_only=True)
class LineSettings:
    r"""How lines are written.

    Attributes:
        separator: what ends a line; None for ``\n``, ``\r\n`` and ``\r``.
        encoding: one of `ENCODINGS`; None if the user gave none, which is UTF-8 but for JSON. Of text it
            counts for the separator only, as in Spark: text is not decoded.
        whole: whether a file of text is one row.
    """

    separator: str | None = None
    encoding: str | None = None
    whole: bool = False

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
            errors: what becomes of bytes that are not of the encoding, as for `bytes.decode`: by default
                U+FFFD stands for them, as in Java.
        """
        return _DECODERS[self.encoding or UTF_8](data, errors)
