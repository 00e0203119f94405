"""The options on archiving or deleting files that were read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.core.options import Spec, one_of, option
from headwater.core.source import Boundedness
from headwater.enumerators.files.cleaner import CleanSource
from headwater.enumerators.files.selection import SelectedPath, names_below, store_of

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED


class CleaningOptions(Spec):
    """The treatment of files that were read, as the user says."""

    clean_source: str = option(
        "cleanSource",
        "What becomes of a file whose batch is committed.",
        default="off",
        parse=one_of("off", "archive", "delete"),
        only=_STREAM,
    )
    archive_dir: str | None = option(
        "sourceArchiveDir",
        "Where `cleanSource=archive` moves files, keeping their whole path below it. Nothing there is "
        "overwritten: another content of a path gets a number into its name (`daily.9f86d081.csv`).",
        default=None,
        only=_STREAM,
    )


CLEANING_OPTIONS: Final = CleaningOptions.options()
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
    cleaning = options.of(CleaningOptions)
    if cleaning.clean_source == "off":
        return None
    if cleaning.clean_source == "delete":
        return CleanSource(archive_dir=None, storage_options=storage)
    archive = cleaning.require("archive_dir", " for cleanSource=archive")
    if {store_of(archive)} != {store_of(root) for root in roots}:
        raise cleaning.refusal(
            "archive_dir", "must be on the file system of what is read: files are moved, not copied"
        )
    if any(names_below(f"{archive}/x", root) for root in roots):
        raise cleaning.refusal(
            "archive_dir",
            f"must not be below what is read ({', '.join(roots)}): archived files would be found again",
        )
    return CleanSource(archive_dir=archive, storage_options=storage)
