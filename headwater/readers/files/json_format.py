"""JSON: a line is a document, or a file with ``multiLine``; an object is a row, an array as many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.bad_records import BadRecords, Quarantine
from headwater.readers.files.compressed_files import is_compressed
from headwater.readers.files.file_format import FileBlock, Opener
from headwater.readers.files.json_documents import JsonDocuments, json_documents, with_texts
from headwater.readers.files.json_inference import inferred_json
from headwater.readers.files.line_format import LineFormat, whole_block
from headwater.readers.files.lines import Bytes
from headwater.readers.files.settings import ReadSettings
from headwater.readers.formats.columns.row_arrays import without_rows
from headwater.readers.formats.format import BadValues, Spans
from headwater.readers.formats.json.json_decoder import JsonDecoder
from headwater.readers.kernels.arrays import Int64Array

_MOST_ROWS = 1 << 16
"""Of one batch."""
_NO_COLUMNS = pa.schema([])


class JsonFormat(LineFormat):
    """Members that the schema does not name are skipped; those that a document lacks are null."""

    def __init__(self, settings: ReadSettings, quarantine: Quarantine | None = None) -> None:
        super().__init__(settings, quarantine)
        self._bad = BadRecords(settings.records, quarantine)
        # By the columns that a file has: those of folders are not among them.
        self._decoders: dict[tuple[pa.Schema, bool], JsonDecoder] = {}

    def is_splittable(self, url: str) -> bool:
        return not self.settings.json.multi_line and super().is_splittable(url)

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        if self.settings.json.multi_line:
            return whole_block(file, status)
        return super().blocks(file, status, start, stop, columns)

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        data = block.text
        documents = json_documents(data, self.settings.json, self.settings.lines)
        # A mark at the beginning of a file is not in its first block.
        start = block.start if self.settings.json.multi_line else block.stop - len(data)
        schema = self._schema(columns)
        decoder = self._decoder(schema, file)
        batches: list[pa.RecordBatch] = []
        bad: list[BadValues] = []
        spans = documents.values.spans
        for first in range(0, len(spans.sizes), _MOST_ROWS):
            part = Spans(
                spans.data, spans.starts[first : first + _MOST_ROWS], spans.sizes[first : first + _MOST_ROWS]
            )
            some = decoder.append(part, documents.values.rewriting)
            if some is not None:
                bad.append(BadValues(some.rows + first, some.reasons))
            batches.append(_batch(schema, decoder.finish(), len(part.sizes)))
        if not bad:
            yield from batches
            return
        rows = self._take_bad(documents, bad, decoder, file, start)
        yield from _without(batches, rows) if self._bad.are_dropped else self._kept(batches, rows, documents)

    def finish(self) -> None:
        self._bad.finish()

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        return inferred_json(lambda: self._texts(file, status), self.settings)

    def infer_all(self, files: Sequence[FileStatus], opener: Opener) -> pa.Schema | None:
        return inferred_json(lambda: self._texts_of(files, opener), self.settings)

    def _texts_of(self, files: Sequence[FileStatus], opener: Opener) -> Iterator[Bytes]:
        for status in files:
            with opener(status) as file:
                yield from self._texts(file, status)

    def _texts(self, file: Any, status: FileStatus) -> Iterator[Bytes]:
        file.seek(0)
        for block in self.blocks(file, status, 0, status.size_bytes, _NO_COLUMNS):
            yield block.text

    def _schema(self, columns: pa.Schema) -> pa.Schema:
        """Return the columns of a file, and those that only decoders make."""
        assert self.settings.schema is not None
        special = [field for field in self.settings.schema if field.name in self.settings.special_columns]
        return pa.schema([*columns, *special])

    def _decoder(self, schema: pa.Schema, file: FileStatus) -> JsonDecoder:
        # Spark takes values as they stand from bytes that it can reach, and else as Jackson writes them.
        is_streamed = self.settings.json.multi_line and is_compressed(file.url)
        exact = self.settings.lines.encoding is None and not is_streamed
        decoder = self._decoders.get((schema, exact))
        if decoder is None:
            options = self.settings.records.format_options(schema)
            specials = self.settings.json.non_numeric
            decoder = JsonDecoder(schema, options, exact=exact, specials=specials)
            self._decoders[schema, exact] = decoder
        return decoder

    def _take_bad(
        self,
        documents: JsonDocuments,
        bad: Sequence[BadValues],
        decoder: JsonDecoder,
        file: FileStatus,
        start: int,
    ) -> Int64Array:
        """Return the rows of bad documents: an array is bad as a whole."""
        rows = np.concatenate([each.rows for each in bad])
        reasons = np.concatenate([each.reasons for each in bad])
        of_values = documents.values.documents
        numbers = rows
        if of_values is not None:
            numbers, first = np.unique(of_values[rows], return_index=True)
            reasons = reasons[first]
            rows = np.flatnonzero(np.isin(of_values, numbers))
        self._bad.take(BadValues(numbers, reasons), documents.spans, file, start, decoder.reason)
        return rows

    def _kept(
        self, batches: Sequence[pa.RecordBatch], rows: Int64Array, documents: JsonDocuments
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows. Those of bad documents have the document's text, and not that of the value."""
        of_values = documents.values.documents
        name = self.settings.records.corrupt_column
        numbers = rows if of_values is None else of_values[rows]
        if not documents.are_moved:
            elsewhere = documents.values.spans.starts[rows] != documents.spans.starts[numbers]
            rows = rows[elsewhere]
            numbers = numbers[elsewhere]
        if not len(rows) or name not in batches[0].schema.names:
            yield from batches
            return
        first = 0
        for batch in batches:
            inside = (rows >= first) & (rows < first + batch.num_rows)
            yield from with_texts(batch, name, rows[inside] - first, numbers[inside], documents.spans)
            first += batch.num_rows


def _without(batches: Sequence[pa.RecordBatch], rows: Int64Array) -> Iterator[pa.RecordBatch]:
    """Yield the batches without some of their rows."""
    first = 0
    for batch in batches:
        inside = (rows >= first) & (rows < first + batch.num_rows)
        rest = without_rows(batch, [rows[inside] - first])
        if rest is not None:
            yield rest
        first += batch.num_rows


def _batch(schema: pa.Schema, columns: Sequence[pa.Array[Any]], rows: int) -> pa.RecordBatch:
    if not columns:
        return pa.RecordBatch.from_arrays([pa.nulls(rows)], names=[""])  # rows without a column
    return pa.RecordBatch.from_arrays(list(columns), schema=schema)
