"""The jars of Spark's own Kafka source, which headwater is measured against."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pyspark

from benchmarks.bench import ROOT, BenchmarkError

__all__ = ["peer_jars"]

COORDINATES = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.0",
)
"""What Maven is asked for, without what these depend on: Spark has the rest."""

RESOLVE = """
import sys
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway
conf = SparkConf(loadDefaults=False)
conf.set("spark.jars.packages", sys.argv[1]).set("spark.jars.ivy", sys.argv[2])
launch_gateway(conf).shutdown()
"""


def peer_jars(folder: Path = ROOT / ".cache" / "peer") -> list[Path]:
    """Return the jars for ``spark.jars``; the first call downloads them.

    With Maven if there is one, else with Spark's own resolver.

    Raises:
        BenchmarkError: neither found them.
    """
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (_from_maven if shutil.which("mvn") else _from_spark)(folder)
        (folder / "complete").touch()
    return sorted(folder.glob("*.jar"))


def _from_maven(folder: Path) -> None:
    for artifact in COORDINATES:
        _run(["mvn", "-q", "-B", "dependency:get", "-Dtransitive=false", f"-Dartifact={artifact}"])
        _run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"])


def _from_spark(folder: Path) -> None:
    _run(
        [
            sys.executable,
            "-c",
            RESOLVE,
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}",
            str(folder / "ivy"),
        ]
    )
    for jar in (folder / "ivy" / "jars").glob("*.jar"):
        shutil.copy(jar, folder)
    if not list(folder.glob("*spark-sql-kafka*.jar")):
        raise BenchmarkError(
            f"Spark's resolver did not find spark-sql-kafka-0-10_2.13:{pyspark.__version__}; "
            "is Maven Central reachable?"
        )


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr)[-2000:]
        raise BenchmarkError(f"{' '.join(command[:4])} failed; is Maven Central reachable?\n{said}")
