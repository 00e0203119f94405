"""Lines of CSV files: records, and the header, whose names are made safe or checked as in Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.readers.files.lines import UTF_8, Bytes, LineSettings
from headwater.readers.files.text_settings import CsvSettings
from headwater.readers.formats.format import Spans
from headwater.readers.formats.lines.lines import line_spans
from headwater.readers.kernels.arrays import Int64Array

_SPACE = 32
_UNITS: Final = {"UTF-16BE": 2, "UTF-16LE": 2, "UTF-32": 4}
_LITTLE_MARK: Final = 0xFF
_BIG_MARK: Final = 0xFE
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BLANKS = bytes(range(_SPACE + 1))
"""White space for Java's ``trim``."""
_ONE_BYTE = frozenset({"US-ASCII", "ISO-8859-1"})


class Lines(NamedTuple):
    """The lines of a block, as UTF-8.

    Attributes:
        spans: where they lie.
        places: where each begins in the block as it is in the file.
    """

    spans: Spans
    places: Int64Array

    def only(self, which: Int64Array) -> Lines:
        """Return some of the lines."""
        spans = Spans(self.spans.data, self.spans.starts[which], self.spans.sizes[which])
        return Lines(spans, self.places[which])

    def unmarked(self) -> Lines:
        """Return the same lines without a byte order mark in front of the first one, or that is all of it.

        Spark's parser takes one off the first record of a file, also where the encoding's name says the order
        and the decoder leaves it there.
        """
        data, starts, sizes = self.spans
        if not len(sizes) or not (self.spans.value(0) or b"").startswith(BYTE_ORDER_MARK):
            return self
        if sizes[0] == len(BYTE_ORDER_MARK):
            return self.only(np.arange(1, len(sizes)))
        mark_sizes = np.zeros(len(sizes), np.int64)
        mark_sizes[0] = len(BYTE_ORDER_MARK)
        return Lines(Spans(data, starts + mark_sizes, sizes - mark_sizes), self.places + mark_sizes)


def lines_of(data: Bytes, settings: LineSettings) -> Lines:
    """Return the lines of a block of whole lines."""
    spans = line_spans(data, settings.separator_bytes)
    raw = Lines(spans, spans.starts)
    if settings.encoding in {None, UTF_8}:
        return raw
    if _is_one_text(raw, settings):
        separator = None if settings.separator is None else settings.separator.encode()
        return Lines(line_spans(settings.decoded(data).encode(), separator), raw.places)
    texts = [settings.decoded(raw.spans.value(row) or b"").encode() for row in range(len(raw.places))]
    return Lines(_joined(texts), raw.places)


def _is_one_text(raw: Lines, settings: LineSettings) -> bool:
    """Return whether lines are the same if all of them are decoded as one text."""
    if settings.encoding in _ONE_BYTE:
        return True
    unit = _UNITS.get(settings.encoding or "")
    data, starts, sizes = raw.spans
    # Without a separator of the user's, lines end at single bytes, and may break off inside of a character.
    if settings.separator is None or unit is None or (sizes % unit).any():
        return False
    if settings.encoding != "UTF-32":
        return True
    # A line that begins with a mark is in the order that this says.
    begins = starts[sizes > 0]
    little = data[begins] == _LITTLE_MARK
    big = (data[begins] == 0) & (data[begins + 2] == _BIG_MARK)
    return not bool((little | big).any())


def records_of(lines: Lines, comment: str) -> Lines:
    """Return the lines that are records: neither blank nor a comment."""
    data, starts, sizes = lines.spans
    is_record = sizes > 0
    first = np.full(len(sizes), _SPACE + 1, np.uint8)
    first[is_record] = data[starts[is_record]]
    blank = np.flatnonzero((first <= _SPACE) & is_record)
    if len(blank):
        letters = np.flatnonzero(data > _SPACE)
        ends = np.searchsorted(letters, starts[blank] + sizes[blank])
        is_record[blank] = ends > np.searchsorted(letters, starts[blank])
    mark = comment.encode()
    if mark:
        for row in np.flatnonzero((first == mark[0]) & is_record).tolist():
            is_record[row] = not (lines.spans.value(row) or b"").startswith(mark)
    if is_record.all():
        return lines
    return lines.only(np.flatnonzero(is_record))


def header_row(lines: Lines, comment: str) -> int | None:
    """Return which line names the columns: the first one that is neither blank nor a comment."""
    mark = comment.encode() or None
    for row in range(len(lines.places)):
        text = (lines.spans.value(row) or b"").strip(_BLANKS)
        if text and not (mark is not None and text.startswith(mark)):
            return row
    return None


def _joined(texts: list[bytes]) -> Spans:
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    return Spans(np.frombuffer(b"".join(texts), np.uint8), np.cumsum(sizes) - sizes, sizes)


def safe_names(values: Sequence[str], settings: CsvSettings) -> list[str]:
    """Return the names of columns for the values of the first record of a file.

    A name that comes twice, whatever its case, gets the number of its column behind it.
    """
    if not settings.header:
        return [f"_c{at}" for at in range(len(values))]
    null = settings.dialect.null_value
    # What stands for null counts, too, as in Spark: an empty name is read as that text.
    counts = Counter(value.lower() for value in values)
    names: list[str] = []
    for at, value in enumerate(values):
        if not value or value == null:
            names.append(f"_c{at}")
        elif counts[value.lower()] > 1:
            names.append(f"{value}{at}")
        else:
            names.append(value)
    return names


def check_names(values: Sequence[str], columns: pa.Schema, url: str, *, by_case: bool) -> None:
    """Compare a header with the columns of the schema.

    Args:
        values: the header.
        columns: those of the schema.
        url: of the file.
        by_case: whether case counts.

    Raises:
        CorruptRecordError: it has other names.
    """
    spelled = str if by_case else str.lower
    if [spelled(value) for value in values] != [spelled(name) for name in columns.names]:
        raise CorruptRecordError(
            f"the header names other columns than the schema (enforceSchema=false): {', '.join(values)}; the "
            f"schema has {', '.join(columns.names)}",
            source="files",
            split=url,
        )


def placed(names: Sequence[str], columns: pa.Schema, *, whole: bool) -> pa.Schema:
    """Return the columns of a file up to the last one that is wanted, or all; the others as strings."""
    by_name = dict(zip(columns.names, columns, strict=True))
    fields = [by_name.get(name, pa.field(name, pa.string())) for name in names]
    if whole:
        return pa.schema(fields)
    last = max((at for at, name in enumerate(names) if name in by_name), default=-1)
    return pa.schema(fields[: last + 1])
