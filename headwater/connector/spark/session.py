"""A Spark that is set up for headwater: its settings, the environment, and a session with both.

The settings make headwater faster, and keep secrets out of Spark's plans; it is right without them.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headwater.connector.cpus import PARALLELISM_VARIABLE
from headwater.connector.program_arguments import checked_mapping, checked_text, misfit
from headwater.connector.readable import readable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    variables = {} if parallelism is None else {PARALLELISM_VARIABLE: str(parallelism)}
    scripts = Path(sysconfig.get_path("scripts"))
    python = scripts / "headwater-python"
    if not (python.is_file() and (scripts / "python3").exists()):
        return variables
    return {**variables, **dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), str(python))}


@readable
def configure(builder: SparkSession.Builder, *, parallelism: int | None = None) -> SparkSession.Builder:
    """Set a builder of a session up for headwater, and return it.

    ``hw.configure(SparkSession.builder.master("local[4]")).getOrCreate()``. It adds `recommended_conf` where
    the builder says nothing else, and sets the environment of this process: Spark's Python processes then
    start with the Python that runs this program. The environment is left alone where something else has
    chosen a Python (``PYSPARK_PYTHON``, ``PYSPARK_DRIVER_PYTHON``, ``spark-submit``), and for a master that
    is not ``local``: there the same path may be another Python, or none.

    Called on the driver, before Spark starts: a session that runs already keeps its settings.

    Args:
        builder: as the user made it.
        parallelism: how many tasks the cluster runs at once, as for `recommended_environment`.

    Raises:
        OptionError: this is no builder.
    """
    if not isinstance(getattr(builder, "_options", None), Mapping):
        hint = ": pass SparkSession.builder, before .getOrCreate()"
        raise misfit("builder", "a builder of a session", builder, hint)
    options = builder._options  # noqa: SLF001 - there is no public reader
    for name, value in recommended_conf().items():
        if name not in options:
            builder = builder.config(name, value)
    os.environ.update(_environment(options, parallelism))
    return builder


@readable
def session(
    name: str = "headwater",
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    parallelism: int | None = None,
) -> SparkSession:
    """Return a session of Spark that is set up for headwater: a new one, or the one that runs.

    Args:
        name: of the application.
        master: as in ``SparkSession.builder.master``; None for the one of ``spark-submit`` or Spark's files,
            else ``local[*]``.
        conf: other settings, by name.
        parallelism: how many tasks the cluster runs at once, as for `recommended_environment`.

    Raises:
        OptionError: an argument is of another type.
    """
    checked_text(name, "name")
    if master is not None:
        checked_text(master, "master")
    settings = checked_mapping(conf or {}, "conf")

    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return configure(builder, parallelism=parallelism).getOrCreate()


def _environment(options: Mapping[str, object], parallelism: int | None) -> dict[str, str]:
    environment = recommended_environment(parallelism=parallelism)
    pythons = {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"}
    settled = {*pythons, "PYSPARK_GATEWAY_PORT"} & os.environ.keys()
    is_local = str(options.get("spark.master", "local")).startswith("local")
    if settled or not is_local:
        return {name: value for name, value in environment.items() if name not in pythons}
    return {**dict.fromkeys(pythons, sys.executable), **environment}
