"""Decodes JSON values with the compiled kernel."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.readers.formats import misfits
from headwater.readers.formats.columns import layout as columns
from headwater.readers.formats.format import BadValues, FormatOptions, Spans
from headwater.readers.formats.json import layout
from headwater.readers.formats.json.documents import Rewriting
from headwater.readers.formats.text_decoder import TextDecoder
from headwater.readers.kernels.arrays import Int64Array, address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.formats.json.kernel.decode", "decode", arguments=8, needed_for="the format json"
)

_SPACE: Final = 0x20
_WORD: Final = (1 << 64) - 1
_SPECIAL_NAME: Final = re.compile(r'["\\\x00-\x1f]')

_REASONS: Final = {
    layout.REASON_NOT_JSON: "is not JSON",
    layout.REASON_NOT_AN_OBJECT: "is not a JSON object",
}


class JsonDecoder(TextDecoder):
    """Decodes JSON objects into columns. One owner, one thread.

    Args:
        schema: the columns.
        options: the column for corrupt values, and the zone of times without one.
        exact: whether a column of strings takes numbers and objects as they stand, which must be UTF-8.
        specials: whether texts such as ``NaN`` are numbers.

    Raises:
        OptionError: there is no such time zone, or none is given and a column needs one.
    """

    def __init__(
        self, schema: pa.Schema, options: FormatOptions, *, exact: bool = False, specials: bool = True
    ) -> None:
        super().__init__(KERNEL, schema, options, (options.corrupt_column, options.rescued_column))
        fields = pa.struct(self._fields)
        self._scratch = np.zeros(layout.SCRATCH_BYTES, np.uint8)
        self._levels = np.zeros(layout.LEVEL_BYTES, np.uint8)
        self._stack = np.zeros(layout.FRAME_BYTES * (2 + _depth(fields)), np.uint8)
        self._state[layout.STATE_FIELDS_OF_ROOT] = len(self._fields)
        self._state[layout.STATE_CORRUPT] = self._nodes.get(options.corrupt_column or "", 0)
        self._state[layout.STATE_RESCUE] = self._nodes.get(options.rescued_column or "", 0)
        self._state[layout.STATE_SCRATCH] = address(self._scratch)
        self._state[layout.STATE_LEVELS] = address(self._levels)
        self._state[layout.STATE_STACK] = address(self._stack)
        self._state[layout.STATE_EXACT] = int(exact)
        self._state[layout.STATE_NO_SPECIALS] = int(not specials)
        self._state[layout.STATE_DATE_FALLBACK] = int(options.date_fallback)
        self._state[layout.STATE_TIMESTAMP_FALLBACK] = int(options.timestamp_fallback)
        self._index = _name_index(self._table.nodes, len(self._fields))
        self._state[layout.STATE_NAME_INDEX] = address(self._index)
        self._state[layout.STATE_NAME_MASK] = self._index.size - 1
        plain = not any(_SPECIAL_NAME.search(name) for name in _names(fields))
        self._state[layout.STATE_PLAIN_NAMES] = int(plain)

    def append(self, spans: Spans, rewriting: Rewriting | None = None) -> BadValues | None:
        """Decode values; see `ValueDecoder.append`.

        Args:
            spans: the values.
            rewriting: the source of rewritten values: columns of strings take the source's text.
        """
        self._state[layout.STATE_PLACES] = 0
        if rewriting is not None:
            self._state[layout.STATE_PLACES] = address(rewriting.places)
            self._state[layout.STATE_SOURCE] = address(rewriting.source)
            self._state[layout.STATE_TEXT] = address(spans.data)
        return super().append(spans)

    def nulls(self, spans: Spans) -> npt.NDArray[np.bool_]:
        """Return which values are null or blank: `from_json` makes a null of both."""
        return (spans.sizes < 0) | _are_blank(spans)

    def reason(self, code: int, row: int | None = None) -> str:
        """Return why a value is bad."""
        if misfits.reason_of(code) != layout.REASON_MISMATCH:
            return _REASONS[code]
        value = None if row is None or self._last is None else self._last.value(row)
        text = None if value is None else misfits.json_text(value, misfits.place_of(code))
        return misfits.told(self._field(misfits.node_of(code)), text)


def _are_blank(spans: Spans) -> npt.NDArray[np.bool_]:
    """Return which values have no bytes but white space."""
    blank: npt.NDArray[np.bool_] = spans.sizes == 0
    first = spans.data[np.minimum(spans.starts, spans.data.size - 1)] if spans.data.size else blank
    for row in np.flatnonzero((spans.sizes > 0) & (first <= _SPACE)).tolist():
        blank[row] = not (spans.value(row) or b"").strip(b" \t\n\r")
    return blank


def _name_index(nodes: Int64Array, fields_of_root: int) -> Int64Array:
    """Return the index of names in wide structs, as `layout.STATE_NAME_INDEX` describes it."""
    rows = nodes.tolist()
    fields = [
        (parent, child)
        for parent, row in enumerate(rows)
        if row[columns.NODE_TYPE] == columns.TYPE_STRUCT
        for count in [row[columns.NODE_CHILDREN] if parent > 0 else fields_of_root]
        if count > layout.FEW_FIELDS
        for child in range(row[columns.NODE_FIRST_CHILD], row[columns.NODE_FIRST_CHILD] + count)
    ]
    index = np.zeros(2 << len(fields).bit_length(), np.int64)
    for parent, child in fields:
        place = parent + 1
        for byte in ctypes.string_at(rows[child][columns.NODE_NAME], rows[child][columns.NODE_NAME_SIZE]):
            place = (place ^ byte) * layout.NAME_FACTOR & _WORD
        place = (place >> layout.NAME_SHIFT) % index.size
        while index[place]:
            place = (place + 1) % index.size
        index[place] = address(nodes) + child * nodes.strides[0]
    return index


def _depth(kind: pa.DataType) -> int:
    return 1 + max((_depth(child) for child in _children(kind)), default=0)


def _names(kind: pa.DataType) -> Iterator[str]:
    if isinstance(kind, pa.StructType):
        yield from (kind.field(i).name for i in range(kind.num_fields))
    for child in _children(kind):
        yield from _names(child)


def _children(kind: pa.DataType) -> list[pa.DataType]:
    if isinstance(kind, pa.StructType):
        return [kind.field(i).type for i in range(kind.num_fields)]
    if isinstance(kind, pa.ListType):
        return [kind.value_type]
    if isinstance(kind, pa.MapType):
        return [kind.key_type, kind.item_type]
    return []
