"""What Spark makes of the files source, beside its own readers.

Schema and rows in a batch, exactly once and cleaned up in a stream.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

import headwater as hw
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S

ROWS = """
    select id, concat('u', id) user, id / 4 amount, id % 2 = 0 ok, timestamp_seconds(id) ts,
           date_add(date'2024-01-01', int(id)) day
    from range(200)
"""
DDL = "id bigint, user string, amount double, ok boolean, ts timestamp, day date"


def load(spark: SparkSession, kind: str, path: Path, schema: str | None = None, **options: Any) -> DataFrame:
    reader = (
        spark.read.format("headwater").option("source", "files").option("format", kind).options(**options)
    )
    return (reader if schema is None else reader.schema(schema)).load(str(path))


@pytest.mark.slow
def test_batches_of_each_format_are_those_of_sparks_own_readers(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.sql(ROWS)
    for kind in ("parquet", "orc", "json", "csv"):
        rows.withColumn("part", rows.id % 3).repartition(2).write.partitionBy("part").format(kind).save(
            str(tmp_path / kind)
        )
        theirs = spark.read.schema(f"{DDL}, part int").format(kind).load(str(tmp_path / kind))
        ours = load(spark, kind, tmp_path / kind, f"{DDL}, part int")
        assert sorted(ours.collect()) == sorted(theirs.collect()), kind
    inferred = load(spark, "parquet", tmp_path / "parquet")
    assert sorted(inferred.dtypes) == sorted(spark.read.parquet(str(tmp_path / "parquet")).dtypes)
    rows.selectExpr("user as value").write.text(str(tmp_path / "text"), compression="gzip")
    assert sorted(load(spark, "text", tmp_path / "text").collect()) == sorted(
        spark.read.text(str(tmp_path / "text")).collect()
    )
    with_path = load(spark, "parquet", tmp_path / "parquet", columns="id,_metadata", includeMetadata="true")
    about = ["id", "_metadata.file_name", "_metadata.file_size", "_metadata.file_modification_time"]
    assert sorted(with_path.select(*about).collect()) == sorted(
        spark.read.parquet(str(tmp_path / "parquet")).select(*about).collect()
    )
    for wrong, said, with_metadata in (
        ("notes int not null", "NOT NULL", "false"),
        ("_metadata string", "must be struct<file_path:string", "true"),
    ):
        with pytest.raises(PySparkException, match=said):
            load(spark, "parquet", tmp_path / "parquet", wrong, includeMetadata=with_metadata).collect()


@pytest.mark.slow
def test_pushed_filters_leave_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(ROWS).repartition(2).write.parquet(str(tmp_path / "rows"))
    wanted = "id > 20 and user in ('u30', 'u31', 'u3') and ok and ts is not null and amount < 100"
    expected = sorted(spark.read.parquet(str(tmp_path / "rows")).where(wanted).collect())
    assert sorted(load(spark, "parquet", tmp_path / "rows").where(wanted).collect()) == expected
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        for push in ("true", "false"):
            assert (
                sorted(load(spark, "parquet", tmp_path / "rows", pushFilters=push).where(wanted).collect())
                == expected
            )
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.slow
def test_a_stream_reads_each_file_once_goes_on_after_a_restart_and_deletes_what_is_committed(
    spark: SparkSession, tmp_path: Path
) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()

    def drop(first: int) -> None:
        for number in range(first, first + 5):
            aside = tmp_path / "aside"
            aside.write_text("".join(f'{{"id":{number * 10 + row}}}\n' for row in range(10)))
            aside.rename(inbox / f"{number}.json")

    def run(**options: Any) -> list[int]:
        reader = (
            spark.readStream.format("headwater")
            .option("source", "files")
            .option("format", "json")
            .options(**options)
        )
        writer = reader.load(str(inbox)).writeStream.format("parquet").option("path", str(tmp_path / "out"))
        query = (
            writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        for progress in query.recentProgress:
            assert len(json.dumps(progress["sources"][0]["endOffset"])) < 65_536
        return [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]

    drop(0)
    assert run(maxFilesPerTrigger="2") == [20, 20, 10]
    drop(5)
    assert run(cleanSource="delete") == [50]
    assert {entry.name for entry in inbox.iterdir()} == {f"{number}.json" for number in range(4)}, (
        "the last batch before the restart, and the new one"
    )
    assert sorted(row.id for row in spark.read.parquet(str(tmp_path / "out")).collect()) == list(range(100))


@pytest.mark.slow
def test_a_stream_stops_for_new_columns_and_has_them_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()

    def drop(name: str, query: str) -> None:
        spark.sql(query).coalesce(1).write.parquet(str(tmp_path / name))
        (written,) = (tmp_path / name).glob("*.parquet")
        written.rename(inbox / f"{name}.parquet")

    def run() -> None:
        reader = spark.readStream.format("headwater").option("source", "files").option("format", "parquet")
        frame = reader.options(schemaName="orders", stateLocation=str(tmp_path / "state")).load(str(inbox))
        writer = frame.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    drop("one", "select 1 id")
    run()
    drop("two", "select 2 id, named_struct('x', 1.5) more, 'a' extra")
    with pytest.raises(
        PySparkException, match=r"columns that the schema does not have \(2\): more, extra"
    ) as told:
        run()
    assert "'orders' (option schemaName) has them now" in str(told.value)
    run()
    written = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "out"))
    assert [tuple(row) for row in written.selectExpr("id", "more.x", "extra").orderBy("id").collect()] == [
        (1, None, None),
        (2, 1.5, "a"),
    ]


@pytest.mark.slow
def test_a_stream_counts_late_files_and_stops_before_it_forgets_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    inbox = tmp_path / "in"
    inbox.mkdir()
    now_s = time.time()

    def drop(name: str, age_s: float) -> None:
        (tmp_path / "aside").write_text(f"{name}\n")
        os.utime(tmp_path / "aside", (now_s - age_s, now_s - age_s))
        (tmp_path / "aside").rename(inbox / name)

    def writer(**options: Any) -> DataStreamWriter:
        reader = spark.readStream.format("headwater").option("source", "files").option("format", "text")
        frame = reader.options(maxFileAge="1h", **options).load(str(inbox))
        made = frame.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        return made.option("checkpointLocation", str(tmp_path / "checkpoint"))

    lag = hw.LagListener()
    spark.streams.addListener(lag)
    drop("first", 10)
    query = writer().start()
    try:
        query.processAllAvailable()
        drop("late", 7_200)
        query.processAllAvailable()
        until(lambda: [each.lost_splits for each in lag.queries()] == [1], "the late file to be reported")
        (seen,) = lag.queries()
        assert [each["split"] for each in seen.lost_ranges] == [f"file://{inbox}/late"]
        assert query.lastProgress is not None
        for number in range(2_000):
            drop(f"n{number}", 5)
        # Not `processAllAvailable`, which does not wait for a listing that takes long.
        with pytest.raises(PySparkException, match=r"'stateLocation': is needed .* 2,001 files"):
            query.awaitTermination(PATIENCE_S)
    finally:
        query.stop()
        spark.streams.removeListener(lag)
    query = writer(stateLocation=str(tmp_path / "state")).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    found = sorted(row.value for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert found == sorted(["first", *(f"n{number}" for number in range(2_000))])
