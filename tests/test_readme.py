"""The code of README and of the page on Kafka runs as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.http_server import Api, serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from local_kafka import LocalKafka

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "kafka.md")
BLOCKS = [code for page in PAGES for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)]


def test_the_python_blocks_run_one_after_the_other(
    spark: SparkSession, kafka: LocalKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka.create_topic("orders", partitions=2)
    kafka.produce("orders", [b'{"order_id": 1, "product": "jam", "amount": 17.5}'] * 100)
    names: dict[str, Any] = {"__name__": "__main__", "spark": spark}
    api = Api(0, items=300, page=100)
    serving(api)
    here = {
        "localhost:9092": kafka.bootstrap_servers,
        "localhost:8420": f"127.0.0.1:{api.server_port}",
        "/tmp/orders": str(tmp_path),
    }
    for block in BLOCKS:
        exec(re.sub("|".join(here), lambda found: here[found[0]], block), names)
        if "query" in names:
            query = names.pop("query")
            query.processAllAvailable()
            assert sum(progress.numInputRows for progress in query.recentProgress), block
    for query in spark.streams.active:
        query.stop()
    api.shutdown()
    api.server_close()
    spark.streams.removeListener(names["lag"])
    said = capsys.readouterr().out
    assert "100" in said
    assert re.search(r"jam\| +1750\.0", said)
    assert spark.read.parquet(str(tmp_path / "rows")).count() == 100
