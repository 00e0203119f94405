"""Runs of a stream that end by themselves, with what they have written so far."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tests.patience import PATIENCE_S


def run_stream(
    spark: SparkSession, folder: Path, options: dict[str, str], value: str = "value"
) -> list[tuple[str, int]]:
    """Read what is new into files, in one run; return all rows of all runs in this folder.

    Args:
        spark: the session.
        folder: where checkpoint and files of the query are.
        options: of the source.
        value: an expression over its columns.

    Returns:
        The values as text, and their offsets, in the order of these.
    """

    def write(frame: DataFrame, batch: int) -> None:
        chosen = frame.selectExpr(f"cast({value} as string) as value", "offset")
        chosen.write.mode("overwrite").parquet(f"{folder}/out/{batch}")

    query = (
        spark.readStream.format("headwater")
        .options(startingOffsets="earliest", **options)
        .load()
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(PATIENCE_S)
    rows = spark.read.parquet(*(str(each) for each in folder.glob("out/*")))
    return [(row.value, row.offset) for row in rows.orderBy("offset").collect()]
