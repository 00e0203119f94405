"""The options of the files source: Spark's names, defaults and meanings where Spark has them."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Final

from headwater.connector.options import OptionTable
from headwater.connector.planned.options import MIN_PARTITIONS, PARALLELISM
from headwater.connector.sources.files.discovery_options import DISCOVERY_OPTIONS, STORAGE_OPTIONS
from headwater.connector.sources.files.path_options import PATH_OPTIONS
from headwater.connector.sources.files.read_options import FORMAT, READ_OPTIONS

FILES_OPTIONS: Final = OptionTable(
    [
        FORMAT,
        *PATH_OPTIONS,
        *DISCOVERY_OPTIONS,
        *READ_OPTIONS,
        replace(PARALLELISM, shown_default="CPUs of the driver"),
        replace(MIN_PARTITIONS, help="Cut large files until a batch has about so many tasks."),
        STORAGE_OPTIONS,
    ]
)
"""The table that parses, and that `docs/files.md` shows."""


def render() -> str:
    """Return the table of the page ``docs/files.md``."""
    return FILES_OPTIONS.markdown()


if __name__ == "__main__":
    sys.stdout.write(render() + "\n")
