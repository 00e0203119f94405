"""Breaks good values, many at once: numpy copies pieces of values, so that a value costs a microsecond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headwater.readers.kernels.arrays import ByteArray, Int64Array

NULL: Final = -1
_ODD_BYTES: Final = np.frombuffer(
    b"\x00\x01\x02\x08\x09\x0a\x1f\"'0\\{}\x7f\x80\x81\xbf\xc0\xed\xfe\xff", np.uint8
)
COMMON_TOKENS: Final = (
    *(b"\x80" * count for count in (1, 2, 5, 9, 10, 12, 300)),  # numbers that do not end
    *(b"\xff" * count + b"\x01" for count in (4, 9, 10)),
    b"\xff\xff\xff\xff\x0f",
    b"\xfe\xff\xff\xff\x0f",
    b"\xfe" + b"\xff" * 8 + b"\x01",
    b"\x80\x80\x80\x80\x10",
    *(b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98", b"\xc0\xaf"),  # no UTF-8
    b"\0",
    bytes(9),
    b"\xe2\x82\xac" * 40,
)


class Values(NamedTuple):
    """Values one after the other.

    Attributes:
        data: their bytes.
        starts: where each begins.
        sizes: how many bytes each has; `NULL` for a null.
    """

    data: ByteArray
    starts: Int64Array
    sizes: Int64Array


def joined(values: Sequence[bytes]) -> Values:
    """Return values as one array of bytes."""
    sizes = np.array([len(value) for value in values], np.int64)
    return Values(np.frombuffer(b"".join(values), np.uint8), np.cumsum(sizes) - sizes, sizes)


def mutated(rng: np.random.Generator, good: Sequence[bytes], tokens: Sequence[bytes], rows: int) -> Values:
    """Return so many broken values, a few good ones and a few nulls.

    A value is made of three pieces: the begin of a good one, something in between (a token, or a part of
    another value), and the rest of the first or of another one. Then some bytes are changed.
    """
    pool = joined([*good, *tokens])
    pieces = _Pieces(rng, pool, len(good), rows)
    first = pieces.begins()
    second = pieces.between()
    third = pieces.rests(first)
    starts = np.column_stack([first.starts, second.starts, third.starts])
    sizes = np.column_stack([first.sizes, second.sizes, third.sizes])
    data = gathered(pool.data, starts.ravel(), sizes.ravel())
    _change_bytes(rng, data)
    whole = sizes.sum(axis=1)
    begins = np.cumsum(whole) - whole
    is_null = rng.random(rows) < 0.01
    return Values(data, begins, np.where(is_null, NULL, whole))


def gathered(data: ByteArray, starts: Int64Array, sizes: Int64Array) -> ByteArray:
    """Return copies of pieces of some bytes, one after the other."""
    ends = np.cumsum(sizes)
    found: ByteArray = data[
        np.repeat(starts - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)
    ]
    return found


class _Piece(NamedTuple):
    starts: Int64Array
    sizes: Int64Array


class _Pieces:
    """Chooses pieces of values, one for each row."""

    def __init__(self, rng: np.random.Generator, pool: Values, good: int, rows: int) -> None:
        self._rng = rng
        self._pool = pool
        self._good = good
        self._rows = rows
        self._value = rng.integers(0, good, rows)
        # How much of each value is broken: 15 % stay whole.
        self._is_whole = rng.random(rows) < 0.15

    def begins(self) -> _Piece:
        """Return the begin of a value for each row; the whole value where nothing is to be broken."""
        sizes = self._pool.sizes[self._value]
        return _Piece(self._pool.starts[self._value], np.where(self._is_whole, sizes, self._cut(sizes)))

    def between(self) -> _Piece:
        """Return a token, a part of another value, or nothing."""
        rng = self._rng
        others = rng.integers(0, self._good, self._rows)
        tokens = rng.integers(self._good, len(self._pool.sizes), self._rows)
        kind = rng.random(self._rows)
        of_other = kind < 0.15
        chosen = np.where(of_other, others, tokens)
        sizes = self._pool.sizes[chosen]
        skipped = np.where(of_other, self._cut(sizes), 0)
        sizes = np.where(of_other, self._cut(sizes - skipped), sizes)
        sizes = np.where(self._is_whole | (kind > 0.6), 0, sizes)
        return _Piece(self._pool.starts[chosen] + skipped, sizes)

    def rests(self, first: _Piece) -> _Piece:
        """Return what follows: the rest of the value, with a few bytes left out, that of another, nothing."""
        rng = self._rng
        kind = rng.random(self._rows)
        others = rng.integers(0, self._good, self._rows)
        value = np.where(kind < 0.1, others, self._value)
        sizes = self._pool.sizes[value]
        left_out = np.where(kind < 0.5, 0, rng.integers(0, 6, self._rows))
        left_out = np.where(kind < 0.7, left_out, np.where(kind < 0.8, -left_out, 0))
        skipped = np.clip(first.sizes + left_out, 0, sizes)
        skipped = np.where(kind < 0.1, self._cut(sizes), skipped)
        rest = np.where(self._is_whole | (kind > 0.88), 0, sizes - skipped)
        return _Piece(self._pool.starts[value] + skipped, rest)

    def _cut(self, sizes: Int64Array) -> Int64Array:
        return (self._rng.random(len(sizes)) * (sizes + 1)).astype(np.int64)


def _change_bytes(rng: np.random.Generator, data: ByteArray) -> None:
    """Flip a bit in every hundredth byte or so, or put one in its place that means something."""
    if not data.size:
        return
    for share, change in ((0.006, "bit"), (0.003, "odd"), (0.001, "any")):
        places = rng.integers(0, data.size, int(share * data.size) + 1)
        new: npt.NDArray[np.uint8]
        if change == "bit":
            new = data[places] ^ (1 << rng.integers(0, 8, places.size)).astype(np.uint8)
        elif change == "odd":
            new = rng.choice(_ODD_BYTES, places.size)
        else:
            new = rng.integers(0, 256, places.size).astype(np.uint8)
        data[places] = new
