"""Compares what Spark's own reader and ours make of the same files, rows and schemas exactly.

What Spark makes of them is stored (`Answers`), and ours reads in this process, so that no Spark is needed.
Where Spark is there to be asked, ours reads through Spark too.

Many files are read by one job, each for itself: rows are told apart by the name of their file. So thousands
of generated files cost seconds.
"""

from __future__ import annotations

import difflib
import itertools
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pprint import pformat
from typing import Any, TypeAlias

import hypothesis
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StructType

from headwater.core.errors import HeadwaterError
from tests.parity.files.differences import FILES_DIFFERENCES
from tests.parity.files.plain import plain_rows
from tests.parity.golden.answers import Answers, Mode, NoAnswerError
from tests.parity.golden.fingerprints import fingerprint
from tests.parity.golden.local_reads import path_options, read_batch, read_stream
from tests.parity.golden.settings import Settings

__all__ = [
    "COMPARED",
    "METADATA",
    "WRITTEN_S",
    "Failed",
    "FilesParity",
    "Meant",
    "Outcome",
    "Reading",
    "Row",
    "difference",
    "is_meant",
    "reading",
]

Row = tuple[Any, ...]
COMPARED: Counter[str] = Counter()
"""How many files of each format both readers have read in this run."""

_Reader: TypeAlias = DataFrameReader | DataStreamReader
_NAME = "_parity_file"
_MOST_SAID = 300
WRITTEN_S = 1_720_003_600
"""When the files of a comparison were written: the same in each run."""
METADATA = (
    "_metadata struct<file_path string, file_name string, file_size bigint, file_block_start bigint, "
    "file_block_length bigint, file_modification_time timestamp>"
)


@dataclass(frozen=True)
class Failed:
    """A read that ended with an error. Any error equals any other: words differ, and `said` is for people."""

    said: str = field(default="", compare=False)


Outcome = list[Row] | Failed
"""The rows of a file in their order, or that it could not be read."""

_Made: TypeAlias = tuple[list[Outcome], StructType | None]
"""The outcome of each file, and the schema of the read; None if it failed."""
_Answer: TypeAlias = tuple[list[Outcome], str | None]
"""The same with the schema as JSON."""

Meant: TypeAlias = Callable[[bytes, Outcome, Outcome], bool]
"""Whether a difference is about a file: of its content, and of what Spark and what we made of it."""


@dataclass(frozen=True)
class Reading:
    """How files are read, in words that both readers take.

    Attributes:
        kind: the format.
        schema: of the rows; None lets both infer it, of all files together.
        options: all others.
        suffix: of the files' names; empty for ``.`` and the format.
        unselected: columns that the query does not select.
    """

    kind: str
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""
    # Not in the names of tests, by which answers are stored.
    unselected: tuple[str, ...] = field(default=(), repr=False)


def reading(kind: str, schema: str | None = None, /, **options: str) -> Reading:
    """Return a `Reading` with these options."""
    return Reading(kind, schema, options)


class FilesParity:
    """Both readers, and a folder for the files that they read.

    Attributes:
        settings: of the session in which both read.
        answers: what Spark's reader makes of files.

    Args:
        answers: as above.
        settings: as above.
        folder: for files; each comparison has a folder of its own in it.
    """

    def __init__(self, answers: Answers, settings: Settings, folder: Path) -> None:
        self.answers = answers
        self.settings = settings
        self._folder = folder
        self._numbers = itertools.count()
        self._known: defaultdict[str, dict[bytes, tuple[Outcome, str]]] = defaultdict(dict)
        answers.names[str(folder)] = "<folder>"

    def same(
        self,
        how: Reading,
        files: Sequence[bytes],
        *,
        one_by_one: bool = False,
        streaming: bool = False,
        may_differ: Mapping[str, Meant] | None = None,
    ) -> list[Outcome]:
        """Return what both readers made of each file, which must be the same.

        Args:
            how: how they are read.
            files: the contents of files.
            one_by_one: each file is a read of its own: where one that fails must not fail the others, and
                where each has a schema of its own to be inferred.
            streaming: both read a stream, which takes what is there and ends.
            may_differ: by the name of an entry of `FILES_DIFFERENCES`: which files it is about. What is made
                of these is not compared.
        """
        sparks, ours = self.both(how, files, one_by_one=one_by_one, streaming=streaming)
        if not one_by_one and len(files) > 1 and isinstance(sparks[0], Failed):
            # One bad file fails both reads of all: the others would pass and be compared with nothing.
            raise AssertionError(
                f"{len(files)} files are not compared, since the read of them failed: {sparks[0].said}"
            )
        for content, one, other in zip(files, sparks, ours, strict=True):
            if not is_meant(content, one, other, may_differ or {}):
                raise AssertionError(difference(how, content, one, other))
        return ours

    def differs(
        self,
        difference: str,
        how: Reading,
        content: bytes,
        *,
        at: str = "",
        paths: Sequence[str] = ("",),
        beside: Mapping[str, bytes] | None = None,
    ) -> tuple[Outcome, Outcome]:
        """Return what Spark and what we make of a file, where the list says that this differs.

        Args:
            difference: its name in the list.
            how: both read.
            content: of the file.
            at: its path in a folder where there are other files too; empty for a file alone.
            paths: in that folder, which are read.
            beside: other files of that folder: their contents by their paths.
        """
        assert difference in FILES_DIFFERENCES
        if at:
            sparks, ours = self._both_at(how, {at: content, **(beside or {})}, paths)
        else:
            sparks, ours = self.both(how, [content])
        assert sparks != ours, f"the difference {difference!r} is no more: take it off the list"
        return sparks[0], ours[0]

    def _both_at(
        self, how: Reading, contents: Mapping[str, bytes], paths: Sequence[str]
    ) -> tuple[list[Outcome], list[Outcome]]:
        folder = self._folder / f"{next(self._numbers):04}"
        for name, content in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        urls = [str(folder / path) for path in paths]
        return self.both_of([folder / name for name in contents], urls, how, streaming=False)

    def both(
        self, how: Reading, files: Sequence[bytes], *, one_by_one: bool = False, streaming: bool = False
    ) -> tuple[list[Outcome], list[Outcome]]:
        """Return what each reader makes of each file: Spark's, then ours."""
        folder = self._folder / f"{next(self._numbers):04}"
        folder.mkdir(parents=True)
        paths = [folder / f"{at:06}{how.suffix or '.' + how.kind.lower()}" for at in range(len(files))]
        for path, content in zip(paths, files, strict=True):
            path.write_bytes(content)
            os.utime(path, (WRITTEN_S, WRITTEN_S))
        if one_by_one:
            reads = [self.both_of([path], str(path), how, streaming=streaming) for path in paths]
            return [sparks[0] for sparks, _ in reads], [ours[0] for _, ours in reads]
        return self.both_of(paths, str(folder), how, streaming=streaming)

    def both_of(
        self, paths: Sequence[Path], url: str | list[str], how: Reading, *, streaming: bool
    ) -> tuple[list[Outcome], list[Outcome]]:
        """Return what each reader makes of files that lie below one or several paths: Spark's, then ours."""
        COMPARED[how.kind] += len(paths)
        sparks, sparks_schema = self._spark_reads(paths, url, how, streaming=streaming)
        ours, our_schema = self._ours_reads(paths, url, how, streaming=streaming)
        if sparks_schema is not None and our_schema is not None and sparks_schema != our_schema:
            raise AssertionError(
                f"the schemas differ with {how}\n"
                f"Spark: {sparks_schema.simpleString()}\nours:  {our_schema.simpleString()}\n"
                f"first file: {paths[0].read_bytes()[:2000]!r}"
            )
        return sparks, ours

    def drawn(self, how: Reading, count: int, draw: Callable[[], list[bytes]]) -> list[bytes]:
        """Return files that are drawn, or those that were drawn when Spark was asked about them.

        Some day hypothesis draws others.
        """
        question = ("drawn", self._words(how), count, next(self._numbers))
        return self.answers.drawn(question, draw, f"hypothesis {hypothesis.__version__}")

    def written_by_spark(self, kind: str, query: str, **options: str) -> bytes:
        """Return a file with the rows of a query, as Spark writes it in this session.

        Args:
            kind: the format.
            query: in SQL.
            options: of the writer.
        """
        folder = self._folder / f"{next(self._numbers):04}"

        def write() -> bytes:
            rows = self.settings.spark.sql(query).coalesce(1)
            rows.write.format(kind).options(**options).save(str(folder))
            (file,) = folder.glob(f"*.{kind}")
            return file.read_bytes()

        written = (kind, query, *sorted(options.items()))
        return self.answers.made_by_spark(("written", written, self.settings.question()), write)

    def _words(self, how: Reading) -> tuple[str | None, ...]:
        options = sorted(f"{name}={value}" for name, value in how.options.items())
        unselected = [f"not {name}" for name in how.unselected]
        return (how.kind, how.schema, how.suffix, *options, *unselected)

    def _spark_reads(
        self, paths: Sequence[Path], url: str | list[str], how: Reading, *, streaming: bool
    ) -> _Made:
        """Return what Spark makes of each file, and the schema."""
        names = [path.name for path in paths]

        def ask() -> _Answer:
            reader = self._reader(how.kind, streaming=streaming)
            outcomes, schema = self._through_spark(lambda: _load(reader, url, how, how.schema), names)
            return outcomes, None if schema is None else schema.json()

        read = (self._words(how), self.settings.question(), streaming)
        urls = [url] if isinstance(url, str) else url
        contents = [path.read_bytes() for path in paths]
        files = tuple(
            (str(path), fingerprint(content)) for path, content in zip(paths, contents, strict=True)
        )
        known = self._known[repr(read)]
        try:
            outcomes, schema = self.answers.ask(("read", read, tuple(urls), files), ask)
        except NoAnswerError:
            # Files of a given schema are read each for itself: of a part of them Spark makes the same.
            if how.schema is None or not all(content in known for content in contents):
                raise
            outcomes, schema = [known[content][0] for content in contents], known[contents[0]][1]
        if schema is None:
            return outcomes, None
        known.update((content, (each, schema)) for content, each in zip(contents, outcomes, strict=True))
        return outcomes, StructType.fromJson(json.loads(schema))

    def _ours_reads(
        self, paths: Sequence[Path], url: str | list[str], how: Reading, *, streaming: bool
    ) -> _Made:
        """Return what we make of each file, and the schema: in this process, and through Spark too."""
        names = [path.name for path in paths]
        kinds = {"source": "files", "format": how.kind, "includeMetadata": "true"}
        options = {**kinds, **how.options, **path_options(url)}
        if self.answers.mode not in {Mode.CHECK, Mode.FRESH}:
            return self._in_this_process(how, options, names, streaming=streaming)
        with_metadata = how.schema and f"{how.schema}, {METADATA}"
        reader = self._reader("headwater", streaming=streaming).options(**kinds)
        made = self._through_spark(lambda: _load(reader, url, how, with_metadata), names)
        if self.answers.mode is Mode.CHECK:
            here = self._in_this_process(how, options, names, streaming=streaming)
            assert here == made, "headwater reads otherwise in this process than through Spark"
        return made

    def _in_this_process(
        self, how: Reading, options: Mapping[str, str], names: Sequence[str], *, streaming: bool
    ) -> _Made:
        try:
            schema = None if how.schema is None else self.settings.parsed(f"{how.schema}, {METADATA}")
            if streaming:
                schema, tables = read_stream(options, schema, self.settings.of_tasks)
            else:
                schema, table = read_batch(options, schema, self.settings.of_tasks)
                tables = [table]
        except (HeadwaterError, PySparkException) as error:
            failed = Failed(_first_lines(error))
            return [failed for _ in names], None
        selected = [table.drop_columns(list(how.unselected)) for table in tables]
        return _by_file([_with_names_of_files(table) for table in selected], names), StructType(
            [each for each in schema if each.name not in {"_metadata", *how.unselected}]
        )

    def _reader(self, kind: str, *, streaming: bool) -> _Reader:
        spark = self.settings.spark
        return (spark.readStream if streaming else spark.read).format(kind)

    def _through_spark(self, load: Callable[[], DataFrame], names: Sequence[str]) -> _Made:
        try:
            frame = load()
            columns = [f"`{name}`" for name in frame.columns if name != "_metadata"]
            schema = frame.select(*columns).schema
            tables = self._tables(frame.selectExpr(*columns, f"_metadata.file_name AS {_NAME}"))
        except (PySparkException, Py4JJavaError) as error:
            failed = Failed(_first_lines(error))
            return [failed for _ in names], None
        return _by_file(tables, names), schema

    def _tables(self, frame: DataFrame) -> list[pa.Table]:
        """Return all rows of a batch frame, or of a stream that takes what is there and ends."""
        if not frame.isStreaming:
            return [frame.toArrow()]
        tables: list[pa.Table] = []
        checkpoint = self._folder / f"checkpoint{next(self._numbers)}"
        query = (
            frame.writeStream.foreachBatch(lambda rows, _: tables.append(rows.toArrow()))
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return tables


def _by_file(tables: Sequence[pa.Table], names: Sequence[str]) -> list[Outcome]:
    """Return the rows of each file: of tables whose last column has the names of their files."""
    found: dict[str, list[Row]] = {name: [] for name in names}
    for *row, name in itertools.chain.from_iterable(map(plain_rows, tables)):
        found[name].append(tuple(row))
    return [found[name] for name in names]


def _with_names_of_files(table: pa.Table) -> pa.Table:
    names: pa.ChunkedArray[Any] = pc.struct_field(table["_metadata"], "file_name")
    return table.drop_columns("_metadata").append_column(_NAME, names)


def is_meant(content: bytes, sparks: Outcome, ours: Outcome, may_differ: Mapping[str, Meant]) -> bool:
    """Return whether both made the same of a file, or a difference of the list is about it."""
    assert may_differ.keys() <= FILES_DIFFERENCES.keys()
    if sparks == ours or _reads_corrupt_records_alone(sparks):
        return True
    return any(meant(content, sparks, ours) for meant in may_differ.values())


def _reads_corrupt_records_alone(spark: Outcome) -> bool:
    """Whether Spark refused to read no other column than that for corrupt records."""
    return isinstance(spark, Failed) and "QUERY_ONLY_CORRUPT_RECORD_COLUMN" in spark.said


def _load(reader: _Reader, url: str | list[str], how: Reading, schema: str | None) -> DataFrame:
    reader = reader.options(**how.options)
    frame = (reader if schema is None else reader.schema(schema)).load(url)  # type: ignore[arg-type]
    # Spark still finds the column about the file behind this.
    return frame.drop(*how.unselected) if how.unselected else frame


def _first_lines(error: BaseException) -> str:
    if isinstance(error, HeadwaterError):
        return f"{type(error).__module__}.{type(error).__name__}: {error}"
    text = f"{type(error).__name__}: {error}"
    ours = re.search(r"headwater\.core\.errors\.\w+:\s+.*", text)
    # Py4J's text begins with calls between threads; what happened stands at its end.
    causes = re.findall(r"^Caused by: .*", text, re.MULTILINE)
    return ours[0] if ours else "\n".join([text[:_MOST_SAID], *causes[-1:]])


def difference(how: Reading, content: bytes, sparks: Outcome, ours: Outcome) -> str:
    """Return what differs, in words for people."""
    lines = difflib.unified_diff(
        _shown(sparks), _shown(ours), "Spark's reader", "headwater", lineterm="", n=1
    )
    return "\n".join([f"headwater's rows differ from Spark's, of {content[:4000]!r}\nwith {how}", *lines])


def _shown(result: Outcome) -> list[str]:
    return pformat(result, width=110, compact=True).splitlines()
