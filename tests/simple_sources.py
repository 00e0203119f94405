"""Sources in the small form over a system in memory, for tests."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.abilities import (
    EndsAtRecords,
    EstimatesSizes,
    FindsTimestamps,
    Heads,
    OrdersSplits,
    Retires,
)
from headwater.core.options import Option, integer, text
from headwater.core.simple_source import Finished, NamedSplit, Page, SimpleSource
from headwater.testing import MemorySystem

FIELDS: list[pa.Field[Any]] = [pa.field("log", pa.string()), pa.field("number", pa.int64())]
SYSTEM = Option("system", text, None, "The name of a MemorySystem.", required=True)


class LogSource(SimpleSource, Heads, FindsTimestamps, EstimatesSizes):
    """Knows where its logs end. A row is its own timestamp."""

    name = "logs"
    schema = pa.schema(FIELDS)
    OPTIONS = (SYSTEM,)

    @property
    def system(self) -> MemorySystem:
        return MemorySystem.open(self.options["system"])

    def discover(self) -> list[NamedSplit]:
        return [NamedSplit(log, {"of": log}) for log in self.system.logs()]

    def head(self, split: NamedSplit) -> int:
        return self.system.length(split.name)

    def position_at(self, split: NamedSplit, timestamp_ms: int) -> int:
        return next(
            (at for at, row in enumerate(self.system.rows(split.name, 0)) if row >= timestamp_ms),
            self.head(split),
        )

    def row_bytes(self, split: NamedSplit) -> int:
        return 12

    def read(self, split: NamedSplit, position: int) -> Iterator[Page]:
        rows = self.system.rows(split.name, position)
        for at in range(0, len(rows), 4):
            page = rows[at : at + 4]
            yield Page([(split.name, number) for number in page], position + at + len(page))


END = 99
"""The number of the record at which the logs of some sources end."""


class EndingLogSource(LogSource, EndsAtRecords):
    """A log ends at the record `END`."""

    name = "ending-logs"

    def is_end(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        return pc.equal(rows.column("number"), pa.scalar(END))


class HidingSource(LogSource, Retires):
    """Does not see the logs that are hidden. One is gone for good once there is a log ``closed NAME``."""

    name = "hiding"

    def discover(self) -> list[NamedSplit]:
        logs = self.system.logs()
        return [
            NamedSplit(log)
            for log in logs
            if f"hidden {log}" not in logs and not log.startswith(("hidden ", "closed "))
        ]

    def retire(self, split: NamedSplit) -> bool:
        return f"closed {split.name}" in self.system.logs()


class ListsSource(SimpleSource, Heads):
    """Four rows in Arrow types that Spark's workers send as others."""

    name = "lists"
    schema = pa.schema(
        [
            pa.field("n", pa.int64(), nullable=False),
            pa.field("list", pa.list_(pa.int64())),
            pa.field("at", pa.timestamp("ns", "UTC")),
            pa.field("name", pa.large_string()),
        ]
    )

    def discover(self) -> list[NamedSplit]:
        return [NamedSplit("all")]

    def head(self, split: NamedSplit) -> int:
        return 4

    def read(self, split: NamedSplit, position: int) -> Iterator[Page]:
        for at in range(position, 4, 2):
            numbers = range(at, min(at + 2, 4))
            rows = [(n, [n, n + 1], datetime.fromtimestamp(n, UTC), f"name {n}") for n in numbers]
            columns = zip(zip(*rows, strict=True), self.schema.types, strict=True)
            arrays = [pa.array(values, kind) for values, kind in columns]
            yield Page(pa.RecordBatch.from_arrays(arrays, schema=self.schema) if at else rows, at + len(rows))


class TailSource(SimpleSource):
    """Finds out by reading: a cursor is a text, and a row below 0 names a child log.

    A log that ends with None has ended for good.
    """

    name = "tails"
    schema = pa.schema(FIELDS)
    OPTIONS = (SYSTEM, Option("pageRows", integer(1), 2, "Rows of a page."))

    def discover(self) -> list[NamedSplit]:
        return [
            NamedSplit(log)
            for log in MemorySystem.open(self.options["system"]).logs()
            if not log.startswith("child")
        ]

    def start(self, split: NamedSplit) -> str:
        return "at 0"

    def is_before(self, position: str, other: str) -> bool:
        return int(position.removeprefix("at ")) < int(other.removeprefix("at "))

    def read(
        self, split: NamedSplit, position: str, stop: str | None = None
    ) -> Generator[Page, None, Finished | None]:
        first = int(position.removeprefix("at "))
        last = int(stop.removeprefix("at ")) if stop else None
        log = MemorySystem.open(self.options["system"]).rows(split.name, 0, last)
        rows, size = log[first:], self.options["pageRows"]
        for at in range(0, len(rows), size):
            page = [row for row in rows[at : at + size] if row is not None]
            children = [NamedSplit(f"child{-row}") for row in page if row < 0]
            yield Page(
                [{"log": split.name, "number": row} for row in page],
                f"at {first + min(at + size, len(rows))}",
                children,
            )
        return Finished() if log[-1:] == [None] else None


class EndingTailSource(TailSource, EndsAtRecords):
    """A tail ends at the record `END`; its author writes rows, and looks at each."""

    name = "ending-tails"

    def is_end(self, rows: pa.RecordBatch) -> list[bool]:
        return [row["number"] == END for row in rows.to_pylist()]


class FamilySource(TailSource, OrdersSplits):
    """A log ``a+b>c`` follows the logs ``a`` and ``b``. A new query does not read the log ``old``."""

    name = "families"

    def parents(self, split: NamedSplit) -> list[str]:
        before, _, _ = split.name.rpartition(">")
        return before.split("+") if before else []

    def first_start(self, split: NamedSplit, *, is_batch: bool) -> str | Finished:
        return Finished() if split.name == "old" and not is_batch else self.start(split)
