"""A Spark Connect client and the server that it starts, in a process of its own.

It cannot share a process with a classic session.

The one argument is JSON: what `Pipeline.job` returns. A line on stdin is a command, and a line of JSON on
stdout is its answer. ``stream`` runs the query until it has caught up, stops it, and answers what is in the
sink; ``batch`` reads the topic: both as sorted pairs of partition and offset. ``lag`` runs the query with a
listener on the client, and answers the listener's last report. ``board`` adds a board. ``slips`` and
``carry`` answer what a person is told.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from pyspark.sql import SparkSession

import headwater as hw
from tests.connector.slips.telling import answers
from tests.exactly_once.pipeline import Pipeline

SLIPS = Path(__file__).parents[1] / "connector" / "slips"
OPTIONS_OF_A_BATCH = ("subscribe", "startingOffsets")


def main() -> None:
    job = json.loads(sys.argv[1])
    builder = SparkSession.builder.remote("local[2]").config(map=job["conf"])
    pipeline = Pipeline.of(job, builder.getOrCreate())
    for command in sys.stdin:
        commands = {
            "stream": stream,
            "batch": batch,
            "lag": lag,
            "slips": slips,
            "carry": carry,
            "board": board,
        }
        answer = commands[command.strip()](pipeline)
        print(json.dumps(answer), flush=True)


def stream(pipeline: Pipeline) -> list[tuple[int, int]]:
    with pipeline.running():
        return pipeline.places()


class CaughtUp(hw.LagListener):
    """Sets ``up`` when nothing is left to read."""

    def __init__(self) -> None:
        super().__init__()
        self.up = threading.Event()
        self.last: dict[str, Any] = {}

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        super().onQueryProgress(event)
        for query in self.queries():
            if query.splits and not query.total:
                self.last = query.as_dict()
                self.up.set()


def lag(pipeline: Pipeline) -> dict[str, Any]:
    listener = CaughtUp()
    pipeline.spark.streams.addListener(listener)
    with pipeline.running():
        assert listener.up.wait(120), "no report reached the client"
    return listener.last


def batch(pipeline: Pipeline) -> list[tuple[int, int]]:
    reader = (
        pipeline.spark.read.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", pipeline.bootstrap_servers)
    )
    chosen = {name: pipeline.options[name] for name in OPTIONS_OF_A_BATCH}
    return sorted(
        (row.partition, row.offset)
        for row in reader.options(**chosen).load().select("partition", "offset").collect()
    )


def slips(pipeline: Pipeline) -> str:
    """Return what a person is told of each of the slips that are kept for Connect."""
    return answers(pipeline.spark, SLIPS / "connect.json", pipeline.folder / "slips")


def board(pipeline: Pipeline) -> int:
    """Add a board; return the status of its page."""
    with urlopen(hw.Board(pipeline.spark, port=0).url) as page:
        return int(page.status)


async def ask(row: Any) -> tuple[int]:
    return (row.value,)


def carry(pipeline: Pipeline) -> str:
    """Return what a person is told who carries rows over on Connect."""
    rows = pipeline.spark.readStream.format("rate").load()
    try:
        hw.unordered_wait(
            rows, ask, schema="answer long", carry_over="1s", event_time="timestamp", delay="1 minute"
        )
    except hw.errors.OptionError as error:
        return str(error)
    return "nothing"


COMMANDS = {"stream": stream, "batch": batch, "lag": lag, "slips": slips, "carry": carry, "board": board}

if __name__ == "__main__":
    main()
