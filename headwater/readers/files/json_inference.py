"""The schema of JSON files, by the rules of Spark's `spark.read.json`: all of them are looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import CorruptRecordError, FormatSchemaError
from headwater.readers.files.json_documents import json_documents
from headwater.readers.files.lines import Bytes
from headwater.readers.files.settings import ReadSettings
from headwater.readers.files.text_settings import RecordSettings
from headwater.readers.formats.format import Spans
from headwater.readers.formats.json.json_decoder import JsonDecoder
from headwater.readers.formats.json.shape_inference import InferenceRules, ShapeInference

_Path: TypeAlias = tuple[str, ...]
_ELEMENT: Final = "[]"
_POINT_IN_TIME: Final = pa.timestamp("us", "UTC")
_NEARLY_ALL: Final = 0.99
"""A larger part is all, as in Spark."""


def inferred_json(blocks: Callable[[], Iterable[Bytes]], settings: ReadSettings) -> pa.Schema:
    """Return the fields that files of JSON have, sorted by name; one for corrupt records if there are such.

    Args:
        blocks: yields blocks of whole lines, or whole files, of all files in order. Called once, and twice
            more where strings may be times.
        settings: the leniencies of JSON, and the rules.

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
        schema = shapes.schema()
        if json.infer_timestamp:
            schema = with_times(schema, shapes, lambda: _samples(blocks, settings), settings.records)
    except FormatSchemaError as error:
        raise CorruptRecordError(
            f"no schema can be inferred: {error}; give .schema(...)", source="files"
        ) from error
    name = settings.records.corrupt_column
    # Beside text that is no JSON a field of that name is a string; beside JSON that is no object it stays.
    if settings.records.mode == "permissive" and (shapes.broken or (corrupt and name not in schema.names)):
        return _with_corrupt_column(schema, name)
    return schema


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
    position = 0
    for data in blocks():
        documents = json_documents(data, settings.json, settings.lines, whole=whole)
        spans = documents.values.spans
        if ratio <= _NEARLY_ALL:
            of_values = documents.values.documents
            numbers = position + (np.arange(len(spans.sizes)) if of_values is None else of_values)
            is_sampled = np.floor((numbers + 1) * ratio) > np.floor(numbers * ratio)
            spans = Spans(spans.data, spans.starts[is_sampled], spans.sizes[is_sampled])
        position += len(documents.spans.sizes)
        yield spans


def with_times(
    schema: pa.Schema,
    shapes: ShapeInference,
    samples: Callable[[], Iterable[Spans]],
    settings: RecordSettings,
) -> pa.Schema:
    """Return a schema in which fields are points in time whose texts are all times.

    Args:
        schema: in which they are strings.
        shapes: the shapes of the values.
        samples: yields the values again. Called twice.
        settings: how times are written.
    """
    # The zone makes another time, and not another answer.
    strict = replace(settings, time_zone=settings.time_zone or "UTC", time_fallback=False)
    as_times = shapes.schema(_POINT_IN_TIME)
    counts = _counts(schema, as_times, schema, samples(), strict)
    read = _counts(schema, as_times, as_times, samples(), strict)
    time_paths = {path for path, count in counts.items() if count == read[path]}
    return pa.schema([_timed(field, (), time_paths) for field in schema])


def _counts(
    texts: pa.Schema, times: pa.Schema, read_as: pa.Schema, samples: Iterable[Spans], settings: RecordSettings
) -> Counter[_Path]:
    """Return how many values the fields have that may be times."""
    # A field that is named as the column of corrupt records is one like others here.
    options = replace(settings.format_options(read_as), corrupt_column=None, rescued_column=None)
    decoder = JsonDecoder(read_as, options)
    counts: Counter[_Path] = Counter()
    for spans in samples:
        decoder.append(spans)
        for column, text, time in zip(decoder.finish(), texts, times, strict=True):
            for path, leaf in _leaves(column, text.type, time.type, (text.name,)):
                counts[path] += _count(leaf)
    return counts


def _count(leaf: pa.Array[Any]) -> int:
    """Return how many values are there; an empty text may be how a producer writes null."""
    if pa.types.is_string(leaf.type):
        empty = pc.count(leaf.filter(pc.equal(leaf, pa.scalar(""))))
        return len(leaf) - leaf.null_count - int(empty.as_py() or 0)
    return len(leaf) - leaf.null_count


def _leaves(
    column: pa.Array[Any], text: pa.DataType, time: pa.DataType, path: _Path
) -> Iterator[tuple[_Path, pa.Array[Any]]]:
    """Yield the values of fields whose two types are different, at any depth."""
    if text.equals(time):
        return
    if isinstance(text, pa.StructType):
        for at in range(text.num_fields):
            inner, other = text.field(at), cast("pa.StructType", time).field(at)
            values = cast("pa.StructArray", column).field(at)
            yield from _leaves(values, inner.type, other.type, (*path, inner.name))
    elif isinstance(text, pa.ListType):
        elements = cast("pa.ListArray[Any]", column).values
        other_type = cast("pa.ListType[Any]", time).value_type
        yield from _leaves(elements, text.value_type, other_type, (*path, _ELEMENT))
    else:
        yield path, column


def _timed(field: pa.Field[Any], path: _Path, time_paths: set[_Path]) -> pa.Field[Any]:
    return field.with_type(_timed_type(field.type, (*path, field.name), time_paths))


def _timed_type(kind: pa.DataType, path: _Path, time_paths: set[_Path]) -> pa.DataType:
    if isinstance(kind, pa.StructType):
        return pa.struct([_timed(kind.field(at), path, time_paths) for at in range(kind.num_fields)])
    if isinstance(kind, pa.ListType):
        return pa.list_(_timed_type(kind.value_type, (*path, _ELEMENT), time_paths))
    return _POINT_IN_TIME if path in time_paths else kind
