"""A query from a folder of JSON files into Parquet, and a writer that goes on filling the folder."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.exactly_once.pipeline import Pipeline, logged, logged_ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["FilesPipeline", "Writer"]

ROWS = 20


class FilesPipeline(Pipeline):
    """Like its parent, from the folder ``in``."""

    @property
    def inbox(self) -> Path:
        return self.folder / "in"

    def frame(self) -> DataFrame:
        reader = (
            self.spark.readStream.format("headwater")
            .option("source", "files")
            .option("format", "json")
            .schema("number bigint")
        )
        return reader.options(**self.options).load(str(self.inbox))

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

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write a file every few milliseconds, on a thread."""
        done = threading.Event()

        def work() -> None:
            while not done.wait(0.03):
                self.drop()

        thread = threading.Thread(target=work, name="writer")
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
