"""What is compared: Spark's JVM source, headwater, and what bounds it; and the Spark that they run in."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

__all__ = [
    "CEILING",
    "EMPTY",
    "HEADWATER",
    "INFLATING_CEILING",
    "JVM",
    "read_batch",
    "read_stream",
    "spark_session",
]

JVM = "JVM source"
HEADWATER = "headwater"
CEILING = "ceiling"
INFLATING_CEILING = "ceiling that decompresses"
EMPTY = "empty Python source"
_FORMATS = {
    JVM: "kafka",
    HEADWATER: "headwater",
    CEILING: "headwater-ceiling",
    INFLATING_CEILING: "headwater-ceiling-inflating",
    EMPTY: "headwater-empty",
}


def spark_session(conf: Mapping[str, str], jars: Sequence[str] = ()) -> SparkSession:
    """Start a Spark with two cores in this process.

    Everything is at its default but where the log goes, and ``conf``.

    Args:
        conf: settings, for example `headwater.recommended_conf`.
        jars: of the JVM source.
    """
    from pyspark.sql import SparkSession

    time.tzset()
    builder = SparkSession.builder.master("local[2]").appName("headwater benchmarks")
    settings = {
        "spark.driver.memory": "4g",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **({"spark.jars": ",".join(jars)} if jars else {}),
        **conf,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def read_batch(
    spark: SparkSession,
    subject: str,
    bootstrap: str,
    topic: str,
    *,
    value_only: bool = False,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return a topic as a DataFrame; ``options`` are both subjects'.

    All seven columns, or the value alone, each subject in the way that its users would ask for that.
    """
    reader = (
        spark.read.format(_FORMATS[subject])
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .options(**(options or {}))
    )
    if subject == JVM:
        return reader.load().select("value") if value_only else reader.load()
    reader = reader.option("source", "kafka")
    return (reader.option("columns", "value") if value_only else reader).load()


def read_stream(
    spark: SparkSession,
    subject: str,
    bootstrap: str,
    topic: str,
    *,
    starting: str,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return a topic as a streaming DataFrame with all seven columns; ``options`` are both subjects'."""
    reader: DataStreamReader = (
        spark.readStream.format(_FORMATS[subject])
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
    )
    reader = reader.option("startingOffsets", starting).options(**(options or {}))
    return (reader if subject == JVM else reader.option("source", "kafka")).load()
