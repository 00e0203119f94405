"""Queries of Spark's own sources, as users have them, and their checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.tools.commands.main import main
from headwater.tools.commands.offset_log import SOURCE_EVOLUTION
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparksQuery", "content"]


class SparksQuery:
    """A stream of one of Spark's own sources, with a checkpoint.

    Args:
        spark: the session.
        format: of the source.
        options: of the source.
        checkpoint: a folder.
        schema: of files.
        name: of the source, which makes the offset log one of version 2.
    """

    def __init__(
        self,
        spark: SparkSession,
        format: str,  # noqa: A002 - Spark's word
        options: Mapping[str, Any],
        checkpoint: Path,
        schema: str | None = None,
        *,
        name: str | None = None,
    ) -> None:
        self._name = name
        self._spark = spark
        self._format = format
        self._schema = schema
        self.options = {name: str(value) for name, value in options.items()}
        self.checkpoint = checkpoint

    def run(self) -> None:
        """Read all that is there, and end."""
        self._spark.conf.set(SOURCE_EVOLUTION, self._name is not None)
        try:
            reader: Any = self._spark.readStream.format(self._format).options(**self.options)
            if self._name is not None:
                reader = reader.name(self._name)
            stream = (reader if self._schema is None else reader.schema(self._schema)).load()
            writer = stream.writeStream.format("noop").option("checkpointLocation", str(self.checkpoint))
            running = writer.trigger(availableNow=True).start()
            assert running.awaitTermination(PATIENCE_S)
        finally:
            self._spark.conf.unset(SOURCE_EVOLUTION)

    def try_it(self, *more: str, **options: str) -> int:
        """Run ``headwater try`` on it in this process, and return its exit status."""
        given = {**self.options, **options}
        pairs = [part for name, value in given.items() for part in ("-o", f"{name}={value}")]
        return main(["try", str(self.checkpoint), "--rounds", "1", *pairs, *more])


def content(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the bytes and the times of all files of a folder."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }
