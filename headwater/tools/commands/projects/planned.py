"""The project of a source in planned mode: the end of a split is known before it is read."""

from __future__ import annotations

from typing import Final

from headwater.tools.commands.projects.shared import LINES_TEST, Project

__all__ = ["PLANNED"]

_SOURCE: Final = '''\
"""The source $name: the lines of the text files in a folder.

Replace the parts that read files by your own system.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

import headwater as hw


class $cls(hw.SimpleSource, hw.Heads):
    """A split is a file, a position is the number of a line.

    ``hw.Heads`` with ``head`` makes it planned: a batch is fixed before it is read.
    """

    name = "$name"
    schema = pa.schema((("file", pa.string()), ("line", pa.string())))
    OPTIONS = (hw.options.Option("folder", hw.options.text, None, "Where the files are.", required=True),)

    def discover(self) -> list[hw.NamedSplit]:
        """Which splits are there now?"""
        return [hw.NamedSplit(file.name) for file in sorted(Path(self.options["folder"]).glob("*.txt"))]

    def head(self, split: hw.NamedSplit) -> int:
        """Which position will the next record of this split have?"""
        return Path(self.options["folder"], split.name).read_bytes().count(b"\\n")

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        """Which rows are there from ``position`` to before ``stop``?"""
        with Path(self.options["folder"], split.name).open() as lines:
            rows = islice(lines, position, stop)
            while page := [(split.name, line.rstrip("\\n")) for line in islice(rows, 10_000)]:
                position += len(page)
                yield hw.Page(page, position)
'''

PLANNED: Final = Project(
    about="the lines of the text files in a folder",
    mode="It is in planned mode: `head` says how far a split goes, and a batch is fixed before it is read.",
    options='    .option("folder", "/data")',
    source=_SOURCE,
    test=LINES_TEST.replace(".log", ".txt"),
)
