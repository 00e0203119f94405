"""Writes files of Avro whose values of logical types are those that stand in the bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro

__all__ = ["SYNC", "avro_file"]

SYNC = b"S" * 16
"""What stands behind each block."""
_TOP = {"type": "record", "name": "top"}


def avro_file(
    kinds: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], codec: str = "null", interval: int = 16_000
) -> bytes:
    """Return a file.

    Args:
        kinds: the types of the columns, by their names.
        rows: their values.
        codec: of the blocks.
        interval: about how many bytes a block has.
    """
    out = io.BytesIO()
    fields = [{"name": name, "type": _plain(kind)} for name, kind in kinds.items()]
    schema = fastavro.parse_schema({**_TOP, "fields": fields})
    fastavro.writer(out, schema, rows, codec=codec, sync_interval=interval, sync_marker=SYNC)
    written = json.dumps({**_TOP, "fields": [{"name": name, "type": kind} for name, kind in kinds.items()]})
    data = out.getvalue()
    begin = data.index(b"avro.schema") + len(b"avro.schema")
    stream = io.BytesIO(data[begin:])
    fastavro.schemaless_reader(stream, "bytes", None)
    field = io.BytesIO()
    fastavro.schemaless_writer(field, "bytes", written.encode())
    return data[:begin] + field.getvalue() + stream.read()


def _plain(kind: Any) -> Any:
    if isinstance(kind, dict):
        return {key: _plain(each) for key, each in kind.items() if key != "logicalType"}
    return [_plain(each) for each in kind] if isinstance(kind, list) else kind
