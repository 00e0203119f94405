"""Settings of a Spark that has Delta Lake. Its last release is for Spark 4.2."""

from __future__ import annotations

import os
from typing import Any

import pyspark
import pytest

from spark_kafka_jars import spark_format_jar

JARS = ("io.delta:delta-spark_4.2_2.13:4.4.0", "io.delta:delta-storage:4.4.0")

needs_delta = pytest.mark.skipif(
    not pyspark.__version__.startswith("4.2."), reason="Delta 4.4.0 is for Spark 4.2"
)


def delta_settings(conf: dict[str, Any]) -> dict[str, str]:
    """Return the settings of a session that has Delta too. The first call downloads the jars."""
    jars = [conf["spark.driver.extraClassPath"], *(str(spark_format_jar(jar)) for jar in JARS)]
    return {
        "spark.driver.extraClassPath": os.pathsep.join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
