"""Which of the files that were listed are to be read."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from headwater.core.errors import SourceError
from headwater.enumerators.files.discovery import ListedFiles
from headwater.enumerators.files.seen import SeenFiles, Sighting
from headwater.enumerators.files.settings import FilesSettings
from headwater.enumerators.files.split import FileStatus

log = logging.getLogger(__name__)
_SHOWN = 5


def files_to_read(listed: ListedFiles, seen: SeenFiles, settings: FilesSettings) -> list[FileStatus]:
    """Return the files that were not read yet. Files that came too late are reported in the log.

    Args:
        listed: what the listing found.
        seen: what was read. A changed file that is ignored is remembered with its new content.
        settings: of the source.

    Raises:
        SourceError: the content of a file changed after it was read, and ``onChange`` is ``error``.
    """
    if not settings.remember:
        return list(listed.recent)
    to_read: list[FileStatus] = []
    too_late = list(listed.outside)
    for file in listed.recent:
        sighting = seen.sighting(file)
        if sighting is Sighting.NEW:
            to_read.append(file)
        elif sighting is Sighting.OUTSIDE:
            too_late.append(file)
        elif sighting is Sighting.CHANGED and _is_read_again(file, seen, settings):
            to_read.append(file)
    if too_late:
        _report(too_late, settings)
    return to_read


def _is_read_again(file: FileStatus, seen: SeenFiles, settings: FilesSettings) -> bool:
    """Whether a file whose content changed is read again."""
    if settings.on_change == "read":
        return True
    if settings.on_change == "ignore":
        log.warning("%s changed after it was read; what came later is not read", file.url)
        # From now on this is the content that was read, so that it is reported once.
        seen.replace(file)
        return False
    raise SourceError(
        "the file changed after it was read. Write new content under a new name, or set onChange to ignore "
        "(what came later is not read) or read (the whole file is read again)",
        source="files",
        split=file.url,
    )


def _report(too_late: Sequence[FileStatus], settings: FilesSettings) -> None:
    remembered = "the last files" if settings.store is None else "maxFileAge"
    shown = [file.url for file in too_late[:_SHOWN]]
    if len(too_late) > _SHOWN:
        shown.append("...")
    log.warning(
        "%d files arrived too late and are not read: they are older than what is remembered of %s: %s",
        len(too_late),
        remembered,
        ", ".join(shown),
    )
