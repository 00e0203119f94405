"""How many CPUs there are: the default of the option ``parallelism``."""

from __future__ import annotations

import os


def available_cpus() -> int:
    """Return how many CPUs this process may use.

    On the driver this is the best guess at how many tasks run at once: a source never sees Spark's
    configuration.
    """
    if hasattr(os, "sched_getaffinity"):
        # In a container these are fewer than the machine has.
        return len(os.sched_getaffinity(0))
    # MacOS has no affinity of processes.
    return os.cpu_count() or 1
