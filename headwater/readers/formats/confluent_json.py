"""JSON in Confluent's wire format: the id of a schema, which says nothing that decoding needs, and JSON."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.readers.formats.format import Format, Spans, ValueDecoder

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ConfluentJsonFormat(Format):
    """JSON behind the id of its schema.

    Args:
        plain: what is behind it. No registry is asked: the columns are given.
        corrupt_column: the name of its column for corrupt values, if it has one.
    """

    plain: Format
    corrupt_column: str | None

    def schema(self) -> pa.Schema:
        return self.plain.schema()

    def in_time_zone(self, zone: str) -> Format:
        return replace(self, plain=self.plain.in_time_zone(zone))

    def decoder(self) -> ValueDecoder:
        import numpy as np

        from headwater.readers.formats import wire_format

        def headers(spans: Spans, _there: object) -> wire_format.HeaderSizes:
            rows = len(spans.sizes)
            return wire_format.HeaderSizes(
                np.full(rows, wire_format.HEADER_BYTES, np.int64), np.zeros(rows, np.int64)
            )

        corrupt = self.corrupt_column
        return wire_format.BehindHeader(
            self.plain.decoder(),
            headers,
            wire_format.Reasons(),
            corrupt_at=None if corrupt is None else self.schema().names.index(corrupt),
            shown=_text,
        )


def _text(value: bytes) -> str:
    """Return a bad value without its header."""
    from headwater.readers.formats.wire_format import HEADER_BYTES

    has_header = len(value) >= HEADER_BYTES and value[0] == 0
    return value[HEADER_BYTES if has_header else 0 :].decode("utf-8", "replace")
