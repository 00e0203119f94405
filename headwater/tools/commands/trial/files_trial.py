"""A query of Spark's file source: the files that its log names, read through both sources."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from headwater.connector.compat import quoted, spark_type
from headwater.connector.sources.files.options import FILES_OPTIONS
from headwater.connector.sources.registry import source_factory
from headwater.core.errors import OptionError, UnknownSplitError
from headwater.core.source import Boundedness
from headwater.readers.files.settings import METADATA_COLUMN, METADATA_TYPE
from headwater.tools.commands.checkpoint_folder import CheckpointFolder
from headwater.tools.commands.offset_log import VOID
from headwater.tools.commands.spark_checkpoint import CheckpointError
from headwater.tools.commands.trial.batches import LoggedBatches, TriedQuery
from headwater.tools.commands.trial.reading import (
    ComparedReading,
    MissingPackageError,
    options_to_read,
    require_package,
)
from headwater.tools.commands.trial.report import OURS, SPARKS, Report
from headwater.tools.commands.trial.row_comparison import row_hash

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WILDCARD: Final = re.compile(r"[*?\[\]{}\\]")
_FILE: Final = "__file"
_ROW: Final = "__row"


class LoggedFiles(NamedTuple):
    """The files that batches have read.

    Attributes:
        files: that can be read now.
        gone: in words, what cannot be.
    """

    files: tuple[str, ...]
    gone: tuple[str, ...]


def is_of_files(logged: str) -> bool:
    """Whether an offset is one of Spark's file source."""
    return position_in(logged) is not None


def position_in(logged: str) -> int | None:
    """Return the last batch of the log of files that an offset of Spark's file source stands for."""
    try:
        value = json.loads(logged)
    except ValueError:
        return None
    position = value.get("logOffset") if isinstance(value, dict) and len(value) == 1 else None
    return position if type(position) is int else None


def logged_files(batches: LoggedBatches, source: str) -> tuple[str, ...]:
    """Return the files that these batches have read.

    Raises:
        CheckpointError: the log of files is not as Spark writes it.
        FolderError: it cannot be read.
    """
    end = position_in(batches.last.offsets[source])
    offset = VOID if batches.before is None else batches.before.offsets.get(source, VOID)
    start = position_in(offset)
    first = -1 if start is None else start
    assert end is not None
    paths = {
        path: None
        for batch_id, path in _entries(batches.folder, f"sources/{source}", first)
        if first < batch_id <= end
    }
    return tuple(paths)


def _entries(folder: CheckpointFolder, log: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield batch and path of every file that stands in the log: in its entries and compacted ones."""
    for name in folder.names(log):
        number, _, suffix = name.partition(".")
        if not number.isdecimal() or suffix not in {"", "compact"} or int(number) <= start:
            continue
        content = folder.read(f"{log}/{name}") or b""
        version, *lines = content.decode().splitlines() or [""]
        if version != "v1":
            raise CheckpointError(f"{log}/{name} is not a log of files of Spark's file source")
        for line in lines:
            entry = json.loads(line)
            # As a URI: a blank is %20.
            yield entry["batchId"], _local_path(unquote(entry["path"]))


def _local_path(path: str) -> str:
    return re.sub("^file:/+", "/", path)


def present_files(files: tuple[str, ...], options: Mapping[str, str]) -> LoggedFiles:
    """Look which files are there, and return those that can be read.

    Raises:
        OptionError: ``storageOptions`` is malformed, or no file system takes it.
        SourceError: the file system does not answer, or refuses.
    """
    from headwater.enumerators.files.filesystem import file_errors, open_file_system

    try:
        storage = json.loads(options.get("storageoptions", "{}"))
    except ValueError as error:
        raise OptionError(f"is not JSON: {error}", option="storageOptions") from error
    there = []
    gone = []
    for path in files:
        if _WILDCARD.search(path):
            gone.append(f"{path}: its name would be taken for a pattern")
            continue
        try:
            # No `exists`: that takes each error for a no.
            with file_errors("looking for a file of the query's log", path):
                fs, place = open_file_system(path, storage)
                fs.info(place)
        except UnknownSplitError:
            gone.append(f"{path}: the file is not there")
        else:
            there.append(path)
    return LoggedFiles(tuple(there), tuple(gone))


def base_folder(options: Mapping[str, str], files: tuple[str, ...]) -> str | None:
    """Return the folder below which names of folders are columns; None where files alone tell nothing of it.

    Raises:
        OptionError: ``path`` is a folder in which these files do not lie.
    """
    path = options.get("path")
    if path is None or "basepath" in options or _WILDCARD.search(path):
        return None
    folder = _local_path(path).rstrip("/")
    if "://" not in folder:
        folder = str(Path(folder).absolute())
    if folder in files:
        return None
    if not all(each.startswith(f"{folder}/") for each in files):
        raise OptionError(
            f"{path!r} is not the folder of these files: give it as the query has it, or leave it out",
            option="path",
        )
    return path


def try_files(spark: SparkSession, query: TriedQuery, report: Report) -> bool:
    """Try a query of Spark's file source, and return whether all rows are the same.

    Args:
        spark: the session.
        query: on trial; its options have ``format``.
        report: takes what is found.

    Raises:
        CheckpointError: there is nothing to read.
        HeadwaterError: headwater refuses an option.
        ReadError: one of the two could not read.
    """
    batches, source, options = query.batches, query.source, query.options
    if "format" not in options:
        raise OptionError("is required: what the files are, such as -o format=csv", option="format")
    present = present_files(logged_files(batches, source), options)
    report.say(f"source {source} (Spark's file source), {batches.ids}, committed, has read these files:")
    report.say_some(present.files)
    if present.gone:
        report.say("not compared:")
        report.say_some(present.gone)
    if not present.files:
        raise CheckpointError("no file of these batches is there: try more of them, with --batches")
    reads = FilesReads(spark, options, query.schema, present.files, base_folder(options, present.files))
    reads.check_stream()
    try:
        require_package(spark, options["format"])
    except MissingPackageError as error:
        report.say(f"compared with nothing: {error}")
        return False
    reading = reads.all_columns()
    rows = report.compare(reading)
    seconds = batches.seconds()
    rate = None if seconds is None else rows / seconds
    report.say("handed to a sink that does nothing (noop):")
    report.measure({SPARKS: reading.sparks, OURS: reading.ours}, rows, rate)
    report.say("to change, in the query; its options stay:")
    name = options["format"]
    report.say(
        f'  .format("{name}")  ->  .format("headwater").option("source", "files").option("format", "{name}")'
    )
    report.say("what else changes: docs/files-differences.md; and the checkpoint: headwater takes none of")
    report.say("Spark's file source over. Begin with a new one, and a path of the files that are to come")
    report.say(f'the way back: .format("{name}") goes on with {batches.folder}, which is as it was')
    report.say("nothing was committed, written or locked")
    return report.is_same


@dataclass(frozen=True)
class FilesReads:
    """A read of files.

    Attributes:
        spark: the session.
        options: of the query, keys in lower case.
        schema: the columns of the query, as DDL; None: they are inferred.
        files: which are there.
        base: the folder below which names of folders are columns.
    """

    spark: SparkSession
    options: Mapping[str, str]
    schema: str | None
    files: tuple[str, ...]
    base: str | None

    def check_stream(self) -> None:
        """Check that headwater takes the options of the query, as a stream.

        Raises:
            HeadwaterError: it refuses one, and says what to do.
        """
        stream = {"path": json.dumps(self.files), **self.options}
        source_factory("files")(stream, Boundedness.CONTINUOUS_UNBOUNDED)

    def all_columns(self) -> ComparedReading:
        """Return the reading of all columns."""
        return ComparedReading(
            "all columns of the files",
            partial(self._load, ours=False),
            partial(self._load, ours=True),
            (_FILE, _ROW),
            (partial(self._placed, ours=False), partial(self._placed, ours=True)),
        )

    def _placed(self, *, ours: bool) -> DataFrame:
        """Return a frame with the file of each row beside its columns: a row of a file has no number."""
        from pyspark.sql import functions as f

        frame = self._load(ours=ours, with_metadata=True)
        columns = [quoted(name) for name in frame.columns if name != METADATA_COLUMN]
        of_query = frame.select(*columns)
        place = (f.col(f"{METADATA_COLUMN}.file_path").alias(_FILE), row_hash(of_query).alias(_ROW))
        return frame.select(*columns, *place)

    def _load(self, *, ours: bool, with_metadata: bool = False) -> DataFrame:
        options = options_to_read(self.options, FILES_OPTIONS, "path", "paths", "format", "includeMetadata")
        if self.base is not None:
            options["basePath"] = self.base
        name = self.options["format"]
        if ours:
            options |= {"source": "files", "format": name}
            if with_metadata:
                options["includeMetadata"] = "true"
        reader = self.spark.read.format("headwater" if ours else name).options(**options)
        if self.schema is not None:
            of_file = f", {METADATA_COLUMN} {spark_type(METADATA_TYPE).simpleString()}"
            reader = reader.schema(self.schema + (of_file if ours and with_metadata else ""))
        if ours:
            return reader.option("path", json.dumps(self.files)).load()
        return reader.load(list(self.files))
