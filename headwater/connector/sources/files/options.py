"""The options of the files source: Spark's names, defaults and meanings where Spark has them."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headwater.connector.options import (
    Option,
    OptionTable,
    boolean,
    duration_ms,
    integer,
    json_object,
    names,
    one_of,
    text,
)
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.enumerators.files.patterns import compile_name
from headwater.enumerators.files.selection import SelectedPath
from headwater.readers.files.formats import FORMATS

__all__ = ["FILES_OPTIONS", "default_parallelism", "render", "selected_paths"]

_STREAM, _BATCH = Boundedness.CONTINUOUS_UNBOUNDED, Boundedness.BOUNDED


def _paths(raw: str) -> tuple[str, ...]:
    """One path, or a JSON list of them."""
    if not raw.lstrip().startswith("["):
        return (text(raw),)
    try:
        found = json.loads(raw)
    except ValueError as error:
        raise ValueError(f"begins with [ and is no JSON list: {error}") from None
    if not found or not all(isinstance(path, str) and path for path in found):
        raise ValueError(f"must be a path or a JSON list of paths, not {raw!r}")
    return tuple(found)


def _pattern(raw: str) -> str:
    compile_name(text(raw))
    return text(raw)


def _one_character(raw: str) -> str:
    found = {"\\t": "\t"}.get(raw, raw)
    if len(found) != 1:
        raise ValueError(f"must be one character, not {raw!r}")
    return found


def _one_or_none(raw: str) -> str | None:
    return _one_character(raw) if raw else None


def _time_us(raw: str) -> int:
    """A time as Spark writes it, ``2024-06-01T13:00:00``, in UTC unless it names a zone."""
    try:
        found = datetime.fromisoformat(raw.strip())
    except ValueError:
        raise ValueError(f"must be a time such as 2024-06-01T13:00:00, not {raw!r}") from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1_000_000)


FILES_OPTIONS = OptionTable(
    [
        Option(
            "format",
            one_of(*FORMATS),
            None,
            f"What the files are: {', '.join(f'`{name}`' for name in sorted(FORMATS))}. Required.",
        ),
        Option(
            "path",
            _paths,
            None,
            "A file, a folder, or a pattern of them (`*`, `?`, `[a-z]`, `{a,b}`), on any file system of fsspec (`/data`, `s3://bucket/in`); or a "
            "JSON list of such paths. What `load(path)` sets. Required.",
        ),
        Option("paths", _paths, None, "What `load([path, path])` sets: the same as a list in `path`."),
        Option("pathGlobFilter", _pattern, None, "Only files whose name matches this pattern."),
        Option(
            "recursiveFileLookup",
            boolean,
            False,
            "Whether files in all folders below are read; then no column comes from a folder. Otherwise only folders called `key=value` are looked "
            "into.",
        ),
        Option(
            "modifiedAfter",
            _time_us,
            None,
            "Only files changed after this time (`2024-06-01T13:00:00`, UTC).",
            _BATCH,
        ),
        Option("modifiedBefore", _time_us, None, "Only files changed before this time.", _BATCH),
        Option(
            "minFileAge",
            duration_ms,
            0,
            "Only files that have not been changed for so long: for writers that do not move whole files into place. By the driver's clock.",
            shown_default="`0`",
        ),
        Option(
            "maxFilesPerTrigger",
            integer(1),
            None,
            "No batch has more files than this. Not together with the next one.",
            _STREAM,
        ),
        Option(
            "maxBytesPerTrigger",
            integer(1),
            None,
            "No batch has more bytes of files than this, but always one file.",
            _STREAM,
        ),
        Option(
            "latestFirst",
            boolean,
            False,
            "Newest files first. Refused if more files wait than can be remembered by name.",
            _STREAM,
        ),
        Option(
            "maxFileAge",
            duration_ms,
            7 * 24 * 3600 * 1000,
            "The window in which late files are found: one that arrives with a modification time so much older than the newest one is reported and "
            "not read. Does not count for files that are there when a query begins.",
            _STREAM,
            "`7d`",
        ),
        Option(
            "onChange",
            one_of("error", "ignore", "read"),
            "error",
            "What to do with a file that was read and has another content now: fail, go on without the new content, or read the whole file again. A "
            "file that is older than what is remembered counts as new.",
            _STREAM,
        ),
        Option(
            "cleanSource",
            one_of("off", "archive", "delete"),
            "off",
            "What becomes of a file whose batch is committed.",
            _STREAM,
        ),
        Option(
            "sourceArchiveDir",
            text,
            None,
            "Where `cleanSource=archive` moves files, keeping their whole path below it.",
            _STREAM,
        ),
        Option(
            "stateLocation",
            text,
            None,
            "A folder that all drivers of this query reach, for names of read files that do not fit into the offset: then the window is all of "
            "`maxFileAge`. Without it, it is the last 2,300 files.",
            _STREAM,
        ),
        Option(
            "ignoreMissingFiles",
            boolean,
            False,
            "Whether a planned file that vanished, or was overwritten, before it was read is skipped with a warning, or fails the query.",
        ),
        Option(
            "mode",
            one_of("permissive", "dropmalformed", "failfast"),
            "permissive",
            "What to do with a record of text, CSV or JSON that cannot be read: null where a value is bad, leave it out, or fail.",
            shown_default="`PERMISSIVE`",
        ),
        Option(
            "columnNameOfCorruptRecord",
            text,
            "_corrupt_record",
            "The string column that takes the whole text of such a record, if the schema that you give has it.",
        ),
        Option(
            "columns",
            names,
            None,
            "Only these columns of the inferred schema, in this order: what is not asked for is not read.",
            None,
            "all",
        ),
        Option(
            "includeMetadata",
            boolean,
            False,
            "Whether there is a column `_metadata` with path, name, size, modification time and block of the file, as Spark's own.",
        ),
        Option("header", boolean, False, "CSV: whether the first line of each file names the columns."),
        Option("sep", _one_character, ",", "CSV: between values."),
        Option("quote", _one_or_none, '"', "CSV: around values that hold a separator; empty for no quoting."),
        Option(
            "escape",
            _one_or_none,
            None,
            "CSV: before a quote inside of quotes.",
            None,
            "two quotes stand for one",
        ),
        Option("nullValue", str, "", "CSV: what stands for null, beside nothing at all.", None, "empty"),
        Option(
            "multiLine",
            boolean,
            False,
            "CSV: whether quoted values may hold line ends. Such files are not split, and are read slowly.",
        ),
        Option(
            "inferSchema",
            boolean,
            False,
            "CSV: whether inferred columns have types; otherwise they are strings.",
        ),
        Option(
            "pushFilters",
            boolean,
            False,
            "Parquet, batch: use Spark's filters (needs `spark.sql.python.filterPushdown.enabled=true`).",
            _BATCH,
        ),
        Option(
            "parallelism",
            integer(1),
            None,
            "How many tasks the cluster runs at once.",
            shown_default="CPUs of the driver",
        ),
        Option("minPartitions", integer(1), None, "Cut large files until a batch has about so many tasks."),
        Option(
            "storageOptions",
            json_object,
            {},
            'Settings of the fsspec file system: `{"anon":true}`.',
            None,
            "none",
        ),
    ]
)
"""The table that parses, and that `docs/files.md` shows."""


def selected_paths(options: Mapping[str, Any]) -> tuple[SelectedPath, ...]:
    """Return what is read.

    Raises:
        OptionError: no path, twice the same, or a pattern that is none.
    """
    raw = (*(options["path"] or ()), *(options["paths"] or ()))
    if not raw:
        raise OptionError("is required: .load('/data/in') or .option('path', ...)", option="path")
    found = tuple(
        SelectedPath(_absolute(path), options["recursiveFileLookup"], options["pathGlobFilter"])
        for path in raw
    )
    for path in found:
        try:
            path.takes(["any"])
        except ValueError as error:
            raise OptionError(str(error), option="path") from error
    return found


def default_parallelism() -> int:
    """Return the best guess at how many tasks run at once: the driver's CPUs.

    The source never sees Spark's configuration.
    """
    return max(1, len(os.sched_getaffinity(0)))


def _absolute(path: str) -> str:
    """Return a path that means the same in every process, without a slash at its end."""
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", path):
        return path.rstrip("/") if not path.endswith("://") else path
    # Pathlib would drop what a pattern may hold.
    return os.path.abspath(path.removeprefix("file:"))  # noqa: PTH100


def render() -> str:
    """Return the table of the page ``docs/files.md``."""
    return FILES_OPTIONS.markdown()


if __name__ == "__main__":
    sys.stdout.write(render() + "\n")
