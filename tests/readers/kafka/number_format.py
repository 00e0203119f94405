"""A format for tests of what stands around formats: a value is a whole number in decimal digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.core.errors import DeadlineError
from headwater.readers.formats.format import BadValues, Format, Spans, ValueDecoder


@dataclass(frozen=True)
class NumberFormat(Format):
    def schema(self) -> pa.Schema:
        fields: list[pa.Field[Any]] = [pa.field("number", pa.int64()), pa.field("text", pa.string())]
        return pa.schema(fields)

    def decoder(self) -> ValueDecoder:
        return _NumberDecoder()


@dataclass(frozen=True)
class AwayFormat(NumberFormat):
    """What the second value of a call needs is away."""

    def decoder(self) -> ValueDecoder:
        return _AwayDecoder()


class _NumberDecoder(ValueDecoder):
    def __init__(self) -> None:
        self._texts: list[str | None] = []

    def append(self, spans: Spans) -> BadValues | None:
        values = [spans.value(row) for row in range(len(spans.sizes))]
        bad = [row for row, value in enumerate(values) if value is not None and not value.isdigit()]
        self._texts += [None if value is None else value.decode("utf-8", "replace") for value in values]
        return BadValues(np.array(bad, np.int64), np.full(len(bad), 7, np.int64)) if bad else None

    def reason(self, code: int, row: int | None = None) -> str:
        assert code == 7
        return "is no number"

    def finish(self) -> Sequence[pa.Array[Any]]:
        texts = self._texts
        self._texts = []
        numbers: list[int | None] = [
            int(text) if text is not None and text.isdigit() else None for text in texts
        ]
        return [pa.array(numbers, pa.int64()), pa.array(texts, pa.string())]


class _AwayDecoder(_NumberDecoder):
    def append(self, spans: Spans) -> BadValues | None:
        raise DeadlineError("nobody is there", position=1)
