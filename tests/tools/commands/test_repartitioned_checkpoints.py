"""Checkpoints after Spark's own repartition of the state: queries go on, and every command takes them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headwater.tools.commands.main import main
from local_kafka import LocalKafka
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@pytest.mark.long
@pytest.mark.slow
def test_a_query_goes_on_after_a_repartition_and_all_commands_take_its_checkpoint(
    spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not hasattr(spark, "_streamingCheckpointManager"):
        pytest.skip("this Spark does not repartition state")
    kafka.create_topic(topic, 2)
    path = str(tmp_path / "checkpoint")
    counts: Counter[bytes] = Counter()
    options = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "subscribe": topic}

    def take(frame: DataFrame, _batch_id: int) -> None:
        counts.update({bytes(row[0]): row[1] - counts[bytes(row[0])] for row in frame.collect()})

    def run(source: str) -> None:
        kafka.produce(topic, [b"a", b"b", b"a"])
        reader = spark.readStream.format(source).options(**options, startingOffsets="earliest")
        if source == "headwater":
            reader = reader.options(source="kafka", targetBatchDuration="1s", checkpointLocation=path)
        writer = reader.load().groupBy("value").count().writeStream.outputMode("update").foreachBatch(take)
        running = writer.option("checkpointLocation", path).trigger(availableNow=True).start()
        assert running.awaitTermination(PATIENCE_S)

    def command(*arguments: str) -> str:
        assert main(["checkpoint", arguments[0], path, *arguments[1:]]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    provider = spark.conf.get(_PROVIDER) or ""
    spark.conf.set(_PROVIDER, _ROCKS_DB)
    try:
        run("headwater")
        last = max(int(file.name) for file in Path(path, "offsets").glob("[0-9]*"))
        spark._streamingCheckpointManager.repartition(path, 3)
        assert f"the next start plans batch {last + 2}" in command("show")
        assert f"{topic}-0" in command("positions")
        assert "+0" in command("diff", str(last), str(last + 1))
        command("skip", "--split", f"{topic}-0", "--to", "3")
        run("headwater")
        command("rewind", "--to-batch", str(last + 1))
        spark._streamingCheckpointManager.repartition(path, 2)
        command("convert", "--to", "spark-kafka")
        run("kafka")
        assert counts == {b"a": 6, b"b": 3}
        pairs = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
        assert main(["try", path, *pairs, "--rounds", "1", "--batches", "1"]) == 0
        spark._streamingCheckpointManager.repartition(path, 3)
        (Path(path, "commits") / str(max(int(f.name) for f in Path(path, "commits").glob("[0-9]*")))).unlink()
        assert main(["checkpoint", "convert", path, "--to", "headwater"]) == 1
        assert "is a repartition of the state by Spark that has not ended" in capsys.readouterr().err
    finally:
        spark.conf.set(_PROVIDER, provider)
