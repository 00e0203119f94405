"""The Spark of a program that tests start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

__all__ = ["session"]


def session(job: Mapping[str, Any]) -> SparkSession:
    """Start it with the settings ``conf`` of a job, and with its ``master``, where it has one."""
    builder = SparkSession.builder.master(job.get("master", "local[2]")).appName("headwater test driver")
    return builder.config(map=job["conf"]).getOrCreate()
