"""The options on archiving or deleting files that were read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option, one_of, text
from headwater.core.source import Boundedness
from headwater.enumerators.files.cleaner import CleanSource
from headwater.enumerators.files.selection import SelectedPath, names_below, store_of

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED

_CLEAN_SOURCE: Final = Option(
    "cleanSource",
    one_of("off", "archive", "delete"),
    "off",
    "What becomes of a file whose batch is committed.",
    only=_STREAM,
)
_SOURCE_ARCHIVE_DIR: Final = Option(
    "sourceArchiveDir",
    text,
    None,
    "Where `cleanSource=archive` moves files, keeping their whole path below it. Nothing there is "
    "overwritten: another content of a path gets a number into its name (`daily.9f86d081.csv`).",
    only=_STREAM,
)

CLEANING_OPTIONS: Final = (_CLEAN_SOURCE, _SOURCE_ARCHIVE_DIR)
"""In the order in which the docs list them."""


def clean_source(
    options: ParsedOptions, paths: Sequence[SelectedPath], storage: dict[str, Any]
) -> CleanSource | None:
    """Return how files are cleaned whose batch is committed; None if they stay.

    Args:
        options: of a table with `CLEANING_OPTIONS`.
        paths: that are read.
        storage: for the file system.

    Raises:
        OptionError: there is no archive, or it lies where files cannot be moved.
    """
    roots = [path.root for path in paths]
    if options[_CLEAN_SOURCE] == "off":
        return None
    if options[_CLEAN_SOURCE] == "delete":
        return CleanSource(archive_dir=None, storage_options=storage)
    archive = options.require(_SOURCE_ARCHIVE_DIR, " for cleanSource=archive")
    if {store_of(archive)} != {store_of(root) for root in roots}:
        raise OptionError(
            "must be on the file system of what is read: files are moved, not copied",
            option=_SOURCE_ARCHIVE_DIR.name,
        )
    if any(names_below(f"{archive}/x", root) for root in roots):
        raise OptionError(
            f"must not be below what is read ({', '.join(roots)}): archived files would be found again",
            option=_SOURCE_ARCHIVE_DIR.name,
        )
    return CleanSource(archive_dir=archive, storage_options=storage)
