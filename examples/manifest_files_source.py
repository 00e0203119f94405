"""An enumerator of one's own before the shipped reader of files: a manifest says which files count, in order.

``python examples/manifest_files_source.py`` writes files, names some of them in a manifest, and reads these.

Options of ``source=files`` that say how files are read count as they do there: ``format``, ``header``,
``badRecordsPath`` and so on. Which files are read, and when, says the manifest.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import headwater as hw
from headwater.contracts import FileSplit, FileStatus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ManifestEnumerator(hw.contracts.PlannedSplitEnumerator[FileSplit, int]):
    """Each line of the manifest is a file, which is read once and whole.

    Its state is how many lines it took.
    """

    def __init__(
        self,
        context: hw.contracts.PlannedSplitEnumeratorContext[FileSplit, int],
        manifest: str,
        most: int,
        taken: int = 0,
    ) -> None:
        self._context = context
        self._manifest = Path(manifest)
        self._most = most
        self._taken = taken
        self._last: int | None = None
        self._files: list[FileStatus] = []
        self._live: dict[hw.contracts.SplitPath, FileSplit] = {}
        self._read: list[hw.contracts.SplitPath] = []

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: hw.contracts.Checkpoint[FileSplit, int] | None) -> None:
        self._live = dict(checkpoint.splits) if checkpoint else {}
        positions = checkpoint.positions if checkpoint else {}
        self._read = [path for path, split in self._live.items() if positions[path] >= split.file.size_bytes]
        self._context.call_async(self._listed, self._found, what=f"the files of {self._manifest}")

    def handle_split_request(self, request: hw.contracts.SplitRequest) -> None:
        """Assign the next files, and let those go that the checkpoint has read."""
        self._context.retire_splits(self._read, "read to the end")
        if request.ends and self._last is None:
            self._last = len(self._files)
        stop = len(self._files) if self._last is None else self._last
        if request.limited:
            stop = min(stop, self._taken + self._most)
        # Numbers of equal width: the offset holds files in the order of their numbers.
        new = [FileSplit(f"{number:09}", self._files[number]) for number in range(self._taken, stop)]
        self._context.assign_splits({split.path: (split, 0) for split in new})
        self._live.update((split.path, split) for split in new)
        self._taken += len(new)

    def heads(self) -> Mapping[hw.contracts.SplitPath, int]:
        return {path: split.file.size_bytes for path, split in self._live.items()}

    def snapshot_state(self) -> hw.contracts.JsonValue:
        return {"taken": self._taken}

    def add_splits_back(self, splits: Sequence[FileSplit]) -> None:
        self._taken = min([self._taken, *(int(split.number) for split in splits)])

    def _listed(self) -> list[FileStatus]:
        files = [self._manifest.parent / line for line in self._manifest.read_text().splitlines()]
        found = [(file, file.stat()) for file in files]
        return [FileStatus(str(file), stat.st_size, stat.st_mtime_ns // 1_000) for file, stat in found]

    def _found(self, files: list[FileStatus]) -> None:
        self._files = files


class ManifestFiles(hw.contracts.FilesSource):
    """The files of a manifest."""

    name = "manifest-files"
    OPTIONS = (
        hw.options.Option("manifest", hw.options.text, None, "Has a file on each line.", required=True),
        hw.options.Option("filesPerBatch", hw.options.integer(1), 1_000, "The most files of a batch."),
    )

    def create_enumerator(
        self, context: hw.contracts.PlannedSplitEnumeratorContext[FileSplit, int]
    ) -> ManifestEnumerator:
        return ManifestEnumerator(context, self.options["manifest"], self.options["filesPerBatch"])

    def restore_enumerator(
        self,
        context: hw.contracts.PlannedSplitEnumeratorContext[FileSplit, int],
        checkpoint: hw.contracts.Checkpoint[FileSplit, int],
    ) -> ManifestEnumerator:
        taken = cast("dict[str, int]", checkpoint.state)["taken"]
        return ManifestEnumerator(context, self.options["manifest"], self.options["filesPerBatch"], taken)


def write_files(folder: Path, first: int, stop: int) -> None:
    for number in range(first, stop):
        (folder / f"{number}.csv").write_text(f"{number},a\n{number},b\n")


def publish(folder: Path, *numbers: int) -> None:
    """Name files in the manifest, at its end."""
    with (folder / "MANIFEST").open("a") as manifest:
        manifest.writelines(f"{number}.csv\n" for number in numbers)


def main(spark: SparkSession) -> None:
    folder = Path(tempfile.mkdtemp())
    hw.register(spark, ManifestFiles)
    write_files(folder, 0, 9)
    for numbers in ((3, 1), (7,)):
        publish(folder, *numbers)
        rows = (
            spark.readStream.format("manifest-files")
            .options(manifest=f"{folder}/MANIFEST", format="csv", filesPerBatch=1)
            .schema("number int, letter string")
            .load(str(folder))
        )
        writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
        writer.trigger(availableNow=True).start(f"{folder}/rows").awaitTermination()
        found = spark.read.parquet(f"{folder}/rows").select("number").distinct().sort("number").collect()
        print("files", *(row.number for row in found))


if __name__ == "__main__":
    main(hw.session("manifest_files_source", master="local[2]", conf={"spark.log.level": "ERROR"}))
