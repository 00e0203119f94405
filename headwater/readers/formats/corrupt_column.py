"""The column for corrupt values, where no kernel fills it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.readers.formats.format import BadValues, Spans


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
        known = np.zeros(rows, np.bool_)
        known[bad] = True
        # Made of buffers: pa.array would import pandas to look at an array of numpy.
        buffers: list[pa.Buffer | None] = [
            pa.py_buffer(np.packbits(known, bitorder="little").data),
            pa.py_buffer(places.data),
        ]
        texts_of_bad: pa.Array[Any] = pa.array(texts.values(), pa.string())
        return texts_of_bad.take(pa.Array.from_buffers(pa.int64(), rows, buffers))
