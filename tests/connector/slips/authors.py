"""Sources whose authors made mistakes, each a usual one. They are met where tasks read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import headwater as hw


class OneSplit(hw.SimpleSource):
    """What all of them are."""

    name = "numbers"
    schema = pa.schema((("number", pa.int64()),))

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("only")]

    def read(self, split: hw.NamedSplit, position: Any) -> Iterator[Any]:
        yield hw.Page(self.rows(), 1)

    def rows(self) -> list[Any]:
        raise NotImplementedError


class ForgetsAKey(OneSplit):
    def rows(self) -> list[Any]:
        answer: dict[str, int] = {"count": 1}
        return [(answer["number"],)]


class DividesByZero(OneSplit):
    def rows(self) -> list[Any]:
        return [(1 // len(self.name.replace("numbers", "")),)]


class TooWide(OneSplit):
    def rows(self) -> list[Any]:
        return [(1,), (2, "two")]


class WrongType(OneSplit):
    def rows(self) -> list[Any]:
        return [(1,), ("two",)]


class MissesALibrary(OneSplit):
    def rows(self) -> list[Any]:
        import library_of_the_driver_alone  # type: ignore[import-not-found]

        return [(library_of_the_driver_alone.number(),)]


class YieldsRows(OneSplit):
    def read(self, split: hw.NamedSplit, position: Any) -> Iterator[Any]:
        yield [(1,)]
