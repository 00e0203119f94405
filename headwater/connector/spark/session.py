"""A Spark that is set up for headwater."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headwater.connector.program_arguments import checked_mapping, checked_text, misfit
from headwater.connector.readable import readable
from headwater.connector.spark.conf import recommended_conf, recommended_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@readable
def configure(builder: SparkSession.Builder, *, parallelism: int | None = None) -> SparkSession.Builder:
    """Set a builder of a session up for headwater, and return it.

    ``hw.configure(SparkSession.builder.master("local[4]")).getOrCreate()``. It adds `recommended_conf` where
    the builder says nothing else, and sets the environment of this process: Spark's Python processes then
    start with the Python that runs this program. The environment is left alone where something else has
    chosen a Python (``PYSPARK_PYTHON``, ``PYSPARK_DRIVER_PYTHON``, ``spark-submit``), and for a master that
    is not ``local``: there the same path may be another Python, or none.

    Called on the driver, before Spark starts: a session that runs already keeps what it has.

    Args:
        builder: as the user made it.
        parallelism: how many tasks the cluster runs at once, as for `recommended_environment`.

    Raises:
        OptionError: this is no builder.
    """
    if not isinstance(getattr(builder, "_options", None), Mapping):
        hint = ": pass SparkSession.builder, before .getOrCreate()"
        raise misfit("builder", "a builder of a session", builder, hint)
    given = builder._options  # noqa: SLF001 - there is no public reader
    for name, value in recommended_conf().items():
        if name not in given:
            builder = builder.config(name, value)
    os.environ.update(_environment(given, parallelism))
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
        master: as in ``SparkSession.builder.master``; None for what ``spark-submit`` or Spark's files say,
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
    wanted = recommended_environment(parallelism=parallelism)
    pythons = {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"}
    chosen = {*pythons, "PYSPARK_GATEWAY_PORT"} & os.environ.keys()
    is_local = str(options.get("spark.master", "local")).startswith("local")
    if chosen or not is_local:
        return {name: value for name, value in wanted.items() if name not in pythons}
    return {**dict.fromkeys(pythons, sys.executable), **wanted}
