"""How many tasks run at once, as far as a source can know: the default of the option ``parallelism``."""

from __future__ import annotations

import os

from headwater.core.errors import OptionError

PARALLELISM_VARIABLE = "HEADWATER_PARALLELISM"


def available_cpus() -> int:
    """Return how many CPUs this process may use.

    On the driver this is a guess at how many tasks run at once, good on a single machine only.
    """
    if hasattr(os, "sched_getaffinity"):
        # In a container these are fewer than the machine has.
        return len(os.sched_getaffinity(0))
    # MacOS has no affinity of processes.
    return os.cpu_count() or 1


def known_parallelism() -> int | None:
    """Return how many tasks the cluster runs at once, if the environment of the driver says it.

    A source never sees Spark's configuration, but the processes in which it plans are children of the
    driver's JVM, and inherit variables that were set before that started.

    Raises:
        OptionError: the variable is no number of tasks.
    """
    raw = os.environ.get(PARALLELISM_VARIABLE)
    if not raw:
        return None
    if not raw.isdecimal() or int(raw) < 1:
        raise OptionError(
            f"the environment variable {PARALLELISM_VARIABLE} must be a whole number of at least 1, "
            f"not {raw!r}",
            option="parallelism",
        )
    return int(raw)
