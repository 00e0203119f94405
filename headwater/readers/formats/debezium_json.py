"""Debezium's change events as JSON: an envelope with the row before and after the change.

Kafka Connect writes an envelope as it is, or, with ``schemas.enable``, as the ``payload`` beside a
``schema``. Both may stand in one topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from headwater.readers.formats.format import BadValues, Format, ValueDecoder

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.formats.format import Spans

PAYLOAD: Final = "payload"
ENVELOPE: Final = ("before", "after", "op", "ts_ms", "source")
"""The columns, in their order."""
_OP: Final = ENVELOPE.index("op")
_NO_ENVELOPE: Final = -1


@dataclass(frozen=True)
class DebeziumJsonFormat(Format):
    """Envelopes as columns.

    Args:
        plain: JSON objects with the columns of `ENVELOPE`, and behind them `PAYLOAD`, a struct of the same.
        corrupt_column: the name of the column for corrupt values, if there is to be one.
    """

    plain: Format
    corrupt_column: str | None

    def schema(self) -> pa.Schema:
        import pyarrow as pa

        fields = list(self.plain.schema())[: len(ENVELOPE)]
        if self.corrupt_column is not None:
            fields.append(pa.field(self.corrupt_column, pa.string()))
        return pa.schema(fields)

    def in_time_zone(self, zone: str) -> Format:
        return replace(self, plain=self.plain.in_time_zone(zone))

    def decoder(self) -> ValueDecoder:
        return _EnvelopeDecoder(
            self.plain.decoder(), self.schema(), has_corrupt=self.corrupt_column is not None
        )


class _EnvelopeDecoder(ValueDecoder):
    """Takes the columns of envelopes from where they stand. One owner, one thread."""

    def __init__(self, inner: ValueDecoder, schema: pa.Schema, *, has_corrupt: bool) -> None:
        from headwater.readers.formats.wire_format import CorruptColumn

        self._inner = inner
        self._types = schema.types
        self._corrupt = CorruptColumn(_text) if has_corrupt else None
        self._parts: list[Sequence[pa.Array[Any]]] = []
        self._rows = 0

    def append(self, spans: Spans) -> BadValues | None:
        of_json = self._inner.append(spans)
        columns = _unwrapped(self._inner.finish())
        bad = _with_others(spans, columns[_OP], of_json)
        if bad is not None and self._corrupt is not None:
            self._corrupt.add(spans, bad, self._rows)
        self._parts.append(columns)
        self._rows += len(spans.sizes)
        return bad

    def reason(self, code: int, row: int | None = None) -> str:
        if code != _NO_ENVELOPE:
            return self._inner.reason(code, row)
        return (
            "is not an envelope of Debezium: it has no 'op'. What the transform ExtractNewRecordState has "
            "unwrapped is of the format json"
        )

    def finish(self) -> Sequence[pa.Array[Any]]:
        import pyarrow as pa

        columns = [
            pa.concat_arrays([part[at] for part in self._parts]) if self._parts else pa.array([], kind)
            for at, kind in enumerate(self._types[: len(ENVELOPE)])
        ]
        if self._corrupt is not None:
            columns.append(self._corrupt.finish(self._rows))
        self._parts = []
        self._rows = 0
        return columns


def _unwrapped(columns: Sequence[pa.Array[Any]]) -> Sequence[pa.Array[Any]]:
    """Return the columns of each envelope: those of its payload, if it has one."""
    import pyarrow.compute as pc

    *plain, last = columns
    payload: Any = last
    rows = len(payload)
    if payload.null_count == rows:
        return plain
    inside: list[pa.Array[Any]] = payload.flatten()
    if all(column.null_count == rows for column in plain):
        return inside
    is_wrapped = payload.is_valid()
    return [pc.if_else(is_wrapped, *each) for each in zip(inside, plain, strict=True)]


def _with_others(spans: Spans, op: pa.Array[Any], of_json: BadValues | None) -> BadValues | None:
    """Return the bad values, with values of good JSON that are no envelopes among them."""
    import numpy as np

    if op.null_count == 0 and of_json is None:
        return None
    is_null: Any = op.is_null().buffers()[1]
    has_no_op = np.unpackbits(np.frombuffer(is_null, np.uint8), bitorder="little")[: len(op)] == 1
    reasons = np.where(has_no_op & (spans.sizes >= 0), _NO_ENVELOPE, 0)
    if of_json is not None:
        reasons[of_json.rows] = of_json.reasons
    rows = np.flatnonzero(reasons)
    return BadValues(rows, reasons[rows]) if len(rows) else None


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
