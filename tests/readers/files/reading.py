"""Reads files in ranges, as tasks would, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from headwater.core.emitter import SplitState
from headwater.core.split import SplitRange
from headwater.enumerators.files.listing import LocalLister
from headwater.enumerators.files.selection import SelectedPath
from headwater.enumerators.files.split import FileSplit
from headwater.readers.files.file_format import make_format
from headwater.readers.files.settings import ReadSettings
from headwater.readers.files.split_reader import FilesRecordEmitter, FilesSplitReader
from headwater.readers.files.text_settings import CsvSettings

__all__ = ["infer", "read", "read_batches", "settings"]


def settings(
    kind: str, schema: pa.Schema, root: Path = Path("/nowhere"), csv: CsvSettings | None = None, **more: Any
) -> ReadSettings:
    return ReadSettings(
        format=kind,
        paths=(SelectedPath(str(root)),),
        schema=schema,
        csv=csv or CsvSettings(),
        **more,
    )


def read(path: Path, how: ReadSettings, borders: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Return the rows of a file that is read in ranges with these borders, if it can be split."""
    return [row for batch in read_batches(path, how, borders) for row in batch.to_pylist()]


def read_batches(path: Path, how: ReadSettings, borders: Sequence[int] = ()) -> list[pa.RecordBatch]:
    """Return the same as it comes."""
    (page,) = LocalLister(SelectedPath(str(path)), str(path)).pages()
    if not page:
        return []
    split = FileSplit("0", page[0])
    size = page[0].size_bytes
    inner = borders if make_format(how).is_splittable(page[0].url) else ()
    found: list[pa.RecordBatch] = []
    for start, stop in pairwise(sorted({0, size, *(at for at in inner if at < size)})):
        emitter = FilesRecordEmitter(how)
        piece = SplitRange(split, start, stop)
        state = SplitState(piece)
        finished: frozenset[Any] = frozenset()
        with closing(FilesSplitReader(how)) as reader:
            reader.handle_splits_changes([piece])
            while not finished:
                fetched = reader.fetch()
                blocks = [block for records in fetched.records.values() for block in records]
                found += [batch for block in blocks for batch in emitter.emit(block, state)]
                finished = fetched.finished
        found += emitter.flush()
    return found


def infer(path: Path, how: ReadSettings) -> pa.Schema:
    """Return the schema that a file seems to have."""
    (page,) = LocalLister(SelectedPath(str(path)), str(path)).pages()
    with path.open("rb") as file:
        return make_format(how).infer(file, page[0])
