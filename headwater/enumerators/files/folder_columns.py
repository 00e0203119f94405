"""Columns that come from ``key=value`` folders: which folders of a file's path they are, by Spark's rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from headwater.core.errors import SourceError
from headwater.enumerators.files.selection import SelectedPath, names_below


@dataclass(frozen=True)
class FolderColumns:
    """Finds the columns in the paths of files.

    Attributes:
        paths: those of the user; folders below them count.
        base_path: the folder below which they count instead; None for the paths.
    """

    paths: tuple[SelectedPath, ...]
    base_path: str | None = None

    def values_of(self, url: str) -> Mapping[str, str]:
        """Return the raw values of a file's columns, in their order; the last of a key counts."""
        return dict(_key_and_value(name) for name in self._column_folders(url)[1])

    def check(self, urls: Iterable[str]) -> None:
        """Prove that files which are read together have the same columns, all below one folder.

        Raises:
            SourceError: they have not, or a folder lacks its key or its value.
        """
        if any(path.recursive for path in self.paths):
            return
        # A file of each folder speaks for the others.
        folders = [self._column_folders(url) for url in {_folder(url): url for url in urls}.values()]
        for name in {name for _, names in folders for name in names}:
            _check_name(name)
        for _, names in folders:
            keys = {_key(name) for name in names}
            if len({key.lower() for key in keys}) < len(keys):
                raise SourceError(
                    f"the folders {'/'.join(names)} are called alike but for case: that is one column here",
                    source="files",
                )
        columns = {", ".join(map(_key, names)).lower() for _, names in folders if names}
        if len(columns) > 1:
            raise SourceError(
                f"files lie in folders of other columns: {' and '.join(sorted(columns))}; all must have the "
                "same ones",
                source="files",
            )
        bases = {base.lower(): base for base, _ in folders}
        if columns and len(bases) > 1:
            examples = " and ".join(sorted(bases.values())[:5])
            raise SourceError(
                f"files lie in key=value folders below one folder, and elsewhere: {examples}. Read each "
                "of these with its own source, or set recursiveFileLookup=true, which makes columns of none",
                source="files",
            )

    def _column_folders(self, url: str) -> tuple[str, Sequence[str]]:
        """Return the folder below which a file's columns begin, and the folders that are columns.

        These are the lowest of them that follow each other: above another folder none counts.
        """
        names = self._folders_of(url)
        stop = next((at for at in range(len(names), 0, -1) if "=" in names[at - 1]), 0)
        start = next((at for at in range(stop, 0, -1) if "=" not in names[at - 1]), 0)
        if not stop:
            return _folder(url), ()
        above = _folder(url).split("/")[: start - len(names)]
        return "/".join(above), names[start:stop]

    def _folders_of(self, url: str) -> Sequence[str]:
        """Return the names of the folders above a file that may be columns."""
        if any(path.recursive for path in self.paths):
            return ()
        if self.base_path is not None:
            return names_below(url, self.base_path)[:-1]
        # Of a pattern, folders count below what it matches.
        candidates = [names_below(url, path.root)[path.depth : -1] for path in self.paths]
        return min((names for names in candidates if names), key=len, default=())


def unescaped(text: str) -> str:
    """Return a key or value as it was before Hive wrote it into a name: each escape is one character."""
    return unquote(text, encoding="latin-1")


def _key_and_value(name: str) -> tuple[str, str]:
    key, _, value = name.partition("=")
    return unescaped(key), value


def _key(name: str) -> str:
    return _key_and_value(name)[0]


def _check_name(name: str) -> None:
    key, value = _key_and_value(name)
    if not key:
        raise SourceError(f"a folder {name} has no name of a column before the =", source="files")
    if not value:
        raise SourceError(f"a folder {name} has no value", source="files")


def _folder(url: str) -> str:
    return url.rpartition("/")[0]
