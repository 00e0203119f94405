"""Records of CSV that may go over several lines: a file as a stream of bytes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.readers.files.csv_lines import BYTE_ORDER_MARK, Lines
from headwater.readers.files.file_format import UnreadableRestError
from headwater.readers.files.line_format import LONGEST_LINE_BYTES
from headwater.readers.files.lines import UTF_8, Bytes, LineSettings
from headwater.readers.formats.columns.kernel_runs import BEHIND
from headwater.readers.formats.csv.csv_decoder import CsvDecoder, is_fatal
from headwater.readers.formats.csv.csv_settings import CsvDialect
from headwater.readers.formats.format import BadValues, FormatOptions
from headwater.readers.kernels.arrays import ByteArray

_PIECE_BYTES: Final = 1 << 20
_LINE_END: Final = re.compile(rb"\r\n?|\n")
_MARKED: Final = frozenset({"UTF-16", "UTF-32"})
"""Encodings with a mark for the order of bytes."""
_DETECTED_BYTES: Final = 1 << 20
"""So many bytes univocity looks through for the first line end."""


class CsvStream:
    """The records of one file. One owner, one thread.

    Args:
        dialect: how records are written.
        lines: the encoding, and the line separator unless it is found in the file.
        url: of the file, for errors.

    Attributes:
        header: the values of the first record, once it was taken.
    """

    def __init__(self, dialect: CsvDialect, lines: LineSettings, url: str) -> None:
        self._dialect = dialect
        self._separator = lines.separator
        self._encoding = lines.encoding or UTF_8
        self._url = url
        self._decode: codecs.IncrementalDecoder | None = None
        # What came since no whole record was found in the data any more.
        self._waiting: list[Bytes] = []
        self._has_records = False
        self._data: ByteArray = np.zeros(BEHIND, np.uint8)
        self._start = 0
        self._stop = 0
        # Where in the file the data begin, after decoding to UTF-8.
        self._place = 0
        self._begun = False
        self._last = False
        self.header: list[str] | None = None

    @property
    def line_separator(self) -> str:
        """The end of lines."""
        return self._separator or "\n"

    def add(self, data: Bytes, *, last: bool) -> None:
        """Add the next bytes of the file.

        Raises:
            UnreadableRestError: a record is longer than 512 MiB, as where a quote is never closed.
        """
        self._last = last
        if self._encoding != UTF_8:
            self._decode = self._decode or _incremental(self._encoding, data)
            data = self._decode.decode(data, last).encode()
        self._waiting.append(data)
        size = self._stop - self._start
        # As much again as there is of a long record: it is not read anew for every piece that it has.
        if sum(map(len, self._waiting)) < size and not last:
            return
        if size > LONGEST_LINE_BYTES:
            raise UnreadableRestError(
                f"a record is longer than {LONGEST_LINE_BYTES} bytes",
                source="files",
                split=self._url,
                position=self._place + self._start,
            )
        rest = self._data[self._start : self._stop].tobytes()
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._has_records = True
        self._place += self._start
        joined = rest + data
        # Java's decoder takes a mark off where the encoding's name says no order, and Spark's parser another.
        marks = BYTE_ORDER_MARK * 2 if self._encoding in _MARKED else BYTE_ORDER_MARK
        if not self._begun and (last or not marks.startswith(joined)):
            self._begun = True
            joined = joined.removeprefix(BYTE_ORDER_MARK)
            if self._encoding in _MARKED:
                joined = joined.removeprefix(BYTE_ORDER_MARK)
        if self._separator is None:
            match = _LINE_END.search(joined[:_DETECTED_BYTES])
            # A carriage return at the end may be the first half of a line end.
            if match is not None and (match[0] != b"\r" or match.end() < len(joined) or last):
                self._separator = match[0].decode()
        self._start = 0
        self._stop = len(joined)
        self._data = np.frombuffer(joined + bytes(BEHIND), np.uint8)

    def first_values(self, *, take: bool) -> list[str] | None:
        """Return the values of the first record; None if it is not there as a whole yet.

        Args:
            take: whether the record is the header, and no record.
        """
        if not self._has_records:
            return None
        values, size = _first_values(
            self._dialect,
            self.line_separator,
            self._data,
            self._start,
            self._stop,
            last=self._last,
            url=self._url,
        )
        if values is None and not self._last:
            self._has_records = False
            return None
        if take:
            self._start += size
            self.header = values or []
        return values or []

    def rows(self, decoder: CsvDecoder) -> Iterator[tuple[BadValues | None, Lines]]:
        """Decode the bytes. Yield, for each batch in the decoder, its bad records and where all lie."""
        while self._has_records:
            part = decoder.append_stream(self._data, self._start, self._stop, last=self._last)
            self._start += part.size
            self._has_records = not part.ended
            if part.rows:
                yield part.bad, Lines(part.spans, part.spans.starts + self._place)


def stream_pieces(source: Any) -> Iterator[bytes]:
    """Yield a file in pieces, and an empty one at its end."""
    while data := source.read(_PIECE_BYTES):
        yield data
    yield b""


def record_values(line: bytes, dialect: CsvDialect, line_separator: str, url: str) -> list[str] | None:
    """Return the values of the first record of a file; None if it has none.

    Raises:
        UnreadableRestError: it has too many, or too long a one.
    """
    data = np.frombuffer(line + bytes(BEHIND), np.uint8)
    values, _ = _first_values(dialect, line_separator, data, 0, len(line), last=True, url=url)
    return values


def _first_values(
    dialect: CsvDialect, line_separator: str, data: ByteArray, start: int, stop: int, *, last: bool, url: str
) -> tuple[list[str] | None, int]:
    decoder = CsvDecoder(pa.schema([]), FormatOptions(), dialect, line_separator)
    part = decoder.append_stream(data, start, stop, last=last, most=1)
    fatal = [] if part.bad is None else part.bad.reasons[is_fatal(part.bad.reasons)].tolist()
    if fatal:
        raise UnreadableRestError(
            f"the first record of the file {CsvDecoder.reason_of(fatal[0])}",
            source="files",
            split=url,
            position=0,
        )
    return (decoder.last_values() if part.rows else None), part.size


def _incremental(encoding: str, begin: Bytes) -> codecs.IncrementalDecoder:
    if encoding in _MARKED:
        # As in Java: the order is the mark's, else that of the network. The mark is taken off later.
        encoding += "-LE" if begin.startswith(codecs.BOM_UTF16_LE) else "-BE"
    return codecs.getincrementaldecoder(encoding)("replace")
