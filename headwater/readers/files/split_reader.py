"""The two halves of the reader of files: ranges to blocks, one after the other, and blocks to rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence

import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.errors import CorruptRecordError, DataLossError, SourceError, UnknownSplitError
from headwater.core.reader import LossReporter, RecordsWithSplitIds, SplitReader
from headwater.core.split import SplitRange
from headwater.enumerators.files.split import AFTER_A_CHANGE, FileSplit, FileStatus
from headwater.readers.files.bad_records import Quarantine
from headwater.readers.files.drift import DriftGuard
from headwater.readers.files.file_format import FileBlock, UnreadableRestError, make_format, opened
from headwater.readers.files.rows import RowAssembler, drop_failing
from headwater.readers.files.settings import ReadSettings
from headwater.readers.runtime.loss_reports import LossReports


class FilesSplitReader(SplitReader[FileBlock, FileSplit, int]):
    """Reads its ranges in order; has one file open at a time.

    Args:
        settings: format and columns.
    """

    def __init__(self, settings: ReadSettings) -> None:
        self._settings = settings
        self._format = make_format(settings)
        self._assembler = RowAssembler(settings)
        self._guard = DriftGuard(settings)
        self._pending: deque[SplitRange[FileSplit, int]] = deque()
        # The blocks of the first pending range, None until it is begun, and how far they have come.
        self._blocks: Generator[FileBlock] | None = None
        self._reached = 0
        self._report: LossReporter = LossReports(None)

    def report_losses_to(self, report: LossReporter) -> None:
        self._report = report

    def handle_splits_changes(self, added: Sequence[SplitRange[FileSplit, int]]) -> None:
        self._pending += added

    def fetch(self) -> RecordsWithSplitIds[FileBlock]:
        """Return the next block.

        Raises:
            DataLossError: a planned file is gone, or has another content.
            CorruptRecordError: a file is not of the format.
            SourceError: of the file system.
        """
        split_range = self._pending[0]
        if self._blocks is None:
            self._blocks = self._read(split_range)
            self._reached = split_range.start
        block = next(self._blocks, None)
        if block is not None:
            self._reached = max(self._reached, block.stop)
            return RecordsWithSplitIds({split_range.split.path: [block]})
        self._blocks = None
        self._pending.popleft()
        return RecordsWithSplitIds(finished=frozenset([split_range.split.path]))

    def close(self) -> None:
        """Close the file that is open, if there is one."""
        if self._blocks is not None:
            self._blocks.close()

    def _read(self, split_range: SplitRange[FileSplit, int]) -> Generator[FileBlock]:
        file = split_range.split.file
        if not self._settings.in_time(file.modified_us):
            return
        columns = self._assembler.file_columns(file.url)
        try:
            columns = self._guard.columns_to_read(file, columns)
            with opened(file, self._settings.storage_options) as handle:
                yield from self._format.blocks(handle, file, split_range.start, split_range.stop, columns)
        except (UnknownSplitError, DataLossError) as error:
            is_gone = isinstance(error, UnknownSplitError)
            what = "the file vanished before it was read" if is_gone else error.message
            if not self._settings.ignore_missing:
                way_out = (
                    "Set ignoreMissingFiles=true to go on without such files" if is_gone else AFTER_A_CHANGE
                )
                raise DataLossError(f"{what}. {way_out}", source="files", split=file.url) from error
            self._skipped(split_range, f"are skipped: {what} (ignoreMissingFiles)")
        except CorruptRecordError as error:
            if not self._settings.ignore_corrupt:
                raise
            self._skipped(split_range, f"are skipped (ignoreCorruptFiles): {error}")

    def _skipped(self, split_range: SplitRange[FileSplit, int], reason: str) -> None:
        """Tell that the rest of a range is not read."""
        # What was read of a compressed file is often more than it has bytes, and still not all: its last one.
        first = min(self._reached, split_range.stop - 1)
        self._report(split_range.split, first, split_range.stop, reason)


class FilesRecordEmitter(RecordEmitter[FileBlock, FileSplit, int]):
    """Decodes one block at a time: memory is that of a block, however large the file.

    Args:
        settings: format, schema, and the mode for records that cannot be read.
    """

    def __init__(self, settings: ReadSettings) -> None:
        location = settings.records.bad_records
        self._quarantine = Quarantine(location) if location is not None else None
        self._format = make_format(settings, self._quarantine)
        self._assembler = RowAssembler(settings)
        self._guard = DriftGuard(settings)
        self._tells_columns = settings.abilities.tells_columns
        self._filters = settings.filters
        self._skips_corrupt = settings.ignore_corrupt
        self._report: LossReporter = LossReports(None)
        # The range that is being read, and where it began: its position moves on with every block.
        self._state: SplitState[FileSplit, int] | None = None
        self._range_start = 0
        # Whether the rest of the range is left out.
        self._skips = False

    def report_losses_to(self, report: LossReporter) -> None:
        self._report = report

    def emit(self, record: FileBlock, state: SplitState[FileSplit, int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one block.

        Raises:
            CorruptRecordError: a record cannot be read and the mode is to fail, the file does not fit the
                schema, or a batch cannot hold a record.
        """
        if state is not self._state:
            self._state = state
            self._range_start = state.position
            self._skips = False
        if not self._skips:
            try:
                yield from self._rows(record, state)
            except UnreadableRestError as error:
                if not self._skips_corrupt:
                    raise
                self._skips = True
                reason = f"are skipped (ignoreCorruptFiles): {error}"
                self._report(state.split, state.position, state.stop, reason)
        # Never back, and never past the stop: the last line of a range may reach over it.
        state.position = max(state.position, min(record.stop, state.stop))

    def _rows(self, record: FileBlock, state: SplitState[FileSplit, int]) -> Iterator[pa.RecordBatch]:
        file = state.split.file
        for decoded in self._decoded(record, file):
            batch = self._guard.with_rescued(decoded) if self._tells_columns else decoded
            rows = self._assembler.assemble(batch, file, self._range_start, state.stop)
            if not self._tells_columns:
                rows = self._guard.checked(rows, file)
            rows = drop_failing(rows, self._filters)
            if rows.num_rows:
                yield rows

    def _decoded(self, record: FileBlock, file: FileStatus) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._format.decode(record, file, self._assembler.file_columns(file.url))
        except SourceError as error:
            if error.source is not None:
                raise
            # Columns that are full know nothing of files.
            raise CorruptRecordError(
                error.message, source="files", split=file.url, position=record.start
            ) from error

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Write the bad records that are not written yet, and sum up; there are no more rows.

        Raises:
            SourceError: they cannot be written.
        """
        self._format.finish()
        if self._quarantine is not None:
            self._quarantine.finish()
        return iter(())
