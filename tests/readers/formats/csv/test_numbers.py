"""Numbers beside Python's own: integers to their limits, rounded decimals, every bit of a double."""

from __future__ import annotations

import decimal
import math
import random
import struct
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.readers.formats.csv.csv_values import decode


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integers_fit_up_to_the_limits_of_their_type(bits: int) -> None:
    kind = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]
    most = (1 << (bits - 1)) - 1
    good = [str(most), str(-most - 1), "+1", "007", "-0"]
    bad = [str(most + 1), str(-most - 2), "1.0", "1e3", " 1", "", "+", "٣"]
    found = decode({"v": kind}, [f"{value}," for value in [*good, *bad]], any_width=True, null_value="x")
    assert [row.get("v") for row in found.rows] == [*map(int, good), *(None for _ in bad)]


def test_doubles_have_the_bits_of_the_nearest_number(rng: random.Random) -> None:
    values = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(3_000)]
    written = [repr(value) for value in values if math.isfinite(value)]
    written += [
        f"{rng.randrange(10**17)}.{rng.randrange(10**6)}e{rng.randrange(-30, 30)}" for _ in range(3_000)
    ]
    found = decode({"v": pa.float64()}, written)
    assert [row["v"] for row in found.rows] == list(map(float, written))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1d", 1.0),
        ("1F", 1.0),
        ("0x1p3", 8.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("Infinity", math.inf),
    ],
)
def test_doubles_are_written_as_java_takes_them(text: str, value: float) -> None:
    assert decode({"v": pa.float64()}, [f'"{text}"']).rows == [{"v": value}]


def test_decimals_are_rounded_half_up_to_their_scale(rng: random.Random) -> None:
    written = [f"{rng.randrange(-(10**7), 10**7)}.{rng.randrange(10**5)}" for _ in range(2_000)]
    found = decode({"v": pa.decimal128(10, 2)}, written)
    cents = Decimal("0.01")
    expected = [Decimal(text).quantize(cents, decimal.ROUND_HALF_UP) for text in written]
    assert [row["v"] for row in found.rows] == expected
    assert decode({"v": pa.decimal128(4, 2)}, ["99.994", "99.995", "1e2"]).rows == [
        {"v": Decimal("99.99")},
        {},
        {},
    ]
