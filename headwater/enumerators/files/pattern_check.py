"""A pattern of a batch that matches nothing is an error, as in Spark: otherwise it would read nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headwater.core.errors import UnknownSplitError
from headwater.enumerators.files.filesystem import file_errors, open_file_system, status_url
from headwater.enumerators.files.listing import FileLister
from headwater.enumerators.files.selection import SelectedPath
from headwater.enumerators.files.split import FileStatus


@dataclass(frozen=True)
class MatchingLister(FileLister):
    """Lists a path with wildcards, which must match a file or a folder, if only an empty one.

    Attributes:
        lister: of the path.
        path: what it lists.
        storage_options: for the file system.
    """

    lister: FileLister
    path: SelectedPath
    storage_options: Mapping[str, object]

    def pages(self) -> Iterator[list[FileStatus]]:
        has_files = False
        for page in self.lister.pages():
            has_files = has_files or bool(page)
            yield page
        if not has_files and not self._has_match():
            raise UnknownSplitError(
                "no file and no folder matches this pattern", source="files", split=self.path.url
            )

    def _has_match(self) -> bool:
        fs, root = open_file_system(self.path.root, self.storage_options)
        found = [root.rstrip("/")]
        for pattern in self.path.patterns:
            below: list[str] = []
            for folder in found:
                with file_errors("listing", status_url(fs, folder)):
                    entries = fs.ls(folder, detail=False) if fs.isdir(folder) else []
                names = (entry.rstrip("/") for entry in entries)
                below += [name for name in names if pattern.fullmatch(name.rpartition("/")[2])]
            found = below
        return bool(found)
