"""The record emitter of files: blocks to rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.enumerators.files.split import FileSplit
from headwater.readers.files.block import FileBlock
from headwater.readers.files.formats import make_format
from headwater.readers.files.pruning import drop_failing
from headwater.readers.files.rows import Rows
from headwater.readers.files.settings import ReadSettings

__all__ = ["FilesRecordEmitter"]


class FilesRecordEmitter(RecordEmitter[FileBlock, FileSplit, int]):
    """Decodes one block at a time: memory is that of a block, however large the file.

    Args:
        settings: format, schema, and what to do with records that cannot be read.
    """

    def __init__(self, settings: ReadSettings) -> None:
        self._format = make_format(settings)
        self._rows = Rows(settings)
        self._filters = settings.filters

    def emit(self, record: FileBlock, state: SplitState[FileSplit, int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one block.

        Raises:
            CorruptRecordError: a record cannot be read and the mode is to fail, or the file does not fit the
                schema.
        """
        file, start = state.split.file, state.position
        for batch in self._format.decode(record, file.url, self._rows.file_columns(file.url)):
            rows = drop_failing(
                self._rows.assemble(batch, file, min(start, record.start), state.stop), self._filters
            )
            if rows.num_rows:
                yield rows
        state.position = max(state.position, min(record.stop, state.stop))
