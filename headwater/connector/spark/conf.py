"""Settings that make headwater faster; none is needed for it to be right."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from headwater.connector.cpus import PARALLELISM_VARIABLE


def recommended_conf() -> dict[str, str]:
    """Return the settings that the measurements of docs/performance.md use.

    Pass each to ``SparkSession.builder.config(key, value)``.

    * ``spark.python.unix.domain.socket.enabled``: JVM and Python talk over Unix sockets, which cost less than
      TCP.
    * ``spark.buffer.size``: larger reads between JVM and Python.

    They are read when Spark starts; setting them on a running session changes nothing.
    """
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.buffer.size": str(1 << 20),
    }


def recommended_environment(*, parallelism: int | None = None) -> dict[str, str]:
    """Return environment variables that take some two seconds off the first batch after a cold start.

    ``os.environ.update(...)`` before Spark starts.

    With ``parallelism``, the number of tasks that the cluster runs at once, another one says that to all
    sources: it is the default of their option ``parallelism``. Spark tells a source nothing of it.

    The others make Spark start its Python processes with ``headwater-python``, which lies beside the Python
    that headwater was installed for: the same Python, but with PySpark from its folder instead of from
    ``pyspark.zip``, out of which every process compiles it anew. Where ``spark-submit`` starts the driver,
    set ``PYSPARK_PYTHON=headwater-python`` for it instead. On a cluster the file must lie at the same place
    on every executor.

    Without them where headwater was not installed as a package, for example with ``--py-files``.
    """
    known = {} if parallelism is None else {PARALLELISM_VARIABLE: str(parallelism)}
    scripts = Path(sysconfig.get_path("scripts"))
    python = scripts / "headwater-python"
    if not (python.is_file() and (scripts / "python3").exists()):
        return known
    return {**known, **dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), str(python))}
