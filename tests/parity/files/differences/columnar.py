"""Differences from Spark's own readers that are meant: Parquet, ORC, Avro, text and binaryFile."""

from __future__ import annotations

from tests.parity.differences import Difference

__all__ = ["DIFFERENCES"]

DIFFERENCES: dict[str, Difference] = {}
