"""A streaming job from Kafka into Parquet, in a process of its own, for tests that kill it.

It runs until it is killed or the trigger ends it.

The one argument is JSON: what `Pipeline.job` returns, ``master``, ``trigger``, and optionally ``gate``, a
folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from tests.exactly_once.gate import Gate
from tests.exactly_once.pipeline import Pipeline


def main() -> None:
    job = json.loads(sys.argv[1])
    builder = SparkSession.builder.master(job["master"]).appName("headwater test driver")
    for key, value in job["conf"].items():
        builder = builder.config(key, value)
    pipeline = Pipeline.of(job, builder.getOrCreate())
    frame = pipeline.frame()
    if "gate" in job:
        frame = Gate(Path(job["gate"])).through(frame)
    pipeline.start(frame, **job["trigger"]).awaitTermination()


if __name__ == "__main__":
    main()
