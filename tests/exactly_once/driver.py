"""A streaming job from Kafka into Parquet, in a process of its own, for tests that kill it.

It runs until it is killed or the trigger ends it.

The one argument is JSON: what `Pipeline.job` returns, ``master``, ``trigger``, and optionally ``gate``, a
folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.exactly_once.gate import Gate
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.sessions import session


def main() -> None:
    job = json.loads(sys.argv[1])
    pipeline = Pipeline.of(job, session(job))
    frame = pipeline.frame()
    if "gate" in job:
        frame = Gate(Path(job["gate"])).through(frame)
    pipeline.start(frame, **job["trigger"]).awaitTermination()


if __name__ == "__main__":
    main()
