"""The changes of a PostgreSQL table, applied to a table of files: inserts, updates, deletes, moved keys.

    python examples/postgres_stream.py 'host=localhost user=postgres dbname=postgres' [local[2]]

The server needs ``wal_level = logical``. Every change comes once, in the order of commits, and a batch holds
whole transactions, so that the target is the table as it was at the end of one of them.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import psycopg
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

import headwater as hw


def apply(changes: DataFrame, target: Path, number: int) -> None:
    """Write the target anew: rows of keys that have not changed, and the last change of each other one."""
    spark = changes.sparkSession
    last = Window.partitionBy("id").orderBy(sf.desc("_lsn"), sf.desc("_seq"))
    newest = changes.withColumn("place", sf.row_number().over(last)).where("place = 1")
    rows = newest.where("_op <> 'd'").select("id", "item", "amount")
    before = target / str(number - 1)
    if before.exists():
        rows = rows.union(spark.read.parquet(str(before)).join(newest.select("id"), "id", "left_anti"))
    # A batch that is run again takes the place of its first run.
    rows.write.mode("overwrite").parquet(str(target / str(number)))


def main(spark: SparkSession, conninfo: str) -> list[tuple[Any, ...]]:
    """Change a table, and show what the target holds then."""
    with psycopg.connect(conninfo, autocommit=True) as shop:
        shop.execute("CREATE TABLE shop_orders (id int PRIMARY KEY, item text, amount numeric(10, 2))")
        folder = Path(tempfile.mkdtemp())

        def run() -> None:
            changes = hw.read_stream.postgres(
                spark,
                url=conninfo,
                table="shop_orders",
                slot="shop_orders",
                publication="shop_orders",
                create_publication=True,
                on_truncate="fail",
            )
            writer = changes.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
            query = writer.foreachBatch(lambda batch, number: apply(batch, folder / "orders", number))
            query.trigger(availableNow=True).start().awaitTermination()

        run()  # it makes the slot, from which on every change counts
        shop.execute("INSERT INTO shop_orders VALUES (1, 'tea', 3.50), (2, 'milk', 1.20), (3, 'salt', 0.90)")
        shop.execute("UPDATE shop_orders SET amount = 4.00 WHERE id = 1")
        run()
        with shop.transaction():
            shop.execute("UPDATE shop_orders SET id = 7 WHERE id = 2")
            shop.execute("DELETE FROM shop_orders WHERE id = 3")
        run()
        latest = max((folder / "orders").iterdir(), key=lambda each: int(each.name))
        orders = spark.read.parquet(str(latest)).orderBy("id")
        orders.show()
        shop.execute("SELECT pg_drop_replication_slot('shop_orders')")
        shop.execute("DROP PUBLICATION shop_orders")
        shop.execute("DROP TABLE shop_orders")
        return [tuple(row) for row in orders.collect()]


if __name__ == "__main__":
    master = sys.argv[2] if len(sys.argv) > 2 else "local[2]"
    main(SparkSession.builder.master(master).getOrCreate(), sys.argv[1])
