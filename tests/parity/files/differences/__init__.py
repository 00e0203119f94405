"""Every difference from Spark's own file readers that is meant, with its reason, by subject.

A test shows each one with `FilesParity.differs`, which fails when the difference is no more.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.tools.commands.kafka_differences import Difference
from tests.parity.files.differences import columnar, common, csv, json

__all__ = ["BY_SUBJECT", "FILES_DIFFERENCES"]

BY_SUBJECT: Mapping[str, Mapping[str, Difference]] = {
    "All formats": common.DIFFERENCES,
    "CSV": csv.DIFFERENCES,
    "JSON": json.DIFFERENCES,
    "Parquet, ORC, Avro, text, binaryFile": columnar.DIFFERENCES,
}
FILES_DIFFERENCES: Mapping[str, Difference] = {
    name: each for differences in BY_SUBJECT.values() for name, each in differences.items()
}
