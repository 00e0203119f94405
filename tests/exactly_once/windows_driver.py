"""A `WindowPipeline` in a process of its own, for tests that kill it. It runs until it is killed.

The one argument is JSON: what `Pipeline.job` returns, and ``master``.
"""

from __future__ import annotations

import json
import sys

from tests.exactly_once.sessions import session
from tests.exactly_once.windows import WindowPipeline


def main() -> None:
    job = json.loads(sys.argv[1])
    WindowPipeline.of(job, session(job)).start().awaitTermination()


if __name__ == "__main__":
    main()
