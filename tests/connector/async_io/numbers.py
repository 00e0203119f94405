"""A source in barrier mode: the numbers 0 to 9, in two splits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import headwater as hw

__all__ = ["Numbers"]


class Numbers(hw.SimpleSource):
    name = "numbers"
    schema = pa.schema([("id", pa.int64())])

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("0"), hw.NamedSplit("5")]

    def read(self, split: Any, position: Any) -> Iterator[Any]:
        first = int(split.name)
        if position != "end":
            yield hw.Page([{"id": number} for number in range(first, first + 5)], "end")
