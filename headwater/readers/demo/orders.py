"""Orders that are made up: each is a pure function of its number, so that it can be read again.

The orders of a shop are numbered one after the other, at a fixed rate since `ORIGIN_US`: the number says when
an order becomes visible, and together with the seed what is in it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import pyarrow as pa

ORIGIN_US: Final = 1_767_225_600_000_000
"""When order 0 becomes visible: 2026-01-01T00:00:00Z, in microseconds since 1970."""

SCHEMA: Final = pa.schema(
    (
        ("order_id", pa.int64()),
        ("ordered_at", pa.timestamp("us", "UTC")),
        ("customer", pa.string()),
        ("product", pa.string()),
        ("quantity", pa.int32()),
        ("amount", pa.decimal128(9, 2)),
    )
)

_BLOCK: Final = 1_024
"""How many orders of a split are made up at once, with random numbers of their own."""

_PRICES: Final = {
    "bread": Decimal("3.20"),
    "butter": Decimal("2.75"),
    "cheese": Decimal("8.90"),
    "coffee": Decimal("12.50"),
    "honey": Decimal("6.40"),
    "jam": Decimal("4.10"),
    "milk": Decimal("1.35"),
    "tea": Decimal("7.25"),
}
_PRODUCTS: Final = tuple(_PRICES)
_CUSTOMERS: Final = tuple(f"customer-{number:03}" for number in range(1_000))
_QUANTITIES: Final = (1, 1, 1, 2, 2, 3, 5, 10)


@dataclass(frozen=True)
class Orders:
    """Which orders there are.

    They are dealt out to the splits in turn: order ``n`` is in split ``n % splits``, at the position
    ``n // splits``.

    Attributes:
        seed: decides who orders what, and how late each order is.
        rows_per_second: of all splits together.
        splits: how many there are.
        disorder_ms: how long it takes at the most from the time of an order until it is visible.
    """

    seed: int
    rows_per_second: int
    splits: int
    disorder_ms: int

    def visible_at(self, time_us: int) -> int:
        """Return how many orders are visible at a time, in microseconds since 1970."""
        return max(0, -(-(time_us - ORIGIN_US) * self.rows_per_second // 1_000_000))

    def position_of(self, order: int, split: int) -> int:
        """Return the position of the first order of a split whose number is not before this one."""
        return max(0, -(-(order - split) // self.splits))

    def block_from(self, position: int, split: int) -> pa.RecordBatch:
        """Return the orders of a split from a position to the end of its block: one at the least."""
        block, skipped = divmod(position, _BLOCK)
        # Seeded by a text: that is the same number in every process and version of Python.
        rng = random.Random(f"{self.seed}/{split}/{block}")
        products = rng.choices(_PRODUCTS, k=_BLOCK)
        quantities = rng.choices(_QUANTITIES, k=_BLOCK)
        first = block * _BLOCK * self.splits + split
        numbers = range(first, first + _BLOCK * self.splits, self.splits)
        columns = (
            pa.array(numbers, pa.int64()),
            pa.array([self._ordered_us(number, rng) for number in numbers], SCHEMA.field("ordered_at").type),
            pa.array(rng.choices(_CUSTOMERS, k=_BLOCK)),
            pa.array(products),
            pa.array(quantities, pa.int32()),
            pa.array(
                [_PRICES[product] * quantity for product, quantity in zip(products, quantities, strict=True)],
                SCHEMA.field("amount").type,
            ),
        )
        return pa.RecordBatch.from_arrays(list(columns), schema=SCHEMA).slice(skipped)

    def _ordered_us(self, order: int, rng: random.Random) -> int:
        visible_us = ORIGIN_US + order * 1_000_000 // self.rows_per_second
        return visible_us - int(rng.random() * self.disorder_ms * 1_000)
