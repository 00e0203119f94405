"""The fields of JSON, inferred by the rules of Spark's `spark.read.json`, with a compiled kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.core.errors import FormatSchemaError
from headwater.readers.formats.format import Spans
from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json import shapes_layout as layout
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.formats.json.kernel.shapes",
    "note_shapes",
    arguments=5,
    needed_for="schemas inferred from JSON",
)

_LEAST_SHAPES: Final = 256
_LEAST_BYTES: Final = 1 << 12
_MOST_LEVELS: Final = 100
"""Deeper schemas are refused: Spark itself cannot hold them."""
_LONG_DIGITS: Final = 20
"""The digits that Spark counts for a bigint beside decimals."""
_TEXT: Final = pa.string()
_NUMBERS: Final = layout.KIND_LONG | layout.KIND_DOUBLE | layout.KIND_DECIMAL


@dataclass(frozen=True, kw_only=True)
class InferenceRules:
    """The types that kinds of values become.

    Attributes:
        primitives_as_string: whether numbers and booleans are strings.
        prefers_decimal: whether numbers with a fraction, and texts that are numbers, are decimals.
        drop_all_null: whether fields that are never more than null are left out; else they are strings.
    """

    primitives_as_string: bool = False
    prefers_decimal: bool = False
    drop_all_null: bool = False


class ShapeInference:
    """Takes values, and says which fields they have. One owner, one thread.

    Args:
        rules: the types that kinds of values become.
    """

    def __init__(self, rules: InferenceRules) -> None:
        self._rules = rules
        self._levels = np.zeros(L.LEVEL_BYTES, np.uint8)
        self._stack = np.zeros(2 * (L.MOST_DEPTH + 1), np.int64)
        self._shapes: Int64Array = np.zeros((_LEAST_SHAPES, layout.SHAPE_FIELDS), np.int64)
        self._names: ByteArray = np.zeros(_LEAST_BYTES, np.uint8)
        self._scratch: ByteArray = np.zeros(_LEAST_BYTES, np.uint8)
        self._table: Int64Array = np.zeros(4 * _LEAST_SHAPES, np.int64)
        self._state = np.zeros(layout.STATE_FIELDS, np.int64)
        self._state[layout.STATE_COUNT] = 1
        self._state[layout.STATE_PRIMITIVES_AS_STRING] = int(rules.primitives_as_string)
        self._state[layout.STATE_PREFERS_DECIMAL] = int(rules.prefers_decimal)
        self._point()

    @property
    def broken(self) -> int:
        """How many values were not JSON."""
        return int(self._state[layout.STATE_BROKEN])

    @property
    def others(self) -> int:
        """How many values were JSON, and neither objects nor nulls."""
        return int(self._state[layout.STATE_OTHER])

    def add(self, spans: Spans) -> None:
        """Take values, behind each of which lie 64 more bytes of the data."""
        count = len(spans.sizes)
        if not count:
            return
        starts = np.ascontiguousarray(spans.starts + address(spans.data), np.int64)
        sizes = np.ascontiguousarray(spans.sizes, np.int64)
        row = 0
        while True:
            row = KERNEL(address(starts), address(sizes), row, count, address(self._state))
            if not self._state[layout.STATE_STOP]:
                return
            self._grow()

    def add_each(self, values: Sequence[bytes]) -> None:
        """Take values that lie anywhere."""
        sizes = np.array([len(value) for value in values], np.int64)
        data = np.frombuffer(b"".join([*values, bytes(L.BEHIND)]), np.uint8)
        self.add(Spans(data, np.cumsum(sizes) - sizes, sizes))

    def schema(self, texts: pa.DataType = _TEXT) -> pa.Schema:
        """Return the fields of all values so far, sorted by name at each level.

        Args:
            texts: the type of fields that never were anything else than texts.

        Raises:
            FormatSchemaError: two fields of one object have the same name, or objects are nested too deeply.
        """
        root = self._type(0, 0, texts)
        return pa.schema(list(root)) if isinstance(root, pa.StructType) else pa.schema([])

    def _grow(self) -> None:
        self._shapes = np.concatenate([self._shapes, np.zeros_like(self._shapes)])
        self._names = np.concatenate([self._names, np.zeros_like(self._names)])
        self._scratch = np.zeros(2 * len(self._scratch), np.uint8)
        self._table = np.zeros(2 * len(self._table), np.int64)
        self._state[layout.STATE_REBUILD] = 1
        self._point()

    def _point(self) -> None:
        state = self._state
        state[layout.STATE_SHAPES] = address(self._shapes)
        state[layout.STATE_MOST] = len(self._shapes)
        state[layout.STATE_NAMES] = address(self._names)
        state[layout.STATE_NAMES_MOST] = len(self._names)
        state[layout.STATE_TABLE] = address(self._table)
        state[layout.STATE_TABLE_MASK] = len(self._table) - 1
        state[layout.STATE_STACK] = address(self._stack)
        state[layout.STATE_LEVELS] = address(self._levels)
        state[layout.STATE_SCRATCH] = address(self._scratch)
        state[layout.STATE_SCRATCH_SIZE] = len(self._scratch)

    def _type(self, number: int, depth: int, texts: pa.DataType) -> pa.DataType | None:
        """Return the type of a shape; None if nothing is left of it."""
        if depth > _MOST_LEVELS:
            raise FormatSchemaError(f"objects and lists are nested deeper than {_MOST_LEVELS} levels")
        shape = self._shapes[number]
        kinds = int(shape[layout.SHAPE_KINDS]) & ~layout.KIND_TWICE
        if not kinds:
            return None if self._rules.drop_all_null else _TEXT
        if kinds == layout.KIND_STRUCT:
            return self._struct(number, depth, texts)
        if kinds == layout.KIND_LIST:
            element = self._type(int(shape[layout.SHAPE_ELEMENT]), depth + 1, texts)
            return None if element is None else pa.list_(element)
        if kinds == layout.KIND_BOOLEAN:
            return pa.bool_()
        if kinds == layout.KIND_STRING:
            return texts
        return _TEXT if kinds & ~_NUMBERS else _number(kinds, shape)

    def _struct(self, number: int, depth: int, texts: pa.DataType) -> pa.DataType | None:
        children = sorted(self._children(number))
        lower: set[str] = set()
        for _, name, child in children:
            if name.lower() in lower or self._shapes[child, layout.SHAPE_KINDS] & layout.KIND_TWICE:
                raise FormatSchemaError(
                    f"the member {name!r} comes twice in an object, or in another case: such columns cannot "
                    "be told apart"
                )
            lower.add(name.lower())
        members = ((name, self._type(child, depth + 1, texts)) for _, name, child in children if name)
        fields = [pa.field(name, kind) for name, kind in members if kind is not None]
        return pa.struct(fields) if fields else None

    def _children(self, number: int) -> Iterator[tuple[bytes, str, int]]:
        """Yield the sort key of a child, its name, and its number."""
        child = int(self._shapes[number, layout.SHAPE_FIRST_CHILD])
        while child:
            at, size = self._shapes[child, [layout.SHAPE_NAME, layout.SHAPE_NAME_SIZE]].tolist()
            name = self._names[at : at + size].tobytes().decode("utf-8", "replace")
            # Java's order of strings is that of their UTF-16.
            yield name.encode("utf-16-be"), name, child
            child = int(self._shapes[child, layout.SHAPE_NEXT])


def _number(kinds: int, shape: Int64Array) -> pa.DataType:
    if kinds & layout.KIND_DOUBLE:
        return pa.float64()
    if kinds == layout.KIND_LONG:
        return pa.int64()
    digits = int(shape[layout.SHAPE_RANGE])
    if kinds & layout.KIND_LONG:
        digits = max(digits, _LONG_DIGITS)
    scale = int(shape[layout.SHAPE_SCALE])
    precision = digits + scale
    return pa.decimal128(precision, scale) if precision <= layout.MOST_DECIMAL else pa.float64()
