"""Events about objects in a bucket, as S3 sends them to a queue.

``python examples/object_events_source.py`` puts objects, and reads their lines.

The bucket is a folder here: objects are below ``objects/``, and below ``events/`` is one numbered file for
each object that was put. Reading an event brings the lines of its object. When the sink has written them, the
event is acknowledged, and its file is deleted.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import headwater as hw


class ObjectEvents(hw.SimpleSource, hw.Acknowledges):
    """One queue, in barrier mode: how many lines an object has is known when it is read.

    A position is the number of the next event.
    """

    name = "object-events"
    schema = pa.schema((("object", pa.string()), ("line", pa.string())))
    OPTIONS = (
        hw.options.Option("bucket", hw.options.text, None, "The folder of the bucket.", required=True),
    )

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("events")]

    def read(self, split: hw.NamedSplit, position: int) -> Iterator[hw.Page]:
        bucket = Path(self.options["bucket"])
        for number in sorted(int(file.stem) for file in bucket.glob("events/*.json")):
            if number < position:
                continue
            key = json.loads(event_file(bucket, number).read_text())["key"]
            lines = (bucket / "objects" / key).read_text().splitlines()
            yield hw.Page([(key, line) for line in lines], number + 1)

    def acknowledge(self, positions: Mapping[str, Any]) -> None:
        bucket = Path(self.options["bucket"])
        for file in bucket.glob("events/*.json"):
            if int(file.stem) < positions.get("events", 0):
                file.unlink(missing_ok=True)


def event_file(bucket: Path, number: int) -> Path:
    return bucket / "events" / f"{number:08}.json"


def put_object(bucket: Path, number: int, lines: int) -> None:
    """Write an object, and then the event that tells of it."""
    key = f"part-{number}.txt"
    for folder in ("objects", "events"):
        (bucket / folder).mkdir(parents=True, exist_ok=True)
    (bucket / "objects" / key).write_text("".join(f"{key} line {line}\n" for line in range(lines)))
    event_file(bucket, number).write_text(json.dumps({"eventName": "ObjectCreated:Put", "key": key}))


def main(spark: SparkSession) -> None:
    folder = Path(tempfile.mkdtemp())
    hw.register(spark, ObjectEvents)
    for first in (0, 3):
        for number in range(first, first + 3):
            put_object(folder / "bucket", number, lines=10)
        lines = (
            spark.readStream.format("object-events")
            .option("bucket", str(folder / "bucket"))
            .option("stateLocation", f"{folder}/state")
            .load()
        )
        writer = lines.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
        writer.trigger(availableNow=True).start(f"{folder}/rows").awaitTermination()
        left = len(list(folder.glob("bucket/events/*.json")))
        print(f"{spark.read.parquet(f'{folder}/rows').count()} lines, {left} events left")


if __name__ == "__main__":
    main(hw.session("object_events_source", master="local[2]", conf={"spark.log.level": "ERROR"}))
