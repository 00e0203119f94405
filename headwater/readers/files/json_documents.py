"""The documents of JSON in a block of a file: its lines, or all of it; and the values that are decoded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.readers.files.lines import UTF_8, Bytes, LineSettings
from headwater.readers.files.text_settings import JsonSettings
from headwater.readers.formats.format import Spans
from headwater.readers.formats.json import layout
from headwater.readers.formats.json.documents import JsonValues, json_values
from headwater.readers.formats.lines.lines import line_spans
from headwater.readers.kernels.arrays import ByteArray, Int64Array

_MARKS: Final = {
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\xfe\xff": "utf-16-be",
    b"\xff\xfe": "utf-16-le",
}
_LEAST_MARK: Final = 0xFE
_UTF_8_MARK: Final = b"\xef\xbb\xbf"
_BACKSLASH: Final = ord("\\")
_U: Final = ord("u")
_D: Final = ord("d")
_LOWER: Final = 0x20
_PAIR: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_MOST_TEXT = 64 << 20
"""Of the texts in one batch."""
_BROKEN: Final = b"\x01"
"""Nowhere JSON."""


class JsonDocuments(NamedTuple):
    """Documents, and the values in them.

    Attributes:
        spans: the documents as they stand in the file.
        values: for the decoder of the format json.
        are_moved: whether the values lie elsewhere than the documents.
    """

    spans: Spans
    values: JsonValues
    are_moved: bool


def json_documents(
    data: Bytes, settings: JsonSettings, lines: LineSettings, *, whole: bool = False
) -> JsonDocuments:
    """Return the documents of a block of whole lines, or of a whole file.

    As in Spark, a document in another encoding than UTF-8 is known by its first bytes, unless the user names
    the encoding.

    Args:
        data: the block.
        settings: the leniencies of JSON.
        lines: how lines end, and in which encoding they are.
        whole: whether arrays of objects stay one value each.
    """
    room: ByteArray = np.zeros(len(data) + layout.BEHIND, np.uint8)
    room[: len(data)] = np.frombuffer(data, np.uint8)
    if settings.multi_line:
        spans = Spans(room, np.zeros(1, np.int64), np.full(1, len(data), np.int64))
    else:
        spans = line_spans(data, lines.separator_bytes)._replace(data=room)
    is_plain = _is_utf8(data)
    decoded = spans
    if lines.encoding is not None:
        if lines.encoding != UTF_8 or not is_plain:
            # Java takes U+FFFD for what is not of the encoding of a file, and calls a line broken.
            errors = "replace" if settings.multi_line else "strict"
            decoded = _decoded(spans, lambda document: _by_name(document, lines, errors))
    elif (not is_plain or b"\0" in data) and _may_be_wide(spans):
        decoded = _decoded(spans, _by_first_bytes)
    is_odd = lines.encoding is None and (not is_plain or _UTF_8_MARK in data or _has_halves(data, room))
    needs_rules = is_odd or settings.rules != layout.PLAIN_RULES
    rules = layout.AS_IT_IS
    if needs_rules:
        # Where a schema is inferred, every value is looked at.
        rules = settings.rules | (0 if whole else layout.ALLOW_HALVES)
        if lines.encoding is None:
            rules |= layout.WHOLE_NAMES
    values = json_values(decoded, rules, whole=whole)
    return JsonDocuments(spans, values, decoded is not spans or values.rewriting is not None)


def _is_utf8(data: Bytes) -> bool:
    if data.isascii():
        return True
    offsets = pa.py_buffer(np.array([0, len(data)], np.int32).data)
    value = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(data)])
    try:
        value.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _has_halves(data: Bytes, room: ByteArray) -> bool:
    """Whether an escape may be half a surrogate pair. ``room`` has the data, and bytes behind it."""
    # Every block comes here: one byte is found ten times as fast as several.
    if b"\\" not in data:
        return False
    at = np.flatnonzero(room == _BACKSLASH)
    if not ((room[at + 1] == _U) & (room[at + 2] | _LOWER == _D)).any():
        return False
    return bool(_SURROGATE.search(_PAIR.sub(b"", data)))


def _may_be_wide(spans: Spans) -> bool:
    """Whether a document may begin as one in UTF-16 or UTF-32: with a zero or with a mark."""
    first = spans.data[spans.starts]
    second = spans.data[spans.starts + 1]
    return bool(((first == 0) | (second == 0) | (first >= _LEAST_MARK)).any())


def _decoded(spans: Spans, decode: Callable[[bytes], bytes]) -> Spans:
    """Return documents as UTF-8. One by one: for files that are not UTF-8 as a whole."""
    texts = [decode(spans.value(row) or b"") for row in range(len(spans.sizes))]
    sizes = np.array([len(text) for text in texts], np.int64)
    data = np.frombuffer(b"".join([*texts, bytes(layout.BEHIND)]), np.uint8)
    return Spans(data, np.cumsum(sizes) - sizes, sizes)


def _by_name(document: bytes, lines: LineSettings, errors: str) -> bytes:
    try:
        return lines.decoded(document, errors=errors).encode()
    except UnicodeDecodeError:
        return _BROKEN


def _by_first_bytes(document: bytes) -> bytes:
    """Return a document as UTF-8 that begins as one in UTF-16 or UTF-32 does, by Jackson's rules."""
    for mark, codec in _MARKS.items():
        if document.startswith(mark):
            return document[len(mark) :].decode(codec, "replace").encode()
    zeros = [byte == 0 for byte in document[:4]]
    if len(zeros) == 4 and zeros.count(True) == 3:
        codecs = {0: "utf-32-le", 3: "utf-32-be"}
        codec = codecs.get(zeros.index(False), "")
        return document.decode(codec, "replace").encode() if codec else _BROKEN
    if len(zeros) >= 2 and (zeros[0] or zeros[1]):
        return document.decode("utf-16-be" if zeros[0] else "utf-16-le", "replace").encode()
    return document


def with_texts(
    batch: pa.RecordBatch, name: str, rows: Int64Array, documents: Int64Array, spans: Spans
) -> Iterator[pa.RecordBatch]:
    """Yield a batch with the text of their documents in a column of some rows, in parts if that is much.

    Args:
        batch: the rows.
        name: of the column of strings.
        rows: which rows get a text, ascending.
        documents: of each of them the number of its document.
        spans: the documents. Bytes that are not UTF-8 become U+FFFD.
    """
    if not len(rows):
        yield batch
        return
    sizes = np.zeros(batch.num_rows, np.int64)
    sizes[rows] = spans.sizes[documents]
    parts = np.cumsum(sizes) // _MOST_TEXT
    borders = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), batch.num_rows]
    for start, stop in pairwise(borders):
        inside = (rows >= start) & (rows < stop)
        part = batch.slice(start, stop - start)
        yield _replaced(part, name, rows[inside] - start, documents[inside], spans)


def _replaced(
    batch: pa.RecordBatch, name: str, rows: Int64Array, documents: Int64Array, spans: Spans
) -> pa.RecordBatch:
    at = batch.schema.get_field_index(name)
    texts = _texts(documents, spans)
    mask = np.zeros(batch.num_rows, np.bool_)
    mask[rows] = True
    bits = pa.py_buffer(np.packbits(mask, bitorder="little").data)
    where: Any = pa.Array.from_buffers(pa.bool_(), batch.num_rows, [None, bits], 0)
    return batch.set_column(at, name, pc.replace_with_mask(batch.column(at), where, texts))


def _texts(documents: Int64Array, spans: Spans) -> pa.Array[Any]:
    """Return the text of each document."""
    different, numbers = np.unique(documents, return_inverse=True)
    starts = spans.starts[different]
    # Documents lie one behind the other: values of one array, with what is between them as values too.
    borders = np.column_stack([starts, starts + spans.sizes[different]]).ravel().astype(np.int32)
    buffers = [None, pa.py_buffer(borders.data), pa.py_buffer(spans.data.data)]
    values: Any = pa.Array.from_buffers(pa.binary(), len(borders) - 1, buffers)
    try:
        texts: pa.Array[Any] = values.take(pa.array(2 * numbers)).cast(pa.string())
    except pa.ArrowInvalid:
        decoded = [(spans.value(number) or b"").decode("utf-8", "replace") for number in different.tolist()]
        return pa.array([decoded[number] for number in numbers.tolist()], pa.string())
    return texts
