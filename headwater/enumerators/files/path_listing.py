"""Which files one listing of a path takes, and what it refuses: folders that are columns beside others."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.errors import SourceError
from headwater.enumerators.files.selection import SelectedPath


class PathListing:
    """Looks at each file that a listing finds. One for each listing; used by its thread.

    Args:
        path: what is listed.
    """

    def __init__(self, path: SelectedPath) -> None:
        self._path = path
        # The first file in `key=value` folders, and the first one that is left out for its folder.
        self._in_columns: Sequence[str] | None = None
        self._left_out: Sequence[str] | None = None

    def takes(self, names: Sequence[str]) -> bool:
        """Return whether a file is read, given as names below the path's root.

        Raises:
            SourceError: there are files in folders that are columns, and others in folders that are not.
                Spark refuses these too; without the former it leaves the latter out.
        """
        if not self._path.fits(names):
            return False
        is_open = self._path.is_open(names)
        if not is_open:
            self._left_out = self._left_out or names
        elif self._in_columns is None and any("=" in name for name in names[self._path.depth : -1]):
            self._in_columns = names
        if self._in_columns is not None and self._left_out is not None:
            root = self._path.root
            raise SourceError(
                f"files lie in key=value folders, and elsewhere: {root}/{'/'.join(self._in_columns)} and "
                f"{root}/{'/'.join(self._left_out)}. Read each of these with its own source, or set "
                "recursiveFileLookup=true, which makes columns of none",
                source="files",
            )
        return is_open
