"""Child splits: each folder is a split, found in the one above.

``python examples/folder_tree_source.py`` makes a tree of folders and lists its files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import headwater as hw


class FolderTree(hw.SimpleSource):
    """The files below a folder that does not change.

    Folders are read side by side, by as many tasks as there are.
    """

    name = "folder-tree"
    schema = pa.schema((("path", pa.string()), ("bytes", pa.int64())))
    OPTIONS = (
        hw.options.Option("root", hw.options.text, None, "The topmost folder.", required=True),
        hw.options.Option("pageFiles", hw.options.integer(1), 1_000, "How many names are taken at once."),
    )

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit(".")]

    def read(self, split: hw.NamedSplit, position: int) -> Generator[hw.Page, None, hw.Finished]:
        root = Path(self.options["root"])
        size = self.options["pageFiles"]
        names = sorted((root / split.name).iterdir())
        for first in range(position, len(names), size):
            page = names[first : first + size]
            files = [(str(name.relative_to(root)), name.stat().st_size) for name in page if name.is_file()]
            folders = [hw.NamedSplit(str(name.relative_to(root))) for name in page if name.is_dir()]
            yield hw.Page(files, first + len(page), folders)
        return hw.Finished()


def make_tree(root: Path, depth: int = 3) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for name in ("a", "b", "c"):
        (root / f"{name}.txt").write_text(name * depth)
        if depth > 1:
            make_tree(root / name, depth - 1)


def main(spark: SparkSession) -> None:
    root = Path(tempfile.mkdtemp()) / "tree"
    make_tree(root)
    hw.register(spark, FolderTree)
    files = spark.read.format("folder-tree").option("root", str(root)).load()
    print(f"{files.count()} files, {sum(row.bytes for row in files.select('bytes').collect())} bytes")


if __name__ == "__main__":
    main(hw.session("folder_tree_source", master="local[2]", conf={"spark.log.level": "ERROR"}))
