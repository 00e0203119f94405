"""Kernels that go over blocks of bytes: lines, documents, streams of CSV, and inference."""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.core.errors import FormatSchemaError
from headwater.readers.files.csv_stream import CsvStream
from headwater.readers.files.file_format import UnreadableRestError
from headwater.readers.files.lines import LineSettings
from headwater.readers.formats.csv.csv_decoder import CsvDecoder
from headwater.readers.formats.csv.type_inference import ColumnTypes
from headwater.readers.formats.format import FormatOptions, Spans
from headwater.readers.formats.json import layout as json_layout
from headwater.readers.formats.json.documents import json_values
from headwater.readers.formats.json.shape_inference import InferenceRules, ShapeInference
from headwater.readers.formats.lines.lines import line_spans, line_texts
from tests.formats.fuzz import csv_subjects, text_subjects
from tests.formats.fuzz.columns import as_bits
from tests.formats.fuzz.guarded import guarded_copy
from tests.formats.fuzz.mutation import Values
from tests.formats.fuzz.subject import Subject

BEHIND: Final = 64
"""So many bytes behind a value a kernel may load: they mean nothing."""
_RULES: Final = sum(value for name, value in vars(json_layout).items() if name.startswith("ALLOW_"))
_SEPARATORS: Final = (None, b"\n", b";", b"ab")


class BlockChecker(ABC):
    """Has a kernel go over the same values twice, in other places and pieces. One thread.

    Args:
        rng: chooses options.
        numbers: chooses places and pieces.
    """

    def __init__(self, rng: random.Random, numbers: np.random.Generator) -> None:
        self.rng = rng
        self.numbers = numbers
        self.subject = self.make_subject()

    @abstractmethod
    def make_subject(self) -> Subject:
        """Return values that others are made of. Called once, first."""

    @abstractmethod
    def found(self, values: Spans) -> Any:
        """Return what is found in values; `BEHIND` bytes of noise are behind them."""

    def check(self, values: Values) -> int:
        """Compare two goes over values; return how many they are not, if the kernel counts them."""
        found = self.found(self._placed(values))
        again = self.found(self._placed(values))
        assert repr(found) == repr(again), "in another place"
        return 0

    def cuts(self, count: int) -> list[int]:
        """Return where a go over so many values, or bytes, is to be interrupted."""
        inner = self.numbers.integers(0, count + 1, int(self.numbers.integers(0, 4)))
        return [0, *sorted(inner.tolist()), count]

    def _placed(self, values: Values) -> Spans:
        noise = self.numbers.integers(0, 256, BEHIND).astype(np.uint8)
        data = guarded_copy(np.concatenate([values.data, noise]))
        return Spans(data, values.starts, np.maximum(values.sizes, 0))


class JsonInferenceChecker(BlockChecker):
    """Infers the fields of JSON texts."""

    def make_subject(self) -> Subject:
        chances = (self.rng.random() < 0.5 for _ in range(3))
        names = ("primitives_as_string", "prefers_decimal", "drop_all_null")
        self._rules = InferenceRules(**dict(zip(names, chances, strict=True)))
        return text_subjects.json(self.rng)

    def found(self, values: Spans) -> Any:
        inference = ShapeInference(self._rules)
        cuts = self.cuts(len(values.sizes))
        for begin, end in pairwise(cuts):
            inference.add(Spans(values.data, values.starts[begin:end], values.sizes[begin:end]))
        try:
            schema: Any = inference.schema()
        except FormatSchemaError as error:
            schema = str(error)
        return schema, inference.broken, inference.others


class JsonDocumentsChecker(BlockChecker):
    """Splits and rewrites documents."""

    def make_subject(self) -> Subject:
        self._rules = self.rng.choice([json_layout.AS_IT_IS, self.rng.randrange(_RULES + 1)])
        self._whole = self.rng.random() < 0.5
        return text_subjects.json(self.rng)

    def found(self, values: Spans) -> Any:
        made = json_values(values, self._rules, whole=self._whole)
        texts = [made.spans.value(row) for row in range(len(made.spans.sizes))]
        return texts, None if made.documents is None else made.documents.tolist()


class CsvStreamChecker(BlockChecker):
    """Decodes a stream of CSV that comes in pieces."""

    def make_subject(self) -> Subject:
        subject = csv_subjects.csv(self.rng)
        self._format: Any = subject.format
        self._end = self.rng.choice([b"\n", b"\r\n", b"\r"])
        self._mixed = self.rng.random() < 0.3
        return subject

    def found(self, values: Spans) -> Any:
        made = self._format
        ends = [self._end, b"\n", b"\r\n", b"\r"] if self._mixed else [self._end]
        records = [values.value(row) or b"" for row in range(len(values.sizes))]
        text = b"".join(record + ends[at % len(ends)] for at, record in enumerate(records))
        lines = LineSettings(separator=None if self._mixed else self._end.decode())
        stream = CsvStream(made.dialect, lines, "file:///a.csv")
        decoder = CsvDecoder(made.schema(), made.options, made.dialect, stream.line_separator)
        rows: list[Any] = []
        cuts = self.cuts(len(text))
        try:
            for begin, end in pairwise(cuts):
                stream.add(text[begin:end], last=end == cuts[-1])
                for _, where in stream.rows(decoder):
                    columns: Any = decoder.finish()
                    shown = [column.view(as_bits(column.type)).to_pylist() for column in columns]
                    rows += zip(*shown, where.places.tolist(), strict=True)
        except UnreadableRestError as error:
            return rows, str(error)
        return rows


class CsvInferenceChecker(BlockChecker):
    """Infers the type of a column of text."""

    def make_subject(self) -> Subject:
        subject = csv_subjects.csv(self.rng)
        self._format: Any = subject.format
        self._prefers_date = self.rng.random() < 0.5
        cells = [cell for text in subject.good for cell in text.split(b",")]
        alike = [cell for cell in cells if cell[:1] == self.rng.choice(cells)[:1]]
        return Subject(subject.format, [*alike, b"1"], subject.tokens)

    def found(self, values: Spans) -> Any:
        types = ColumnTypes(
            1, self._format.dialect, FormatOptions(time_zone="UTC"), prefer_date=self._prefers_date
        )
        texts = pa.array([values.value(row) for row in range(len(values.sizes))], pa.binary()).view(
            pa.string()
        )
        cuts = self.cuts(len(texts))
        for begin, end in pairwise(cuts):
            types.add(0, texts[begin:end])
        return types.types()


class LinesChecker(BlockChecker):
    """Finds the lines of a block, and copies them."""

    def make_subject(self) -> Subject:
        good = [self.rng.choice([b"a", b"ab;", b"", b"x" * 70]) for _ in range(text_subjects.GOOD_VALUES)]
        ends = (b"\n", b"\r\n", b"\r", b";", b"ab", b"\r\r\n", b"\n" * 40)
        return Subject(text_subjects.text(self.rng).format, good, ends)

    def found(self, values: Spans) -> Any:
        separator = _SEPARATORS[len(values.sizes) % len(_SEPARATORS)]
        size = int(values.data.size) - BEHIND
        data: Any = guarded_copy(values.data[:size]).data
        spans = line_spans(data, separator)
        found = [spans.value(row) for row in range(len(spans.sizes))]
        expected = re.split(re.escape(separator) if separator else rb"\r\n|\r|\n", bytes(data))
        assert found == (expected if expected[-1] else expected[:-1])
        texts = line_texts(data, separator)
        assert texts is None or texts.cast(pa.binary()).to_pylist() == found
        return found


CHECKERS: Final[dict[str, Callable[[random.Random, np.random.Generator], BlockChecker]]] = {
    "json-inference": JsonInferenceChecker,
    "json-documents": JsonDocumentsChecker,
    "csv-stream": CsvStreamChecker,
    "csv-inference": CsvInferenceChecker,
    "lines": LinesChecker,
}
