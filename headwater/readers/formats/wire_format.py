"""Confluent's wire format: before each value are a zero and the id of its schema.

A format whose kernel does not know the header gets the values without it: `BehindHeader`.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.readers.formats.format import BadValues, Spans, ValueDecoder
from headwater.readers.kernels.arrays import ByteArray, Int64Array

HEADER_BYTES: Final = 5
"""A zero, and the id in four bytes, the highest first."""

_GLUE_BYTES: Final = 18
_GUID_BYTES: Final = 17
NO_HEADER: Final = "does not begin with a zero byte and the id of a schema, as Confluent's wire format does"
_GLUE: Final = "is in the wire format of AWS Glue's schema registry, which glue-avro and glue-json read"
_GUID: Final = "names its schema by a GUID instead of an id, which is not supported"


def header_reason(value: ByteArray) -> str:
    """Return why a value without a header is bad: which other wire format it has, if it is a known one."""
    if value.size >= _GLUE_BYTES and value[0] == 3 and value[1] in {0, 5}:
        return _GLUE
    if value.size >= _GUID_BYTES and value[0] == 1:
        return _GUID
    return NO_HEADER


def schema_id(header: bytes) -> int:
    """Return the id in a header."""
    return int.from_bytes(header[1:HEADER_BYTES], "big")


class NamedSchema(NamedTuple):
    """What the header of a record names (``__value_schema_id``).

    Attributes:
        id: the id of the schema; None: it is named by `guid`.
        guid: in its usual form.
        rest: what follows: the message indexes of Protobuf.
    """

    id: int | None
    guid: str
    rest: bytes


def named_schema(header: bytes) -> NamedSchema | None:
    """Return what a header names, as Confluent's serializers write it; None if it is no such header."""
    if len(header) >= HEADER_BYTES and header[0] == 0:
        return NamedSchema(schema_id(header), "", header[HEADER_BYTES:])
    if len(header) >= _GUID_BYTES and header[0] == 1:
        return NamedSchema(None, str(uuid.UUID(bytes=header[1:_GUID_BYTES])), header[_GUID_BYTES:])
    return None


def prefix(schema_id: int, rest: bytes = b"") -> bytes:
    """Return the header of a value, in front of it."""
    return b"\0" + schema_id.to_bytes(HEADER_BYTES - 1, "big") + rest


def have_header(spans: Spans) -> npt.NDArray[np.bool_]:
    """Return which values have a header."""
    is_header = spans.sizes >= HEADER_BYTES
    if is_header.any():
        is_header &= spans.data[np.where(is_header, spans.starts, spans.starts[is_header][0])] == 0
    return is_header


class Reasons:
    """Why values are bad, as codes below 0: those of formats are not. One owner, one thread."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []

    def code(self, reason: str) -> int:
        """Return the code of a reason."""
        if reason not in self._codes:
            self._texts.append(reason)
            self._codes[reason] = -len(self._texts)
        return self._codes[reason]

    def reason(self, code: int) -> str:
        """Return the reason of a code."""
        return self._texts[-1 - code]


class HeaderSizes(NamedTuple):
    """The headers of values.

    Attributes:
        sizes: in bytes.
        bad: the codes of `Reasons` of values that cannot be decoded; 0 for others.
    """

    sizes: Int64Array
    bad: Int64Array


class Behind(NamedTuple):
    """What stands behind the headers of values.

    Attributes:
        spans: where. Values that are null, or that have no header or a bad one, are nulls.
        bad: why values cannot be decoded, as codes of `Reasons`; 0 for others.
    """

    spans: Spans
    bad: Int64Array


def behind_ids(
    headers: Callable[[Spans, npt.NDArray[np.bool_]], HeaderSizes], reasons: Reasons
) -> Callable[[Spans], Behind]:
    """Return what takes values out of Confluent's wire format.

    Args:
        headers: looks at the headers. Of values that have none the sizes and codes do not count.
        reasons: those of its codes.
    """

    def taken(spans: Spans) -> Behind:
        there = have_header(spans)
        ids = headers(spans, there)
        good = there & (ids.bad == 0)
        codes = np.where(there, ids.bad, 0)
        for row in np.flatnonzero(~there & (spans.sizes >= 0)).tolist():
            start = int(spans.starts[row])
            codes[row] = reasons.code(header_reason(spans.data[start : start + int(spans.sizes[row])]))
        starts = spans.starts + np.where(good, ids.sizes, 0)
        return Behind(Spans(spans.data, starts, np.where(good, spans.sizes - ids.sizes, -1)), codes)

    return taken


class BehindHeader(ValueDecoder):
    """Decodes values behind headers, with the decoder of another format.

    Args:
        inner: decodes it.
        behind: takes values from behind their headers.
        reasons: those of its codes.
        corrupt_at: which of the columns is that for corrupt values; None: none is.
        shown: makes the text of a corrupt value with its header.
    """

    def __init__(
        self,
        inner: ValueDecoder,
        behind: Callable[[Spans], Behind],
        reasons: Reasons,
        *,
        corrupt_at: int | None,
        shown: Callable[[bytes], str],
    ) -> None:
        self._inner = inner
        self._behind = behind
        self._reasons = reasons
        self._corrupt_at = corrupt_at
        self._corrupt = CorruptColumn(shown)
        self._any_corrupt = False
        self._rows = 0
        self._last: tuple[Spans, Behind] | None = None

    def append(self, spans: Spans) -> BadValues | None:
        behind = self._of(spans)
        codes = behind.bad.copy()
        of_format = self._inner.append(behind.spans)
        is_bad = codes < 0
        if of_format is not None:
            codes[of_format.rows] = of_format.reasons
            is_bad[of_format.rows] = True
        first = self._rows
        self._rows += len(spans.sizes)
        if not is_bad.any():
            return None
        rows = np.flatnonzero(is_bad)
        all_bad = BadValues(rows, codes[rows])
        if self._corrupt_at is not None:
            self._any_corrupt = True
            self._corrupt.add(spans, all_bad, first)
        return all_bad

    def nulls(self, spans: Spans) -> npt.NDArray[np.bool_]:
        behind = self._of(spans)
        # A value without a header is bad, and no null.
        return np.where(behind.bad == 0, self._inner.nulls(behind.spans), False)

    def reason(self, code: int, row: int | None = None) -> str:
        return self._reasons.reason(code) if code < 0 else self._inner.reason(code, row)

    def finish(self) -> Sequence[pa.Array[Any]]:
        columns = list(self._inner.finish())
        if self._corrupt_at is not None and self._any_corrupt:
            columns[self._corrupt_at] = self._corrupt.finish(self._rows)
        self._any_corrupt = False
        self._rows = 0
        return columns

    def _of(self, spans: Spans) -> Behind:
        """Return what is behind the headers: of the same values once, which may be asked for twice."""
        if self._last is None or self._last[0] is not spans:
            self._last = spans, self._behind(spans)
        return self._last[1]


def base64_text(value: bytes) -> str:
    """Return the bytes of a value of a binary format as Base64."""
    return base64.b64encode(value).decode()


class CorruptColumn:
    """Collects bad values for one batch after the other. One owner, one thread.

    Args:
        shown: makes the text of a value.
    """

    def __init__(self, shown: Callable[[bytes], str]) -> None:
        self._shown = shown
        self._texts: dict[int, str] = {}

    def add(self, spans: Spans, bad: BadValues, first: int) -> None:
        """Note bad values; ``first`` is the row of the batch that the first value of the spans is in."""
        for row in bad.rows.tolist():
            self._texts[first + row] = self._shown(spans.value(row) or b"")

    def finish(self, rows: int) -> pa.Array[Any]:
        """Return the column, which is null but for bad values, and start anew."""
        texts = self._texts
        self._texts = {}
        if not texts:
            return pa.nulls(rows, pa.string())
        bad = np.fromiter(texts, np.int64)
        places = np.zeros(rows, np.int64)
        places[bad] = np.arange(len(bad))
        is_bad = np.zeros(rows, np.bool_)
        is_bad[bad] = True
        # Made of buffers: pa.array would import pandas to look at an array of numpy.
        buffers: list[pa.Buffer | None] = [
            pa.py_buffer(np.packbits(is_bad, bitorder="little").data),
            pa.py_buffer(places.data),
        ]
        texts_of_bad: pa.Array[Any] = pa.array(texts.values(), pa.string())
        return texts_of_bad.take(pa.Array.from_buffers(pa.int64(), rows, buffers))
