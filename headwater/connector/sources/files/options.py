"""The options of the files source: Spark's names, defaults and meanings where Spark has them.

Here are those that say where files are, and the table of all.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from typing import Any, Final

from headwater.connector.options import OptionTable, ParsedOptions
from headwater.connector.planned.planning import PlanningHints
from headwater.connector.sources.files.discovery_options import DISCOVERY_OPTIONS, DiscoveryOptions
from headwater.connector.sources.files.read_options import FORMAT, READ_OPTIONS
from headwater.connector.sources.files.schema_options import DRIFT_OPTIONS
from headwater.core.errors import OptionError
from headwater.core.options import Option, boolean, integer, option, text
from headwater.core.source import Boundedness
from headwater.enumerators.files.selection import SelectedPath, alternatives, compile_name


def _paths(raw: str) -> tuple[str, ...]:
    """One path, or a JSON list of them."""
    if not raw.lstrip().startswith("["):
        return (text(raw),)
    try:
        paths = json.loads(raw)
    except ValueError as error:
        raise ValueError(f"begins with [ and is no JSON list: {error}") from None
    if not paths or not all(isinstance(path, str) and path for path in paths):
        raise ValueError(f"must be a path or a JSON list of paths, not {raw!r}")
    return tuple(paths)


def _pattern(raw: str) -> str:
    compile_name(text(raw))
    return text(raw)


_PATH: Final = Option(
    "path",
    _paths,
    None,
    "A file, a folder, or a pattern of them (`*`, `?`, `[a-z]`, `{a,b}`), on any file system of fsspec "
    "(`/data`, `s3://bucket/in`); or a JSON list of such paths. What `load(path)` sets. Required.",
    kind="paths",
    needed_in=tuple(Boundedness),
)
_PATHS: Final = Option("paths", _paths, None, "What `load([path, path])` sets: the same as a list in `path`.")
_BASE_PATH: Final[Option[str | None]] = Option(
    "basePath",
    text,
    None,
    "The folder below which `key=value` folders are columns.",
    shown_default="the paths; of a pattern what it matches",
)
_PATH_GLOB_FILTER: Final = Option(
    "pathGlobFilter", _pattern, None, "Only files whose name matches this pattern."
)
_RECURSIVE_FILE_LOOKUP: Final = Option(
    "recursiveFileLookup",
    boolean,
    False,
    "Whether files in all folders below are read; then no column comes from a folder. Otherwise only those "
    "that lie in a folder called `key=value`, at any depth, and those of the path itself.",
)


class FilesPlanningHints(PlanningHints):
    """How a batch is cut into tasks, in the words of files. A file is not cut by its rows."""

    parallelism: int | None = option(
        "parallelism",
        "How many tasks the cluster runs at once: a batch has no more, unless its bytes or `minPartitions` "
        "ask for more.",
        default=None,
        parse=integer(1),
        shown_default="`HEADWATER_PARALLELISM`, else CPUs of the driver",
    )
    min_tasks: int = option(
        "minPartitions",
        "Cut large files until a batch has about so many tasks.",
        default=1,
        parse=integer(1),
        shown_default="",
    )


_STORAGE: Final = DiscoveryOptions.OPTIONS["storage"].name

FILES_OPTIONS: Final = OptionTable(
    [
        FORMAT,
        _PATH,
        _PATHS,
        _BASE_PATH,
        _PATH_GLOB_FILTER,
        _RECURSIVE_FILE_LOOKUP,
        *DISCOVERY_OPTIONS,
        *DRIFT_OPTIONS,
        *READ_OPTIONS,
        FilesPlanningHints.OPTIONS["parallelism"],
        FilesPlanningHints.OPTIONS["min_tasks"],
    ],
    other_words={
        **dict.fromkeys(("delim", "fieldseparator", "separator"), "sep"),
        **dict.fromkeys(("dir", "directory", "file", "filename", "files", "folder", "location"), "path"),
        **dict.fromkeys(("fileformat", "filetype", "type"), "format"),
        **dict.fromkeys(("filter", "glob", "pattern"), "pathGlobFilter"),
        **dict.fromkeys(("firstrowheader", "skipheader"), "header"),
        **dict.fromkeys(("datetimeformat", "timeformat"), "timestampFormat"),
        **dict.fromkeys(
            ("anon", "aws_access_key_id", "aws_secret_access_key", "credentials", "endpoint_url", "key"),
            _STORAGE,
        ),
        **dict.fromkeys(("profile", "secret", "storage", "token"), _STORAGE),
        "infer": "inferSchema",
        "recursive": "recursiveFileLookup",
        "schema": ".schema(...)",
    },
)
"""The table that parses, and that `docs/files.md` shows."""


def base_path(options: ParsedOptions, paths: tuple[SelectedPath, ...]) -> str | None:
    """Return the folder below which folders are columns, if the user gave one.

    Raises:
        OptionError: a path is not below it.
    """
    raw = options[_BASE_PATH]
    if raw is None:
        return None
    base = _absolute(raw, _BASE_PATH)
    outside = [path.url for path in paths if not f"{path.url}/".startswith(f"{base.rstrip('/')}/")]
    if outside:
        raise OptionError(f"is {base}, and {outside[0]} is not below it", option=_BASE_PATH.name)
    return base


def selected_paths(options: ParsedOptions) -> tuple[SelectedPath, ...]:
    """Return the paths that are read.

    Raises:
        OptionError: no path, one that comes twice, or an invalid pattern.
    """
    paths = (*_selected(options, _PATH), *_selected(options, _PATHS))
    if not paths:
        raise OptionError("is required: .load('/data/in') or .option('path', ...)", option=_PATH.name)
    repeated = [url for url, count in Counter(path.url for path in paths).items() if count > 1]
    if repeated:
        raise OptionError(
            f"names {repeated[0]} more than once: Spark would read its files as often, and here each file is "
            "read once. Name it once; to have its rows twice, use union",
            option=_PATH.name,
        )
    return paths


def _selected(options: ParsedOptions, option: Option[tuple[str, ...] | None]) -> tuple[SelectedPath, ...]:
    given_base = options[_BASE_PATH]
    base = None if given_base is None else _absolute(given_base, _BASE_PATH)
    paths = tuple(
        SelectedPath(
            path,
            recursive=options[_RECURSIVE_FILE_LOOKUP],
            name_filter=options[_PATH_GLOB_FILTER],
            in_columns=base is not None and "=" in path.removeprefix(base),
        )
        for raw in options[option] or ()
        for path in alternatives(_absolute(raw, option))
    )
    for path in paths:
        try:
            # Compiles the pattern.
            path.takes(["any"])
        except ValueError as error:
            raise OptionError(str(error), option=option.name) from error
    return paths


def _absolute(path: str, option: Option[Any]) -> str:
    """Return a path that means the same in every process, without a slash at its end.

    Raises:
        OptionError: it holds a password: offsets and the column of file names would show it.
    """
    if re.match(r"[^/]*://[^/@]*:[^/]*@", path):
        hint = """storageOptions='{"username": "...", "password": "..."}'"""
        raise OptionError(
            f"has a password, which checkpoints would keep: give it by {hint}", option=option.name
        )
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", path):
        return path.rstrip("/") if not path.endswith("://") else path
    # Pathlib would drop parts of a pattern.
    return os.path.abspath(path.removeprefix("file:"))  # noqa: PTH100
