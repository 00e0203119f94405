"""The record emitter of files: blocks to rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.enumerators.files.split import FileSplit
from headwater.readers.files.block import FileBlock
from headwater.readers.files.formats import make_format
from headwater.readers.files.pruning import drop_failing
from headwater.readers.files.rows import RowAssembler
from headwater.readers.files.settings import ReadSettings


class FilesRecordEmitter(RecordEmitter[FileBlock, FileSplit, int]):
    """Decodes one block at a time: memory is that of a block, however large the file.

    Args:
        settings: format, schema, and what to do with records that cannot be read.
    """

    def __init__(self, settings: ReadSettings) -> None:
        self._format = make_format(settings)
        self._assembler = RowAssembler(settings)
        self._filters = settings.filters
        # The range that is being read, and where it began: its position moves on with every block.
        self._state: SplitState[FileSplit, int] | None = None
        self._range_start = 0

    def emit(self, record: FileBlock, state: SplitState[FileSplit, int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one block.

        Raises:
            CorruptRecordError: a record cannot be read and the mode is to fail, or the file does not fit the
                schema.
        """
        if state is not self._state:
            self._state = state
            self._range_start = state.position
        file = state.split.file
        for batch in self._format.decode(record, file.url, self._assembler.file_columns(file.url)):
            rows = self._assembler.assemble(batch, file, self._range_start, state.stop)
            rows = drop_failing(rows, self._filters)
            if rows.num_rows:
                yield rows
        # Never back, and never past the stop: the last line of a range may reach over it.
        state.position = max(state.position, min(record.stop, state.stop))
