"""Drawn change logs, applied to a table; as a program for what needs settings before Spark starts."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import headwater as hw
from tests.connector.changes.change_logs import KEY, SCHEMA, TABLE, Change, ModelTable


def apply_drawn(spark: SparkSession, table: str, using: str, rng: random.Random, transactions: int) -> None:
    """Make a table, apply a drawn log to it, and compare it with the model's.

    Args:
        spark: the session.
        table: a name that is free.
        using: the end of ``CREATE TABLE``.
        rng: draws the log.
        transactions: how many of them.
    """
    model = _model(rng, transactions)
    spark.sql(f"CREATE TABLE {table} ({TABLE}) {using}")
    for batch in model.batches():
        hw.apply_changes(spark.createDataFrame(batch, SCHEMA), into=table, key=KEY)
    _compare(spark, table, model)


def stream_drawn(spark: SparkSession, table: str, using: str, rng: random.Random, folder: Path) -> None:
    """Do the same in the batches of a stream, with ``foreachBatch``."""
    model = _model(rng, 6)
    spark.sql(f"CREATE TABLE {table} ({TABLE}) {using}")
    for number, batch in enumerate(model.batches()):
        _write(folder / f"{number}.json", batch, number)
    changes = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))

    def merge(df: DataFrame, batch_id: int) -> None:
        hw.apply_changes(df, into=table, key=KEY)

    query = changes.writeStream.foreachBatch(merge).trigger(availableNow=True)
    query.option("checkpointLocation", f"{folder}.checkpoint").start().awaitTermination()
    _compare(spark, table, model)


def _model(rng: random.Random, transactions: int) -> ModelTable:
    model = ModelTable(rng)
    for _ in range(transactions):
        model.transaction()
    return model


def _write(path: Path, batch: list[Change], number: int) -> None:
    names = ("_unchanged", "note", "_op", "_lsn", "_seq", "_sync", "part", "id", "a.b")
    path.write_text("\n".join(json.dumps(dict(zip(names, change, strict=True))) for change in batch))
    os.utime(path, (number, number))  # files come in the order of their times


def _compare(spark: SparkSession, table: str, model: ModelTable) -> None:
    rows = sorted(map(tuple, spark.table(table).drop("_sync").collect()), key=repr)
    assert rows == model.expected(), f"{rows}, not {model.expected()}, by {model.log}"


def main(job: dict[str, Any]) -> None:
    """Apply drawn logs to tables of a namespace, by hand and in a stream."""
    builder = SparkSession.builder
    builder = builder.remote(job["remote"]) if job["remote"] else builder.master("local[2]")
    spark = builder.config(map=job["conf"]).getOrCreate()
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {job['namespace']}")
    rng = random.Random(job["seed"])
    for number in range(job["rounds"]):
        apply_drawn(spark, f"{job['namespace']}.by_hand{number}", job["using"], rng, 8)
    folder = Path(job["folder"], "changes")
    folder.mkdir()
    stream_drawn(spark, f"{job['namespace']}.streamed", job["using"], rng, folder)
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
