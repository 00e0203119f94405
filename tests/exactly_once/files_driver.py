"""A streaming job from files into Parquet in a process of its own, for tests that kill it.

The one argument is what `FilesPipeline.job` returns.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from tests.exactly_once.files_pipeline import FilesPipeline


def main() -> None:
    job = json.loads(sys.argv[1])
    builder = SparkSession.builder.master("local[2]").appName("headwater test driver")
    for key, value in job["conf"].items():
        builder = builder.config(key, value)
    pipeline = FilesPipeline.of(job, builder.getOrCreate())
    assert isinstance(pipeline, FilesPipeline)
    pipeline.run()


if __name__ == "__main__":
    main()
