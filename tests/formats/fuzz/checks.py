"""What must hold of every value, however broken: checked over batches of mutated values."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.readers.formats.format import Spans
from headwater.readers.kernels.arrays import ByteArray, Int64Array
from tests.formats.fuzz.columns import Decoded, check_same, decode, most_bytes, part
from tests.formats.fuzz.guarded import GuardedMemory
from tests.formats.fuzz.mutation import NULL, Values, gathered, joined
from tests.formats.fuzz.subject import Subject

_PIECES = 12
_MOST_IN_PIECE = 6
_LOADED_BEHIND = 64
"""So many bytes behind a value a kernel may load, if they are there."""
_SECONDS_PER_ROW = 20e-6
_SECONDS_PER_BYTE = 1e-6


class BatchChecker:
    """Decodes batches of one subject, and checks what comes out. One thread.

    Args:
        subject: the format.
        rng: chooses layouts and pieces.
    """

    def __init__(self, subject: Subject, rng: np.random.Generator) -> None:
        self._subject = subject
        self._rng = rng
        self._schema = subject.format.schema()
        self._decoder = subject.format.decoder()
        self._memory = GuardedMemory(1 << 16)
        # Kernels are loaded with the first value: that takes no part in the times of batches.
        decode(self._decoder, [self._placed(joined(subject.good[:1]))])

    def check(self, values: Values) -> int:
        """Decode a batch in several ways; return how many of its values are bad.

        Raises:
            AssertionError: something does not hold.
        """
        self._name_known_schemas(values)
        rows = len(values.sizes)
        decoded = self._timed(values)
        self._check_columns(decoded.columns, values)
        again = decode(self._subject.format.decoder(), [self._shuffled(values)])
        check_same(decoded, again, "in another place, by another decoder")
        for _ in range(_PIECES):
            begin = int(self._rng.integers(0, rows))
            count = min(int(self._rng.integers(1, _MOST_IN_PIECE)), rows - begin)
            alone = decode(self._decoder, [self._placed(_rows(values, begin, count))])
            check_same(part(decoded, begin, count), alone, f"rows {begin} to {begin + count - 1} alone")
        return len(decoded.bad)

    def _timed(self, values: Values) -> Decoded:
        """Decode with one or several calls, within the time that values of this size may take."""
        cuts = np.sort(self._rng.integers(0, len(values.sizes) + 1, int(self._rng.integers(0, 3))))
        placed = self._placed(values)
        parts = [
            Spans(placed.data, starts, sizes)
            for starts, sizes in zip(
                np.split(placed.starts, cuts.tolist()), np.split(placed.sizes, cuts.tolist()), strict=True
            )
        ]
        began = time.thread_time()
        decoded = decode(self._decoder, parts)
        took = time.thread_time() - began
        allowed = 1 + _SECONDS_PER_ROW * len(values.sizes) + _SECONDS_PER_BYTE * values.data.size
        assert took < allowed, f"it took {took:.1f} s of the processor, and may take {allowed:.1f} s"
        return decoded

    def _check_columns(self, columns: Sequence[pa.Array[Any]], values: Values) -> None:
        assert [column.type for column in columns] == self._schema.types
        used = 0
        for column in columns:
            assert len(column) == len(values.sizes), "another number of rows"
            column.validate(full=True)
            used += column.nbytes
        most = most_bytes(self._schema.types, len(values.sizes), values.data.size)
        assert used <= most, f"{values.data.size} bytes became {used}, and may become {most}"
        nulls = np.flatnonzero(values.sizes == NULL)
        for column in columns:
            assert column.take(pa.array(nulls.tolist(), pa.int64())).null_count == len(nulls)

    def _placed(self, values: Values) -> Spans:
        """Return the values between forbidden pages: at the begin of what is between them, or at the end."""
        kind = int(self._rng.integers(0, 4))
        # With so much behind the last value a kernel need not care for the end of the data.
        behind = (0, 0, _LOADED_BEHIND, int(self._rng.integers(0, 100)))[kind]
        size = values.data.size + behind
        if size > self._memory.size:
            self._memory = GuardedMemory(2 * size)
        data = self._memory.at_begin(size) if kind == 0 else self._memory.at_end(size)
        data[: values.data.size] = values.data
        data[values.data.size :] = self._rng.integers(0, 256, behind)
        return Spans(data, values.starts, values.sizes)

    def _shuffled(self, values: Values) -> Spans:
        """Return the same values with other bytes around each of them."""
        order = self._rng.permutation(len(values.sizes))
        sizes = np.maximum(values.sizes, 0)[order]
        noise = self._noise(values.data.size)
        gaps = np.minimum(self._rng.integers(0, 20, len(order)), noise.size)
        # Noise stands in front of the values, from where it is copied between them.
        source = np.concatenate([noise, values.data])
        starts = np.column_stack([np.zeros_like(gaps), values.starts[order] + noise.size])
        lengths = np.column_stack([gaps, sizes])
        data = gathered(source, starts.ravel(), lengths.ravel())
        ends = np.cumsum(lengths.ravel())[1::2]
        begins = np.empty_like(values.starts)
        begins[order] = ends - sizes
        return self._placed_spans(data, begins, values.sizes)

    def _placed_spans(self, data: ByteArray, starts: Int64Array, sizes: Int64Array) -> Spans:
        placed = self._placed(Values(data, starts, sizes))
        return Spans(placed.data, starts, sizes)

    def _noise(self, size: int) -> ByteArray:
        return self._rng.integers(0, 256, min(size, 64) + 1).astype(np.uint8)

    def _name_known_schemas(self, values: Values) -> None:
        """Write ids that are known where values name a schema."""
        ids = self._subject.ids
        if not ids:
            return
        rows = np.flatnonzero(values.sizes >= 5)
        rows = rows[values.data[values.starts[rows]] == 0]
        at = values.starts[rows]
        number = np.array(ids, np.int64)[self._rng.integers(0, len(ids), len(rows))]
        own = values.data[at[:, None] + np.arange(1, 5)].astype(np.int64) @ (256 ** np.arange(3, -1, -1))
        keeps = np.isin(own, ids) & (self._rng.random(len(rows)) < 0.8)
        number = np.where(keeps, own, number)
        for i in range(4):
            values.data[at + 1 + i] = number >> (24 - 8 * i) & 0xFF


def _rows(values: Values, begin: int, count: int) -> Values:
    starts = values.starts[begin : begin + count]
    sizes = values.sizes[begin : begin + count]
    first = int(starts[0])
    end = int(starts[-1] + max(int(sizes[-1]), 0))
    if sizes[-1] == NULL:
        end = max(end, int((starts + np.maximum(sizes, 0)).max()))
    return Values(values.data[first:end], starts - first, sizes)
