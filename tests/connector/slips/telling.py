"""Does what a person did, through Spark or Spark Connect, and returns what that person is told."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headwater as hw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["answers"]


def answers(spark: SparkSession, slips: Path, folder: Path) -> str:
    """Return what is told of each slip in a file of JSON, without what each run has another one of.

    A slip has ``options``; perhaps a ``schema``, and whether it is a ``stream``; perhaps the ``text`` of the
    file at ``path``. What brings no error is done once more without that file.

    Args:
        spark: a session of either kind.
        slips: by their names.
        folder: what ``FOLDER`` in them stands for.
    """
    given = json.loads(slips.read_text())
    return "".join(f"{name}\n    {_told(spark, slip, folder)}\n" for name, slip in given.items())


def _told(spark: SparkSession, given: Mapping[str, Any], folder: Path) -> str:
    try:
        _query(spark, given, folder)
    except Exception as error:  # noqa: BLE001 - whatever Spark makes of it
        said = hw.explain(error).replace(str(folder), "FOLDER")
        said = re.sub(r"(\.py):\d+", r"\1:LINE", said)
        return re.sub(r"/\S+/python[\d.]*(?=\. Driver)", "PYTHON", said)
    return "nothing"


def _query(spark: SparkSession, given: Mapping[str, Any], folder: Path) -> None:
    options = {name: value.replace("FOLDER", str(folder)) for name, value in given["options"].items()}
    file = Path(options["path"]) if "text" in given else None
    if file is not None:
        file.write_text(given["text"])
    reader: Any = spark.readStream if given.get("stream") else spark.read
    reader = reader.format("headwater").options(**options)
    if "schema" in given:
        reader = reader.schema(given["schema"])
    frame = reader.load()
    if given.get("stream"):
        writer = frame.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        return
    frame.collect()
    if file is not None:
        # The plan is kept with the frame: its tasks look for the file again.
        file.unlink()
        frame.collect()
