"""The files source: joins listing and reading, made from Spark's own file options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa

from headwater.connector.compat import spark_fields
from headwater.connector.cpus import available_cpus
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.options import planning_hints, target_duration
from headwater.connector.sources.configured import ConfiguredPlannedSource
from headwater.connector.sources.files.discovery_options import (
    check_own_folders,
    discovery_options,
    files_settings,
)
from headwater.connector.sources.files.options import (
    FILES_OPTIONS,
    FilesPlanningHints,
    base_path,
    selected_paths,
)
from headwater.connector.sources.files.read_options import (
    COLUMNS,
    INCLUDE_METADATA,
    PUSH_FILTERS,
    read_settings,
)
from headwater.connector.sources.files.schema_options import (
    SCHEMA_NAME,
    check_binary_schema,
    check_given_schema,
    check_schema,
    with_drift,
)
from headwater.connector.sources.files.task_settings import settings_in_task
from headwater.connector.sources.shipped import ShippedSource
from headwater.core.clock import SystemClock
from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.errors import OptionError
from headwater.core.jsons import JsonValue
from headwater.core.options import Option
from headwater.core.planned_source import EndPositions, PlannedSource
from headwater.core.retry import Backoff
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.files.enumerator import FileSplitEnumerator
from headwater.enumerators.files.settings import FilesSettings
from headwater.enumerators.files.split import FileSplit, deserialized_files, serialized_files
from headwater.readers.files.bad_records import part_start
from headwater.readers.files.file_format import FileBlock, make_format
from headwater.readers.files.settings import METADATA_COLUMN, METADATA_TYPE, ReadSettings
from headwater.readers.files.text_settings import RecordSettings

if TYPE_CHECKING:
    from headwater.readers.files.split_reader import FilesRecordEmitter, FilesSplitReader

_OPENING_BYTES: Final = 256 << 10
"""The cost of opening a file, as bytes that could be read meanwhile.

Many small files are spread over tasks like a large one.
"""
_ANY_NUMBER: Final = (1 << 31) - 1
"""The limit for Spark where the user gave none: with Trigger.Once it does not hand it back.

So Once is told apart, under which the other limits do not count either.
"""
_BACKOFF: Final = Backoff(deadline_ms=120_000)


@dataclass(frozen=True, kw_only=True)
class FilesSource(ShippedSource, PlannedSource[FileBlock, FileSplit, int]):
    """Files as splits, byte offsets as positions.

    Attributes:
        files: which files, and how they are remembered.
        read: how they become rows; its schema is None until it is known.
        mode: a batch or a stream.
        columns: which columns of an inferred schema, None for all.
        metadata: whether there is a column ``_metadata``.
        infers_as_stream: whether a schema is inferred from the first files alone.
    """

    name: ClassVar[str] = "files"
    shipped: ClassVar[str] = "files"
    bounded_splits: ClassVar[bool] = True

    files: FilesSettings
    read: ReadSettings
    mode: Boundedness
    columns: tuple[str, ...] | None = None
    metadata: bool = False
    infers_as_stream: bool = False

    @property
    def boundedness(self) -> Boundedness:
        return self.mode

    @property
    def reads(self) -> str:
        return ", ".join(path.url for path in self.files.selection.paths)

    def schema(self) -> pa.Schema:
        """Return the schema that was given or kept; else infer it: lists, and opens files."""
        if self.read.schema is not None:
            return self.read.schema
        schema = self._inferred_schema()
        rescued = self.read.records.rescued_column
        if rescued is not None:
            schema = _with_own(
                schema,
                pa.field(rescued, pa.string()),
                RecordSettings.OPTIONS["rescued_column"],
                "Give another name",
            )
        if self.metadata:
            way_out = "Read the files without it"
            schema = _with_own(schema, pa.field(METADATA_COLUMN, METADATA_TYPE), INCLUDE_METADATA, way_out)
        if self.columns is not None:
            schema = pa.schema([_column(schema, name) for name in self.columns])
        return schema

    def _inferred_schema(self) -> pa.Schema:
        """Return the columns of files and folders."""
        from headwater.readers.files.inference import infer_schema

        history = self.read.drift.history
        latest = None if history is None else history.latest()
        if latest is not None:
            return latest
        selection = self.files.selection
        if self.read.abilities.has_summaries:
            selection = replace(
                selection, paths=tuple(replace(path, summaries=True) for path in selection.paths)
            )
        listers = replace(self.files, selection=selection).listers(SystemClock())
        schema = infer_schema(listers, self.read, is_stream=self.infers_as_stream, selection=selection)
        return schema if history is None else history.begin(schema)

    def with_schema(self, schema: pa.Schema, *, given: bool) -> FilesSource:
        if given:
            check_given_schema(self.read)
            if self.read.abilities.has_content:
                check_binary_schema(schema)
        check_schema(schema, self.read, columns=self.columns if given else None, needs_metadata=self.metadata)
        text = None
        if not given and self.read.drift.history is None:
            # Kept in the offset: a restart must not infer another schema from the files that are there then.
            fields = spark_fields(schema).fields
            text = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in fields)
        # Some columns of an inferred schema, and those of one that grows, go by their names; those of a given
        # one by their position.
        is_part = self.columns is not None or self.read.drift.mode == "addNewColumns"
        csv = replace(self.read.csv, by_name=is_part and not given, is_inferred=not given)
        return replace(
            self, read=replace(self.read, schema=schema, csv=csv), files=replace(self.files, schema=text)
        )

    def with_filters(self, filters: Sequence[Any]) -> FilesSource:
        from headwater.connector.sources.files.filters import understood_filters

        return replace(self, read=replace(self.read, filters=understood_filters(filters)))

    def fixed_at_first_look(self) -> FilesSource:
        """No file that comes later is read, so nothing older than the oldest unread one is remembered."""
        return replace(self, files=replace(self.files, is_fixed=True, window_ms=0))

    def end_positions(self, splits: Sequence[FileSplit]) -> EndPositions:
        """Only files of Parquet tell it, in their footers."""
        if not self.read.abilities.has_summaries:
            raise OptionError(
                f"files of {self.read.format} do not tell where the next part begins: say it as JSON",
                option="seamOffsets",
            )
        from headwater.readers.files.parquet_ends import end_positions

        return end_positions([split.file for split in splits], self.read.storage_options)

    def create_enumerator(
        self, context: PlannedSplitEnumeratorContext[FileSplit, int]
    ) -> PlannedSplitEnumerator[FileSplit, int]:
        return FileSplitEnumerator(context, self.files, is_new=True)

    def restore_enumerator(
        self,
        context: PlannedSplitEnumeratorContext[FileSplit, int],
        checkpoint: Checkpoint[FileSplit, int],
    ) -> PlannedSplitEnumerator[FileSplit, int]:
        """The first `refresh` shows the checkpoint to a new enumerator: nothing else is needed."""
        return FileSplitEnumerator(context, self.files, is_new=False)

    def create_reader(self) -> FilesSplitReader:
        from headwater.readers.files.split_reader import FilesSplitReader

        return FilesSplitReader(self._read_in_task)

    def create_emitter(self) -> FilesRecordEmitter:
        from headwater.readers.files.split_reader import FilesRecordEmitter

        return FilesRecordEmitter(self._read_in_task)

    @cached_property
    def _read_in_task(self) -> ReadSettings:
        """How a task reads: its session is asked once, for both halves of the reader."""
        return settings_in_task(self.read)

    def serialize_splits(self, splits: Iterable[FileSplit]) -> JsonValue:
        return serialized_files(splits)

    def deserialize_splits(
        self, paths: Iterable[SplitPath], definitions: JsonValue
    ) -> Mapping[SplitPath, FileSplit]:
        return deserialized_files(paths, definitions)

    def rows_between(self, start: int, stop: int) -> int:
        """Bytes stand for records: how many lines a file has is known only when it is read."""
        return max(0, stop - start)

    def position_after(self, start: int, rows: int, stop: int) -> int:
        return min(start + rows, stop)

    def counts_bytes(self, split: FileSplit) -> bool:
        return True

    def row_bytes(self, split: FileSplit, state: JsonValue) -> int:
        return 1 + _OPENING_BYTES // max(1, split.file.size_bytes)

    def cut(self, whole: SplitRange[FileSplit, int], pieces: int) -> Sequence[SplitRange[FileSplit, int]]:
        """Where bad records go to files, cut between the parts of these only: see `Quarantine`."""
        if not make_format(self.read).is_splittable(whole.split.file.url):
            return [whole]
        cut = super().cut(whole, pieces)
        if self.read.records.bad_records is None:
            return cut
        inner = {part_start(piece.start) for piece in cut}
        borders = sorted({whole.start, whole.stop, *(at for at in inner if at > whole.start)})
        return [SplitRange(whole.split, start, stop) for start, stop in pairwise(borders)]


def configure_files(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredPlannedSource:
    """Make the files source from the user's options. Opens nothing.

    Args:
        options: as Spark delivers them, keys lower-cased.
        boundedness: a batch or a stream; None if only the schema will be asked for.

    Raises:
        OptionError: an option is unknown, malformed, missing, of the other mode, or clashes with another.
        StateLocationError: there is no safe way to keep state at ``stateLocation``.
    """
    parsed = FILES_OPTIONS.parse(options, boundedness)
    mode = boundedness or Boundedness.BOUNDED
    paths = selected_paths(parsed)
    check_own_folders(parsed, paths)
    discovery = discovery_options(parsed)
    store = discovery.store()
    base = base_path(parsed, paths)
    read = read_settings(parsed, paths, base, discovery.storage)
    modified_after, modified_before = discovery.local_bounds
    hints = planning_hints(parsed, FilesPlanningHints)
    source = FilesSource(
        files=files_settings(parsed, paths, mode, store, _BACKOFF, base_path=base),
        read=with_drift(
            replace(read, modified_after=modified_after, modified_before=modified_before), parsed, store
        ),
        mode=mode,
        infers_as_stream=_is_for_stream(options, boundedness),
        columns=parsed[COLUMNS],
        metadata=parsed[INCLUDE_METADATA],
    )
    return ConfiguredPlannedSource(
        source=source,
        limits=ReadLimits(max_files=discovery.max_files or _ANY_NUMBER, target=target_duration(parsed)),
        hints=replace(hints, parallelism=hints.parallelism or available_cpus()),
        backoff=_BACKOFF,
        push_filters=parsed[PUSH_FILTERS] and mode is Boundedness.BOUNDED,
    )


def _is_for_stream(options: Mapping[str, str], boundedness: Boundedness | None) -> bool:
    """Whether a schema is asked for a stream, as far as that shows: Spark does not say it.

    It shows if an option is given that counts in a stream only, or one that keeps the schema.
    """
    if boundedness is not None:
        return boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    of_streams = {
        row.name.lower()
        for row in FILES_OPTIONS.rows
        if row.only is Boundedness.CONTINUOUS_UNBOUNDED or row is SCHEMA_NAME
    }
    return any(key.lower() in of_streams for key in options)


def _with_own(schema: pa.Schema, own: pa.Field[Any], option: Option[Any], way_out: str) -> pa.Schema:
    """Return columns of files with one that an option makes.

    Raises:
        OptionError: the files have one of this name.
    """
    if any(field.name.lower() == own.name.lower() for field in schema):
        raise OptionError(f"the files have a column {own.name!r} of their own. {way_out}", option=option.name)
    return schema.append(own)


def _column(schema: pa.Schema, name: str) -> pa.Field[Any]:
    """Return the column of this name; case does not count, as in Spark."""
    for field in schema:
        if field.name.lower() == name.lower():
            return field
    raise OptionError(
        f"{name!r} is not a column of these files; there are {', '.join(schema.names)}", option=COLUMNS.name
    )
