"""The project of a source in barrier mode: nobody knows how far a split goes before it is read."""

from __future__ import annotations

from typing import Final

from headwater.tools.commands.projects.shared import LINES_TEST, Project

__all__ = ["BARRIER"]

_SOURCE: Final = '''\
"""The source $name: the lines of the logs in a folder, as they are written.

Replace the parts that read files by your own system.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO

import pyarrow as pa

import headwater as hw


class $cls(hw.SimpleSource):
    """A split is a file, a position is a byte: the one behind the last whole line.

    There is no ``head``, so an epoch ends at a barrier, and its positions go to ``stateLocation``.
    """

    name = "$name"
    schema = pa.schema((("file", pa.string()), ("line", pa.string())))
    OPTIONS = (hw.options.Option("folder", hw.options.text, None, "Where the logs are.", required=True),)

    def discover(self) -> list[hw.NamedSplit]:
        """Which splits are there now?"""
        return [hw.NamedSplit(file.name) for file in sorted(Path(self.options["folder"]).glob("*.log"))]

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        """Which rows are there from ``position`` on?

        The end means: nothing more now. Never wait here for more. ``stop`` is given where an epoch is read
        again: it must bring the same rows.
        """
        with Path(self.options["folder"], split.name).open("rb") as file:
            file.seek(position)
            lines = whole_lines(file, stop)
            while page := [(split.name, line.decode().rstrip("\\n")) for line in islice(lines, 10_000)]:
                yield hw.Page(page, file.tell())


def whole_lines(file: IO[bytes], stop: int | None) -> Iterator[bytes]:
    while stop is None or file.tell() < stop:
        line = file.readline()
        if not line.endswith(b"\\n"):
            return  # none, or its writer is not done
        yield line
'''

BARRIER: Final = Project(
    about="the lines of the logs in a folder, as they are written",
    mode="""\
It is in barrier mode: nobody says how far a split goes. A task reads on until a barrier (`barrierRows`,
`barrierBytes`, `barrierInterval`), and the positions there go to `stateLocation`, which driver and executors
reach.""",
    options='    .option("folder", "/data")\n    .option("stateLocation", "/state")',
    source=_SOURCE,
    test=LINES_TEST,
)
