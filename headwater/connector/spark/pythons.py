"""Which Python Spark starts for a driver: the most frequent reason why a first query fails.

Imported with the package on a driver, so it imports next to nothing, and starts nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from headwater.core.redaction import logger_of

log = logger_of(__name__)


def spark_pythons(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the commands with which Spark starts Python: first for planning, then for tasks, if they differ.

    Of ``org.apache.spark.api.python.PythonUtils.defaultPythonExec`` and of PySpark's ``SparkContext``.

    Args:
        environment: of the driver.
    """
    tasks = environment.get("PYSPARK_PYTHON") or "python3"
    planning = environment.get("PYSPARK_DRIVER_PYTHON") or tasks
    return (planning,) if planning == tasks else (planning, tasks)


def is_this_python(command: str) -> bool:
    """Whether a command starts a Python of this environment, as far as its path tells."""
    path = shutil.which(command)
    if path is None:
        return False
    if Path(path).absolute().parent == Path(sys.executable).absolute().parent:
        return True
    # An environment is known by its path alone: its Python is a link to one outside.
    return sys.prefix == sys.base_prefix and Path(path).resolve() == Path(sys.executable).resolve()


@cache
def warn_of_other_python() -> None:
    """Log a warning if the Spark of this process plans with a Python of another environment.

    Starts nothing. The first call counts, which comes after Spark has started. Silent where somebody has
    chosen a Python: the user, `headwater.session`, or ``spark-submit``.
    """
    if {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT"} & os.environ.keys():
        return
    command = spark_pythons(os.environ)[0]
    if not is_this_python(command):
        log.warning(
            "Spark starts its Python processes with %s, which is not the Python that runs this program: "
            "if headwater is not installed there, format('headwater') is not found. Set PYSPARK_PYTHON=%s "
            "before Spark starts, or make the session with hw.session()",
            shutil.which(command) or f"{command}, which is not on the path",
            sys.executable,
        )
