"""Classes of Spark, loaded and verified once for all the Sparks that tests start: Java's class data sharing.

A Spark and its first query take 20 s of processor time, 12 s with the quick compiler alone, 7 s with the
archive too. An archive belongs to one Java, one Spark and one class path.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyspark

from local_kafka_jars import LocalKafkaError, cache_dir, java_release, locked
from spark_kafka_jars import AVRO, catalog_jar, spark_format_jar, spark_kafka_jars

__all__ = ["QUICK", "jars", "jvm_options", "make_archive"]

QUICK = "-Xss4m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.timezone=UTC"
"""A test ends long before the optimising compiler has paid off."""

TYPICAL = """
import sys
from pyspark.sql import SparkSession

folder, class_path, options = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.extraClassPath", class_path)
    .config("spark.driver.extraJavaOptions", options)
    .config("spark.log.level", "ERROR")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
columns = ["id", "cast(id as string) as name", "current_timestamp() as at", "array(id) as ids"]
rows = spark.range(10).selectExpr(*columns)
for kind in ("parquet", "json", "csv"):
    columns = rows.drop("ids") if kind == "csv" else rows
    columns.write.format(kind).save(f"{folder}/{kind}")
    spark.read.format(kind).schema(columns.schema).load(f"{folder}/{kind}").groupBy("name").count().collect()
spark.createDataFrame([(1, "a")], "id long, name string").join(rows, "id").orderBy("at").collect()
rows.mapInArrow(lambda batches: batches, rows.schema).toPandas()
stream = spark.readStream.schema(rows.schema).format("json").load(f"{folder}/json")
counts = stream.withWatermark("at", "1 second").groupBy("at", "name").count()
for number, (frame, sink) in enumerate([(stream, "parquet"), (counts, "parquet")]):
    query = frame.writeStream.format(sink).trigger(availableNow=True)
    query = query.option("checkpointLocation", f"{folder}/c{number}").start(f"{folder}/s{number}")
    query.awaitTermination()
query = stream.writeStream.foreachBatch(lambda batch, _: batch.collect()).trigger(availableNow=True)
query.start().awaitTermination()
spark.stop()
"""


def jars() -> list[Path]:
    """Return the jars that tests add to Spark: its own Kafka source, ``from_avro``, and tables with MERGE."""
    return [*spark_kafka_jars(), spark_format_jar(AVRO), catalog_jar()]


def jvm_options(added: Sequence[Path] = ()) -> str:
    """Return the options of a JVM with these jars before Spark's own: quick to start.

    Without an archive they leave it out: the JVM would give up its default one too.
    """
    archive = _path(tuple(added))
    return f"{QUICK} -XX:SharedArchiveFile={archive} -Xlog:cds*=off" if archive.exists() else QUICK


def make_archive(added: Sequence[Path] = ()) -> Path:
    """Return the archive for this class path; the first call makes it, by running typical queries.

    Raises:
        LocalKafkaError: Spark failed.
    """
    archive = _path(tuple(added))
    if not archive.exists():
        with locked():
            if not archive.exists():
                _record(archive, added)
    return archive


def _record(archive: Path, added: Sequence[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recorded = Path(folder, "archive")
        options = f"{QUICK} -XX:ArchiveClassesAtExit={recorded} -Xlog:cds*=off"
        command = [sys.executable, "-c", TYPICAL, folder, os.pathsep.join(map(str, added)), options]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode or not recorded.exists():
            raise LocalKafkaError(
                f"no archive of Spark's classes was made:\n{(done.stdout + done.stderr)[-2000:]}"
            )
        recorded.replace(archive)


def _path(added: tuple[Path, ...]) -> Path:
    key = hashlib.sha256(
        repr((java_release(), str(Path(pyspark.__file__).resolve()), added)).encode()
    ).hexdigest()[:12]
    return cache_dir() / f"spark-classes-{pyspark.__version__}-{key}.jsa"


if __name__ == "__main__":
    print(make_archive(), make_archive(jars()), sep="\n")
