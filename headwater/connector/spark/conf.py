"""Settings that make headwater faster, and keep secrets out of Spark's plans; it is right without them."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Final

from headwater.connector.cpus import PARALLELISM_VARIABLE
from headwater.connector.program_arguments import misfit
from headwater.connector.readable import readable

_SECRET_OPTIONS: Final = (
    "apiKey",
    "header[.].*",
    "params",
    "oauthParams",
    "body",
    "tlsKey",
    "storageOptions",
    "kafka[.]ssl[.]keystore[.]key",
    ".*[.]basic[.]auth[.]user[.]info",
)
"""Options that may hold a secret, and whose names do not say so. In a chain a part's name stands in front."""


def recommended_conf() -> dict[str, str]:
    """Return the settings that the measurements of docs/performance.md use, and one that hides secrets.

    Pass each to ``SparkSession.builder.config(key, value)``.

    * ``spark.python.unix.domain.socket.enabled``: JVM and Python talk over Unix sockets, which cost less than
      TCP.
    * ``spark.buffer.size``: larger reads between JVM and Python.
    * ``spark.sql.redaction.options.regex``: Spark's plans show a stream's options as they were given. Spark
      hides those whose names or values speak of a secret, a password or a token. With this it hides the
      others too that may hold one, such as ``apiKey`` and ``header.Authorization``.

    The first two are read when Spark starts; setting them on a running session changes nothing.
    """
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.buffer.size": str(1 << 20),
        # "url" is Spark's own default.
        "spark.sql.redaction.options.regex": f"(?i)url|^(.*[.])?({'|'.join(_SECRET_OPTIONS)})$",
    }


@readable
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

    Raises:
        OptionError: ``parallelism`` is no number of tasks.
    """
    if parallelism is not None and (type(parallelism) is not int or parallelism < 1):
        raise misfit("parallelism", "a whole number of tasks", parallelism)
    known = {} if parallelism is None else {PARALLELISM_VARIABLE: str(parallelism)}
    scripts = Path(sysconfig.get_path("scripts"))
    python = scripts / "headwater-python"
    if not (python.is_file() and (scripts / "python3").exists()):
        return known
    return {**known, **dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), str(python))}
