"""Events both ways: readers tell the enumerator what they have read, and it tells them what they may read.

``python examples/budget_source.py`` reads the lines of text files, and stops at a budget for all of them.

An event of a reader is part of the record that it is about. So it arrives once, whatever is killed: no line
is counted twice, and none is forgotten.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import pyarrow as pa

import headwater as hw
from headwater.contracts import BarrierSplitEnumeratorContext, Boundedness, Checkpoint, JsonValue, SplitPath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema((("file", pa.string()), ("line", pa.string())))
PAGE = 3


class BudgetEnumerator(hw.contracts.BarrierSplitEnumerator[hw.NamedSplit, int]):
    """Each file is a split. Its state is how many lines were read."""

    def __init__(
        self, context: BarrierSplitEnumeratorContext[hw.NamedSplit, int], source: Budget, used: int = 0
    ) -> None:
        self._context = context
        self._source = source
        self._used = used

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: Checkpoint[hw.NamedSplit, int] | None) -> None:
        known = checkpoint.splits if checkpoint else {}

        def assign(names: list[str]) -> None:
            splits = [hw.NamedSplit(name) for name in names]
            self._context.assign_splits(
                {split.path: (split, 0) for split in splits if split.path not in known}
            )
            # Told anew before each epoch: an event to a split that it does not read is dropped.
            share = max(0, self._source.budget - self._used) // max(1, len(splits))
            for split in splits:
                self._context.send_event_to_source_reader(split.path, {"split": split.name, "left": share})

        self._context.call_async(self._source.names, assign, what="the files")

    def handle_source_event(self, event: JsonValue) -> None:
        self._used += cast("dict[str, int]", event)["read"]

    def snapshot_state(self) -> JsonValue:
        return {"used": self._used}


class BudgetReader(hw.contracts.BarrierSplitReader[hw.NamedSplit, int]):
    """Reads pages of lines, as far as the enumerator has told it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[SplitPath, hw.contracts.SplitRange[hw.NamedSplit, int]] = {}
        self._paused: dict[SplitPath, hw.contracts.SplitRange[hw.NamedSplit, int]] = {}
        self._left: dict[str, int] = {}

    def handle_splits_changes(self, added: Sequence[hw.contracts.SplitRange[hw.NamedSplit, int]]) -> None:
        self._open.update((piece.split.path, piece) for piece in added)

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        for path in removed:
            self._open.pop(path, None)
            self._paused.pop(path, None)

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        for path in paused:
            if path in self._open:
                self._paused[path] = self._open.pop(path)
        for path in resumed:
            if path in self._paused:
                self._open[path] = self._paused.pop(path)

    def handle_source_event(self, event: JsonValue) -> None:
        told = cast("dict[str, Any]", event)
        self._left[told["split"]] = told["left"]

    def fetch(self) -> hw.contracts.EpochRecords:
        for path, piece in self._open.items():
            name = piece.split.name
            # An epoch that is read again is read to where it came, whatever the budget is by now.
            is_again = piece.stop is not None
            stop = piece.stop if is_again else piece.start + self._left.get(name, PAGE)
            with (self._folder / name).open() as lines:
                page = [
                    line.rstrip("\n") for line in islice(lines, piece.start, min(stop, piece.start + PAGE))
                ]
            if not page:
                del self._open[path]
                if is_again:
                    return hw.contracts.EpochRecords(finished=frozenset([path]))
                return hw.contracts.EpochRecords(caught_up={path: None})
            position = piece.start + len(page)
            self._open[path] = hw.contracts.SplitRange(piece.split, position, piece.stop)
            if name in self._left:
                self._left[name] -= len(page)
            rows = pa.RecordBatch.from_pylist([{"file": name, "line": line} for line in page], schema=SCHEMA)
            return self.answer(path, hw.contracts.EpochRecord(rows, position, events=({"read": len(page)},)))
        return hw.contracts.EpochRecords()

    def answer(self, path: SplitPath, record: hw.contracts.EpochRecord) -> hw.contracts.EpochRecords:
        return hw.contracts.EpochRecords({path: [record]})

    def wake_up(self) -> None:
        """No fetch waits."""

    def close(self) -> None:
        """Nothing is open between fetches."""


@dataclass(frozen=True)
class Budget(hw.contracts.BarrierSource[hw.NamedSplit, int]):
    """Text files that only grow, with a budget of lines."""

    name = "budget"
    OPTIONS = (
        hw.options.Option("folder", hw.options.text, None, "Where the files are.", required=True),
        hw.options.Option("budget", hw.options.integer(1), 1_000_000, "The most lines of all files."),
    )

    folder: Path
    budget: int
    mode: Boundedness

    @classmethod
    def from_options(cls, options: Mapping[str, Any], boundedness: Boundedness | None) -> Self:
        return cls(Path(options["folder"]), options["budget"], boundedness or Boundedness.BOUNDED)

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    def schema(self) -> pa.Schema:
        return SCHEMA

    def names(self) -> list[str]:
        return sorted(file.name for file in self.folder.glob("*.txt"))

    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[hw.NamedSplit, int]
    ) -> BudgetEnumerator:
        return BudgetEnumerator(context, self)

    def restore_enumerator(
        self,
        context: BarrierSplitEnumeratorContext[hw.NamedSplit, int],
        checkpoint: Checkpoint[hw.NamedSplit, int],
    ) -> BudgetEnumerator:
        return BudgetEnumerator(context, self, cast("dict[str, int]", checkpoint.state)["used"])

    def create_reader(self) -> BudgetReader:
        return BudgetReader(self.folder)

    def is_before(self, position: int, other: int) -> bool:
        return position < other

    def serialize_splits(self, splits: Iterable[hw.NamedSplit]) -> JsonValue:
        return None

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, hw.NamedSplit]:
        return {path: hw.NamedSplit(path[0]) for path in paths}


def write_lines(folder: Path, name: str, count: int) -> None:
    with (folder / f"{name}.txt").open("a") as lines:
        lines.writelines(f"{name} {number}\n" for number in range(count))


def main(spark: SparkSession) -> None:
    folder = Path(tempfile.mkdtemp())
    hw.register(spark, Budget)
    for name in ("a", "b"):
        write_lines(folder, name, 10)
    for budget in (12, 16):
        lines = (
            spark.readStream.format("budget")
            .options(folder=str(folder), budget=budget, stateLocation=f"{folder}/state", barrierInterval="1m")
            .load()
        )
        writer = lines.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
        writer.trigger(availableNow=True).start(f"{folder}/rows").awaitTermination()
        print(f"{spark.read.parquet(f'{folder}/rows').count()} lines of {budget}")


if __name__ == "__main__":
    main(hw.session("budget_source", master="local[2]", conf={"spark.log.level": "ERROR"}))
