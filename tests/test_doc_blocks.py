"""What the pages in docs/ show of reading loads as printed: nothing is connected to until a query starts.

README, the page on Kafka, the tutorial and the walk through REST APIs have tests of their own, which read.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import headwater as hw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCS = Path(__file__).parent.parent / "docs"
PAGES = (
    "apply-changes",
    "batch-duration",
    "consumer-groups",
    "demo",
    "event-time",
    "files",
    "formats",
    "http",
    "hybrid",
    "kinesis",
    "mqtt",
    "nats",
    "rabbitmq",
    "redis",
    "state-location",
)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
BLOCKS = [
    pytest.param(code, id=f"{page}-{number}")
    for page in PAGES
    for number, code in enumerate(PYTHON.findall((DOCS / f"{page}.md").read_text()))
    if "load(" in code
]
FOLDERS = ("s3://lake/", "s3://bucket/", "/checkpoints/")


def test_each_page_has_a_block_that_loads() -> None:
    assert {str(block.id).rpartition("-")[0] for block in BLOCKS} == set(PAGES)


@pytest.mark.parametrize("code", BLOCKS)
def test_a_block_loads_a_stream(code: str, spark: SparkSession, tmp_path: Path) -> None:
    # The history of the chain, whose columns are looked up.
    (tmp_path / "orders").mkdir()
    order = {"id": 1, "at": datetime(2026, 1, 1, tzinfo=UTC), "amount": 1.5}
    parquet.write_table(pa.Table.from_pylist([order]), tmp_path / "orders" / "1.parquet")
    shown = re.sub("|".join(FOLDERS), f"{tmp_path}/", code)
    if shown.startswith("spark."):
        shown = f"frame = {shown}"
    names: dict[str, Any] = {"spark": spark, "hw": hw}
    exec(shown, names)
    frames = [value for value in names.values() if getattr(value, "isStreaming", False)]
    assert frames or spark.streams.active
    for query in spark.streams.active:
        query.stop()
