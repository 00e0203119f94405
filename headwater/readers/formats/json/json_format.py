"""The format `json`: each value is a JSON object whose fields are columns, as Spark's `from_json` has it.

In Confluent's wire format the id of a schema stands before it, which decoding does not need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.readers.formats.format import ColumnsFormat, Format, Spans, ValueDecoder

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.formats.json.json_decoder import JsonDecoder


@dataclass(frozen=True)
class JsonValueFormat(ColumnsFormat):
    """JSON objects as columns, with the meaning of Spark's ``from_json`` in the mode ``PERMISSIVE``."""

    def decoder(self) -> JsonDecoder:
        """Make a decoder. Its kernel is loaded with the first value."""
        from headwater.readers.formats.json.json_decoder import JsonDecoder

        return JsonDecoder(self.schema(), self.options)


@dataclass(frozen=True)
class ConfluentJsonFormat(Format):
    """JSON behind the id of its schema.

    Args:
        plain: the format behind the header. No registry is asked: the columns are given.
        corrupt_column: the name of its column for corrupt values, if it has one.
    """

    plain: Format
    corrupt_column: str | None

    def schema(self) -> pa.Schema:
        return self.plain.schema()

    def in_time_zone(self, zone: str) -> Format:
        return replace(self, plain=self.plain.in_time_zone(zone))

    def prefix_of(self, header: bytes) -> bytes | None:
        from headwater.readers.formats.wire_format import named_schema, prefix

        # Which schema it is does not matter, in front neither.
        return None if named_schema(header) is None else prefix(0)

    def decoder(self) -> ValueDecoder:
        import numpy as np

        from headwater.readers.formats import wire_format

        def headers(spans: Spans, _there: object) -> wire_format.HeaderSizes:
            rows = len(spans.sizes)
            return wire_format.HeaderSizes(
                np.full(rows, wire_format.HEADER_BYTES, np.int64), np.zeros(rows, np.int64)
            )

        corrupt = self.corrupt_column
        reasons = wire_format.Reasons()
        return wire_format.BehindHeader(
            self.plain.decoder(),
            wire_format.behind_ids(headers, reasons),
            reasons,
            corrupt_at=None if corrupt is None else self.schema().names.index(corrupt),
            shown=_text,
        )


@dataclass(frozen=True)
class GlueJsonFormat(ConfluentJsonFormat):
    """The same values in the wire format of AWS Glue's schema registry."""

    def decoder(self) -> ValueDecoder:
        from headwater.readers.formats.glue_frames import GlueFrames, text_in_frame
        from headwater.readers.formats.wire_format import BehindHeader, Reasons

        reasons = Reasons()
        corrupt = self.corrupt_column
        return BehindHeader(
            self.plain.decoder(),
            GlueFrames(reasons),
            reasons,
            corrupt_at=None if corrupt is None else self.schema().names.index(corrupt),
            shown=text_in_frame,
        )


def _text(value: bytes) -> str:
    """Return a bad value without its header."""
    from headwater.readers.formats.wire_format import HEADER_BYTES

    has_header = len(value) >= HEADER_BYTES and value[0] == 0
    return value[HEADER_BYTES if has_header else 0 :].decode("utf-8", "replace")
