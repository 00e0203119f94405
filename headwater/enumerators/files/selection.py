"""The paths that are read, by ``path``, ``pathGlobFilter`` and ``recursiveFileLookup``.

Wildcards are those that Spark's users know from Hadoop: ``*``, ``?``, ``[a-z]``, ``[^a]``, ``{jpg,png}``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, takewhile
from typing import Final

SUMMARY_NAMES: Final = ("_common_metadata", "_metadata")
"""Files of Parquet that tell the columns of others, and are not read. To Spark, longer names are such too."""
_SAME_STORES: Final = {"s3a": "s3", "gcs": "gs", "abfss": "abfs"}
"""Second names of protocols, and the first ones."""
_WILDCARD = re.compile(r"[*?\[{]")
_TOKEN = re.compile(r"\\(?P<escaped>.)|\[(?P<negated>[!^]?)(?P<members>[^\]]+)\]|(?P<single>.)", re.DOTALL)
_OUTSIDE_BRACES = {"*": ".*", "?": ".", "{": "(?:"}
_INSIDE_BRACES = {**_OUTSIDE_BRACES, ",": "|", "}": ")"}


@dataclass(frozen=True)
class SelectedPath:
    """One path of the option ``path``: a file, a folder, or a pattern of them.

    Attributes:
        url: as the user wrote it, with or without a protocol, and without a slash at its end.
        recursive: whether all folders below are read; otherwise only those whose name is ``key=value``, with
            all that are in them.
        name_filter: a pattern that the names of files must match, or None.
        in_columns: whether the path lies in such a folder, so that all below are read.
        summaries: whether files whose names begin as `SUMMARY_NAMES` are taken too, for the columns that they
            tell.
    """

    url: str
    recursive: bool = False
    name_filter: str | None = None
    in_columns: bool = False
    summaries: bool = False

    @property
    def root(self) -> str:
        """The longest beginning without a wildcard: where a listing starts."""
        return "/".join(self._plain_names) or "/"

    @property
    def depth(self) -> int:
        """How many names the pattern has below `root`."""
        return len(self.patterns)

    def descends(self, names: Sequence[str]) -> bool:
        """Whether files may be read below this folder, given as names below `root`."""
        # The first names must match the patterns, as far as there are names; below them are open folders.
        matched = all(pattern.fullmatch(name) for pattern, name in zip(self.patterns, names, strict=False))
        return matched and not any(map(_is_hidden, names[self.depth :]))

    def takes(self, names: Sequence[str]) -> bool:
        """Whether this file is read, given as names below `root`.

        A root that is a file itself has none, and is read if its own name is.
        """
        return self.fits(names) and self.is_open(names)

    def fits(self, names: Sequence[str]) -> bool:
        """Whether this file would be read in a folder whose files are read."""
        if not names:
            name = self.root.rpartition("/")[2]
            return not _is_hidden(name) and (self._filter is None or bool(self._filter.fullmatch(name)))
        is_summary = self.summaries and names[-1].startswith(SUMMARY_NAMES)
        if len(names) < len(self.patterns) or (_is_hidden(names[-1]) and not is_summary):
            return False
        if self._filter is not None and not self._filter.fullmatch(names[-1]):
            return False
        # The last pattern may match a file as well as a folder of files.
        if len(names) == len(self.patterns) and not self.patterns[-1].fullmatch(names[-1]):
            return False
        return self.descends(names[:-1])

    def is_open(self, names: Sequence[str]) -> bool:
        """Whether the files in a file's folder are read."""
        folders = names[self.depth : -1]
        return not folders or self.recursive or self.in_columns or any("=" in name for name in folders)

    @cached_property
    def _plain_names(self) -> list[str]:
        return list(takewhile(lambda name: not _WILDCARD.search(name), self.url.split("/")))

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """The names below `root`, from the first one with a wildcard on."""
        names = self.url.split("/")
        return [compile_name(name) for name in names[len(self._plain_names) :]]

    @cached_property
    def _filter(self) -> re.Pattern[str] | None:
        return None if self.name_filter is None else compile_name(self.name_filter)


@dataclass(frozen=True, kw_only=True)
class FileSelection:
    """All files of a source.

    Attributes:
        paths: where they are.
        storage_options: for fsspec's file system, as the user gave them; may hold secrets, so they are not
            shown.
        modified_after_us: only files changed after this time (microseconds since 1970), or None.
        modified_before_us: only files changed before it, or None.
        unsure_us: times within these bounds may count or not: only a task knows the zone that decides it.
        min_age_ms: only files that have not been changed for so long: those that are still being written
            wait.
        base_path: the folder below which ``key=value`` folders are columns; None: the paths.
    """

    paths: tuple[SelectedPath, ...]
    storage_options: dict[str, object] = field(default_factory=dict, repr=False)
    modified_after_us: int | None = None
    modified_before_us: int | None = None
    unsure_us: tuple[tuple[int, int], ...] = ()
    min_age_ms: int = 0
    base_path: str | None = None

    @property
    def fingerprint(self) -> str:
        """A short text that is another one when other paths are read. In checkpoints: must stay as it is."""
        text = repr([(path.url, path.recursive, path.name_filter) for path in self.paths])
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def in_time(self, modified_us: int, now_us: int) -> bool:
        """Whether a file with this modification time is read.

        Args:
            modified_us: of the file.
            now_us: the present, by the clock of this machine.
        """
        if self.modified_after_us is not None and modified_us <= self.modified_after_us:
            return False
        if self.modified_before_us is not None and modified_us >= self.modified_before_us:
            return False
        # 0 is no limit: a file whose time is ahead of this machine's clock is read.
        return not self.min_age_ms or modified_us <= now_us - self.min_age_ms * 1000

    def is_unsure(self, modified_us: int) -> bool:
        """Whether only a task knows if a file with this modification time is read."""
        return any(start <= modified_us <= stop for start, stop in self.unsure_us)


def is_read(paths: Iterable[SelectedPath], url: str) -> bool:
    """Whether one of the paths selects a file, as far as its URL shows."""
    return any(
        path.takes(names)
        for path in paths
        if store_of(url) == store_of(path.root) and (names := names_below(url, path.root))
    )


def names_below(url: str, root: str) -> list[str]:
    """Return the names of a path below a folder of the same store; none if it is not there."""
    folder = _plain(root).rstrip("/") + "/"
    plain = _plain(url)
    return plain[len(folder) :].split("/") if plain.startswith(folder) else []


def _plain(url: str) -> str:
    """Return a URL without its protocol, in the one form that all spellings of a path share.

    ``s3a://b/x`` and ``s3://b/x`` are ``/b/x``; ``file:/x`` and ``/x`` are ``/x``.
    """
    if ":" not in url.partition("/")[0]:
        return url
    return re.sub(r"^[a-z0-9+.-]+:/*", "/", url).replace("//", "/")


def store_of(url: str) -> str:
    """Return the protocol of a path, by the first of its names; ``file`` where none is written."""
    protocol, separator, _ = url.partition("://")
    return _SAME_STORES.get(protocol, protocol) if separator else "file"


def alternatives(pattern: str) -> list[str]:
    """Return the paths that slashes in braces stand for: of ``{a/b,c}/d`` they are ``a/b/d`` and ``c/d``.

    Other braces stay.
    """
    depth = 0
    begin = 0
    commas: list[int] = []
    for at, char in enumerate(pattern):
        if at and pattern[at - 1] == "\\":
            continue
        if char == "{":
            if depth == 0:
                begin = at
                commas = []
            depth += 1
        elif char == "," and depth == 1:
            commas.append(at)
        elif char == "}" and depth:
            depth -= 1
            if depth == 0 and "/" in pattern[begin:at]:
                cuts = [begin, *commas, at]
                parts = [pattern[one + 1 : other] for one, other in pairwise(cuts)]
                paths = [pattern[:begin] + part + pattern[at + 1 :] for part in parts]
                return [each for path in paths for each in alternatives(path)]
    return [pattern]


def compile_name(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern for one name, to be used with ``fullmatch``.

    Raises:
        ValueError: a bracket or brace is not closed.
    """
    parts: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(pattern):
        char = token["single"]
        if char is None:
            parts.append(_escaped_or_bracket(token))
            continue
        if char == "[":
            raise ValueError(f"the pattern {pattern!r} has a [ that is not closed")
        special = _INSIDE_BRACES if depth else _OUTSIDE_BRACES
        parts.append(special.get(char, re.escape(char)))
        if char == "{":
            depth += 1
        elif char == "}" and depth:
            depth -= 1
    if depth:
        raise ValueError(f"the pattern {pattern!r} has a {{ that is not closed")
    return re.compile("".join(parts), re.DOTALL)


def _escaped_or_bracket(token: re.Match[str]) -> str:
    """Return the regular expression of a character after a backslash, or of a bracket."""
    if token["escaped"] is not None:
        return re.escape(token["escaped"])
    negation = "^" if token["negated"] else ""
    members = token["members"].replace("\\", r"\\")
    return f"[{negation}{members}]"


def _is_hidden(name: str) -> bool:
    """Whether a name is not read, by Spark's rule.

    These are written beside the data (``_SUCCESS``, ``.crc``), or are still being copied.
    """
    is_beside_data = name.startswith("_") and "=" not in name
    return is_beside_data or name.startswith(".") or name.endswith("._COPYING_")
