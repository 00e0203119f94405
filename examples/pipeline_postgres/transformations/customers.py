"""A table of PostgreSQL as AUTO CDC: the table as it is (SCD type 1), and what its rows were (SCD type 2)."""

from __future__ import annotations

from typing import Literal

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

spark = SparkSession.active()

DESCRIBES = ["_op", "_lsn", "_seq", "_xid", "_commit_ts", "_sync", "_unchanged"]
"""The columns that describe a change, and are none of the table."""


def follow(target: str, kind: Literal[1, 2]) -> None:
    """Make a table that the rows and then the changes are applied to."""

    # A slot has one reader, so each target has one of its own.
    @dp.temporary_view(name=f"changes_of_{target}")
    def changes() -> DataFrame:
        return (
            spark.readStream.format("headwater")
            .option("source", "postgres")
            .option("url", spark.conf.get("shop.url"))
            .option("table", spark.conf.get("shop.table"))
            .option("slot", f"{spark.conf.get('shop.slot')}_{kind}")
            .option("publication", spark.conf.get("shop.slot"))
            .option("createPublication", "true")
            .option("startingPosition", "initial")
            .option("stateLocation", spark.conf.get("shop.state"))
            .option("onTruncate", "fail")  # AUTO CDC has no word for it
            .load()
        )

    dp.create_streaming_table(target)
    dp.create_auto_cdc_flow(
        target=target,
        source=f"changes_of_{target}",
        keys=["id"],
        sequence_by=F.struct("_lsn", "_seq"),
        apply_as_deletes="_op = 'd'",
        except_column_list=DESCRIBES,
        stored_as_scd_type=kind,
    )


follow("customers", 1)
follow("customers_history", 2)
