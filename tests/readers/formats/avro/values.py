"""Values in Avro's binary encoding, laid out as sources lay them out, and what decoders make of them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa

from headwater.readers.formats.avro.avro_format import AvroValueFormat
from headwater.readers.formats.format import BadValues, Format, Spans, ValueDecoder


def encode(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def spans(values: Sequence[bytes | None]) -> Spans:
    data = np.frombuffer(b"".join(value or b"" for value in values) + b"\xff", np.uint8)[:-1]
    sizes = np.array([-1 if value is None else len(value) for value in values], np.int64)
    used = np.maximum(sizes, 0)
    return Spans(data, np.cumsum(used) - used, sizes)


def decode(made: Format, values: Sequence[bytes | None]) -> tuple[list[dict[str, Any]], BadValues | None]:
    decoder = made.decoder()
    bad = decoder.append(spans(values))
    return rows(made, decoder), bad


def rows(made: Format, decoder: ValueDecoder) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_arrays(list(decoder.finish()), schema=made.schema())
    batch.validate(full=True)
    return [dict(row) for row in batch.to_pylist()]


def resolved(writer: Any, reader: Any, value: Any) -> Any:
    """Return what a field of the writer's type becomes in the reader's; the reason if it is bad."""
    wrote, reads = (record({"name": "x", "type": kind}) for kind in (writer, reader))
    made = AvroValueFormat(json.dumps(reads), json.dumps(wrote))
    decoder = made.decoder()
    bad = decoder.append(spans([encode(wrote, {"x": value})]))
    if bad is not None:
        return decoder.reason(int(bad.reasons[0]))
    return rows(made, decoder)[0]["x"]


def record(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}
