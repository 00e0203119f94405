"""A query from a folder of JSON files into Parquet, and a writer that goes on filling the folder."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException

from tests.exactly_once.pipeline import Pipeline, logged, logged_ids
from tests.exactly_once.waiting import repeating

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["FilesPipeline", "ObjectWriter", "Writer"]

ROWS = 20
OBJECTS_PER_COLUMN = 400
"""A new column comes with every so many objects."""
MOST_OBJECTS = 3_000
"""Beside a slow driver more and more would be written, each of which has to be read."""


class FilesPipeline(Pipeline):
    """Like its parent, from the folder ``in``, or from ``path`` and with the schema that is kept."""

    @property
    def inbox(self) -> Path:
        return self.folder / "in"

    def frame(self) -> DataFrame:
        reader = self.spark.readStream.format("headwater").option("source", "files")
        if "schemaName" in self.options:
            return reader.options(**self.options).load()
        reader = reader.option("format", "json").schema("number bigint")
        return reader.options(**self.options).load(str(self.inbox))

    def run(self, **trigger: Any) -> None:
        """Run the query to its end, and start it again whenever new columns stop it."""
        while True:
            try:
                self.start(**trigger).awaitTermination()
            except StreamingQueryException as error:
                if "call load() again" not in str(error):
                    raise
            else:
                return

    def committed_files(self) -> set[str]:
        """Return the names of the files that were read in batches that Spark committed."""
        offsets = [logged(self.checkpoint, batch_id) for batch_id in logged_ids(self.checkpoint / "commits")]
        return {name.rpartition("/")[2] for offset in offsets for name, *_ in offset["splits"]["files"]}


@dataclass
class Writer:
    """Moves whole files with numbers into a folder. Their modification times are out of order by seconds."""

    inbox: Path
    rng: random.Random
    dropped: list[str] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        """What was written."""
        return list(range(ROWS * len(self.dropped)))

    def drop(self) -> None:
        """Write the next file."""
        name = f"{len(self.dropped):05}.json"
        first = ROWS * len(self.dropped)
        aside = self.inbox.parent / name
        aside.write_text("".join(f'{{"number":{first + row}}}\n' for row in range(ROWS)))
        at_s = time.time() - self.rng.uniform(0, 20)
        os.utime(aside, (at_s, at_s))
        aside.rename(self.inbox / name)
        self.dropped.append(name)

    def running(self) -> AbstractContextManager[None]:
        """Write a file every few milliseconds, on a thread."""
        return repeating(self.drop, 0.03)


@dataclass
class ObjectWriter:
    """Writes Parquet with numbers as objects, and more columns from time to time.

    It tells a queue of each object: often once, sometimes not at all or three times.
    """

    fs: Any
    folder: str
    tell: Callable[[str], None]
    rng: random.Random
    written: int = 0

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """What was written: number, and the names of the columns that the row has besides."""
        return [
            (ROWS * at + row, ",".join(self._columns(at)))
            for at in range(self.written)
            for row in range(ROWS)
        ]

    @property
    def columns(self) -> list[str]:
        """The columns that there are besides the number."""
        return self._columns(self.written - 1)

    def put(self) -> None:
        """Write the next object, as long as there are not too many."""
        if self.written == MOST_OBJECTS:
            return
        key = f"{self.folder}/{self.written:05}.parquet"
        numbers = pa.array(range(ROWS * self.written, ROWS * (self.written + 1)))
        more = {name: pa.array([name] * ROWS) for name in self._columns(self.written)}
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"number": numbers, **more}), sink)
        self.fs.pipe(key, sink.getvalue().to_pybytes())
        for _ in range(self.rng.choice([0, 1, 1, 3])):
            self.tell(key)
        self.written += 1

    def running(self) -> AbstractContextManager[None]:
        """Write an object every few milliseconds, on a thread."""
        return repeating(self.put, 0.05)

    @staticmethod
    def _columns(number: int) -> list[str]:
        return [f"c{at}" for at in range(number // OBJECTS_PER_COLUMN)]
