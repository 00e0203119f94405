"""Files that both readers read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.parity.files.files_parity import FilesParity


@pytest.fixture
def parity(spark: SparkSession, tmp_path: Path) -> FilesParity:
    """In place of the fixture of this name that compares sources of Kafka."""
    return FilesParity(spark, tmp_path)
