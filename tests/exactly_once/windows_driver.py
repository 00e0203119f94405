"""A `WindowPipeline` in a process of its own, for tests that kill it. It runs until it is killed.

The one argument is JSON: what `Pipeline.job` returns, and ``master``.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from tests.exactly_once.windows import WindowPipeline


def main() -> None:
    job = json.loads(sys.argv[1])
    builder = SparkSession.builder.master(job["master"]).appName("headwater test driver")
    for key, value in job["conf"].items():
        builder = builder.config(key, value)
    WindowPipeline.of(job, builder.getOrCreate()).start().awaitTermination()


if __name__ == "__main__":
    main()
