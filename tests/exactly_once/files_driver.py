"""A streaming job from files into Parquet in a process of its own, for tests that kill it.

The one argument is what `FilesPipeline.job` returns.
"""

from __future__ import annotations

import json
import sys

from tests.exactly_once.files_pipeline import FilesPipeline
from tests.exactly_once.sessions import session


def main() -> None:
    job = json.loads(sys.argv[1])
    pipeline = FilesPipeline.of(job, session(job))
    assert isinstance(pipeline, FilesPipeline)
    pipeline.run()


if __name__ == "__main__":
    main()
