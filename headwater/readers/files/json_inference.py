"""The schema of JSON files, by the rules of Spark's `spark.read.json`: all of them are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.core.errors import CorruptRecordError, FormatSchemaError
from headwater.readers.files.json_documents import json_documents
from headwater.readers.files.json_times import with_times
from headwater.readers.files.lines import Bytes
from headwater.readers.files.settings import ReadSettings
from headwater.readers.formats.format import Spans
from headwater.readers.formats.json.shape_inference import InferenceRules, ShapeInference

_NEARLY_ALL: Final = 0.99
"""A larger part is all, as in Spark."""


def inferred_json(blocks: Callable[[], Iterable[Bytes]], settings: ReadSettings) -> pa.Schema:
    """Return the fields that files of JSON have, sorted by name; one for corrupt records if there are such.

    Args:
        blocks: yields blocks of whole lines, or whole files, of all files in order. Called once, and twice
            more where strings may be times.
        settings: what is taken for JSON, and the rules.

    Raises:
        CorruptRecordError: a record is corrupt, and the mode is to fail; or no columns can be made of the
            fields.
    """
    json = settings.json
    rules = InferenceRules(
        primitives_as_string=json.primitives_as_string,
        prefers_decimal=json.prefers_decimal,
        drop_all_null=json.drop_all_null,
    )
    shapes = ShapeInference(rules)
    # A record of several objects counts or is broken as a whole.
    for spans in _samples(blocks, settings, whole=True):
        shapes.add(spans)
    corrupt = shapes.broken + shapes.others
    if corrupt and settings.records.mode == "failfast":
        raise CorruptRecordError(
            f"{corrupt} of the records from which a schema is inferred cannot be read. Option 'mode' is "
            "FAILFAST: give .schema(...), or leave such records out with DROPMALFORMED",
            source="files",
        )
    try:
        found = shapes.schema()
        if json.infer_timestamp:
            found = with_times(found, shapes, lambda: _samples(blocks, settings), settings.records)
    except FormatSchemaError as error:
        raise CorruptRecordError(
            f"no schema can be inferred: {error}; give .schema(...)", source="files"
        ) from error
    name = settings.records.corrupt_column
    # Beside text that is no JSON a field of that name is a string; beside JSON that is no object it stays.
    if settings.records.mode == "permissive" and (shapes.broken or (corrupt and name not in found.names)):
        return _with_corrupt_column(found, name)
    return found


def _with_corrupt_column(schema: pa.Schema, name: str) -> pa.Schema:
    """Return a schema with the column of corrupt records."""
    fields = [field for field in schema if field.name != name]
    fields.append(pa.field(name, pa.string()))
    return pa.schema(sorted(fields, key=lambda field: field.name.encode("utf-16-be")))


def _samples(
    blocks: Callable[[], Iterable[Bytes]], settings: ReadSettings, *, whole: bool = False
) -> Iterator[Spans]:
    """Yield the values of records that count: of evenly spread ones, if a part is asked for."""
    ratio = settings.records.sampling_ratio
    seen = 0
    for data in blocks():
        found = json_documents(data, settings.json, settings.lines, whole=whole)
        spans = found.values.spans
        if ratio <= _NEARLY_ALL:
            documents = found.values.documents
            numbers = seen + (np.arange(len(spans.sizes)) if documents is None else documents)
            kept = np.floor((numbers + 1) * ratio) > np.floor(numbers * ratio)
            spans = Spans(spans.data, spans.starts[kept], spans.sizes[kept])
        seen += len(found.spans.sizes)
        yield spans
