"""The demo source: orders that are made up, to try a query without any infrastructure."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from headwater.connector.sources.configured import ConfiguredSource
from headwater.connector.sources.user_sources import UserSource, options_of_class
from headwater.core.abilities import EstimatesSizes, FindsTimestamps, Heads
from headwater.core.options import Option, duration_ms, integer
from headwater.core.simple_source import NamedSplit, Page, SimpleSource
from headwater.core.source import Boundedness
from headwater.readers.demo.orders import SCHEMA, Orders

_ROW_BYTES: Final = 64

_SPLITS: Final = Option("splits", integer(1), 4, "How many splits the orders are dealt out to, in turn.")
_ROWS_PER_SECOND: Final = Option(
    "rowsPerSecond", integer(1), 1_000, "How many orders become visible in a second, in all splits together."
)
_ROWS: Final = Option(
    "rows",
    integer(),
    1_000,
    "How many orders are there at the beginning: a batch read has just these, a new stream begins with them.",
)
_DISORDER: Final = Option(
    "disorder",
    duration_ms,
    0,
    "How long it takes at the most from `ordered_at` until an order is visible: a watermark with this delay "
    "drops none.",
    shown_default="`0s`",
)
_SEED: Final = Option("seed", integer(), 0, "Another seed, other orders.")


class DemoSource(SimpleSource, Heads, FindsTimestamps, EstimatesSizes):
    """Orders of a shop. A position is how many orders of the split lie before it.

    An order depends on its number and the options alone, and its number on the time: so a batch can be
    read again, exactly, by any process. Another `seed`, `rowsPerSecond`, `disorder` or number of `splits` is
    another shop, which shows in the splits' infos: a query that changes them on its checkpoint goes on with
    the orders of the new shop, from the present on.
    """

    name = "demo"
    schema = SCHEMA
    OPTIONS = (_ROWS_PER_SECOND, _ROWS, _SPLITS, _DISORDER, _SEED)

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._orders = Orders(
            seed=options[_SEED.name],
            rows_per_second=options[_ROWS_PER_SECOND.name],
            splits=options[_SPLITS.name],
            disorder_ms=options[_DISORDER.name],
        )
        # One time for all splits and for both ends: a batch read has exactly as many rows as were asked for.
        self._visible = 0

    def discover(self) -> list[NamedSplit]:
        self._visible = self._orders.visible_at(time.time_ns() // 1_000)
        shop = {
            "seed": self._orders.seed,
            "rowsPerSecond": self._orders.rows_per_second,
            "splits": self._orders.splits,
            "disorderMs": self._orders.disorder_ms,
        }
        return [NamedSplit(str(number), dict(shop)) for number in range(self._orders.splits)]

    def start(self, split: NamedSplit) -> int:
        return self._orders.position_of(self._visible - self.options[_ROWS.name], int(split.name))

    def position_at(self, split: NamedSplit, timestamp_ms: int) -> int:
        orders = self._orders.visible_at(timestamp_ms * 1_000)
        return self._orders.position_of(min(orders, self._visible), int(split.name))

    def head(self, split: NamedSplit) -> int:
        return self._orders.position_of(self._visible, int(split.name))

    def row_bytes(self, split: NamedSplit) -> int:
        return _ROW_BYTES

    def read(self, split: NamedSplit, position: int, stop: int | None = None) -> Iterator[Page]:
        assert stop is not None, "planned mode says where to stop"
        number = int(split.name)
        while position < stop:
            rows = self._orders.block_from(position, number)[: stop - position]
            position += rows.num_rows
            yield Page(rows, position)


DEMO_OPTIONS: Final = options_of_class(DemoSource)
"""All options of the demo source."""


def configure_demo(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredSource:
    """Make the demo source from the user's options. Opens nothing.

    Raises:
        OptionError: an option is unknown, malformed or of the other mode.
    """
    return UserSource(DemoSource)(options, boundedness)
