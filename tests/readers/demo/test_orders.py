"""Orders that are made up: pure functions of their number, visible at a fixed rate."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.readers.demo.orders import ORIGIN_US, SCHEMA, Orders
from tests.patience import PATIENCE_S

SHOP = Orders(seed=3, rows_per_second=1_000, splits=4, disorder_ms=0)
SHOPS = st.builds(
    Orders,
    seed=st.integers(0, 9),
    rows_per_second=st.integers(1, 10**7),
    splits=st.integers(1, 40),
    disorder_ms=st.integers(0, 10_000),
)


@given(shop=SHOPS, time_us=st.integers(ORIGIN_US, ORIGIN_US + 10**15))
def test_an_order_is_visible_from_its_time_on_and_not_before(shop: Orders, time_us: int) -> None:
    visible = shop.visible_at(time_us)
    last_us = ORIGIN_US + (visible - 1) * 1_000_000 // shop.rows_per_second
    next_us = ORIGIN_US + visible * 1_000_000 // shop.rows_per_second
    assert last_us <= time_us
    assert next_us >= time_us


@given(shop=SHOPS, order=st.integers(0, 10**12))
def test_each_order_is_in_one_split_at_one_position(shop: Orders, order: int) -> None:
    places = [
        split
        for split in range(shop.splits)
        if shop.position_of(order, split) + 1 == shop.position_of(order + 1, split)
    ]
    assert places == [order % shop.splits]
    assert shop.position_of(order, places[0]) == order // shop.splits


def test_before_the_first_order_there_is_none() -> None:
    assert SHOP.visible_at(0) == 0
    assert SHOP.position_of(-5, 2) == 0


@given(position=st.integers(0, 5_000), later=st.integers(0, 1_023))
def test_orders_are_the_same_from_wherever_a_block_is_read(position: int, later: int) -> None:
    rows = SHOP.block_from(position, 1)
    later = min(later, rows.num_rows - 1)
    assert SHOP.block_from(position + later, 1).equals(rows.slice(later))


def test_another_process_makes_the_same_orders() -> None:
    program = (
        "from headwater.readers.demo.orders import Orders\n"
        "shop = Orders(seed=3, rows_per_second=1_000, splits=4, disorder_ms=0)\n"
        "print(shop.block_from(77, 2).slice(0, 5).to_pylist())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=PATIENCE_S
    ).stdout
    assert printed.strip() == str(SHOP.block_from(77, 2).slice(0, 5).to_pylist())


@pytest.mark.parametrize("change", [{"seed": 4}, {"splits": 5}])
def test_another_shop_has_other_orders(change: dict[str, int]) -> None:
    other = replace(SHOP, **change)
    assert not other.block_from(0, 0).equals(SHOP.block_from(0, 0))


def test_rows_are_of_the_schema_and_amounts_are_price_times_quantity() -> None:
    rows = SHOP.block_from(10, 3)
    assert rows.schema == SCHEMA
    rows.validate(full=True)
    first = rows.slice(0, 1).to_pylist()[0]
    assert first["order_id"] == 10 * 4 + 3
    assert first["amount"] % first["quantity"] >= 0
    prices = {
        row["product"]: row["amount"] / row["quantity"] for row in rows.to_pylist() if row["quantity"] == 1
    }
    assert all(row["amount"] == prices[row["product"]] * row["quantity"] for row in rows.to_pylist())


def test_no_order_is_older_than_the_disorder_when_it_becomes_visible() -> None:
    shop = replace(SHOP, disorder_ms=2_000)
    rows = shop.block_from(0, 1).to_pylist()
    delays_us = [
        ORIGIN_US + row["order_id"] * 1_000 - int(row["ordered_at"].timestamp() * 1_000_000 + 0.5)
        for row in rows
    ]
    assert min(delays_us) >= 0
    assert max(delays_us) <= 2_000_000
    assert max(delays_us) > 1_900_000
