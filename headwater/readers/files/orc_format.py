"""ORC: stripes as batches, decoded by a process that a damaged file may end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import pyarrow as pa

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.compression import LargeBlockError
from headwater.readers.files.column_types import ColumnConversion, ColumnPlan, UnfitTypeError
from headwater.readers.files.columnar_formats import ColumnarFormat, named_errors, shares, spark_type
from headwater.readers.files.decoder_process import (
    NUMBER,
    DecoderMessage,
    DecoderProcess,
    DecoderProcessEndedError,
    decoder_process,
)
from headwater.readers.files.file_format import FileBlock
from headwater.readers.files.orc_conversions import orc_conversion
from headwater.readers.files.orc_tail import OrcTail
from headwater.readers.files.rebase import Rebase
from headwater.readers.files.settings import RebaseModes
from headwater.readers.files.spark_notes import noted_orc_type
from headwater.readers.formats.values.time_zones import zone_of

_OLD: Final = RebaseModes(datetime="LEGACY")
_SHARE_OF_MEMORY: Final = 3
"""A stripe may take so many times the size that a block may have: as much as a worker needs for a block."""
_MOST_GROWTH: Final = 64
"""And so many times its bytes in the file, whatever the option says: large stripes are no bombs."""
_COUNTED_FROM: Final = datetime(2015, 1, 1)  # noqa: DTZ001 - by the writer's clock
_FAR_TIME: Final = "out of range for nanosecond"
"""Stands in pyarrow's error where a timestamp is before 1677 or after 2262: it holds nanoseconds."""
_UTC: Final = frozenset({"", "GMT", "UTC", "Etc/UTC", "Z"})


class OrcFormat(ColumnarFormat):
    """A range reads the stripes that it has a share in, by their number."""

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        with decoder_process() as process:
            source = _OrcFile(process, file, status)
            stripes = list(shares(source.stripes, status.size_bytes, start, stop))
            if not stripes:
                return
            with named_errors(status, "orc"):
                schema = _named(source.schema, columns)
                # What Spark notes in a file, its version above all, says nothing of the calendar: of ORC each
                # Spark writes the old one, unless `orc.proleptic.gregorian` is set.
                dates = Rebase(status.url, RebaseModes() if source.is_proleptic else _OLD)

            @cache
            def plan_of(zone: str) -> ColumnPlan:
                offset = _offset_of(zone)
                times = Rebase(status.url, _OLD, zone)

                def convert(kind: Any, target: Any, _at: int) -> ColumnConversion:
                    return orc_conversion(kind, target, dates, times, offset)

                return ColumnPlan(schema, columns, lambda _name: convert)

            spelled = dict(zip(source.schema.names, schema.names, strict=True))
            for at, number in stripes:
                with named_errors(status, "orc"):
                    plan = plan_of(source.zone_of(number))
                # With no column one is read all the same, so that the number of rows is known.
                read = [name for name in spelled if spelled[name] in plan.names] or source.schema.names[:1]
                for part in source.rows(number, read, self.settings.most_inflated_bytes):
                    with named_errors(status, "orc"):
                        batch = plan.converted(
                            part.rename_columns([spelled[name] for name in part.schema.names])
                        )
                    yield FileBlock(batch, at, at)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with decoder_process() as process:
            schema = _OrcFile(process, file, status).schema
        with named_errors(status, "orc"):
            return pa.schema(
                [
                    pa.field(field.name, noted_orc_type(field, spark_type(field.type), field.name))
                    for field in schema
                ]
            )


class _OrcFile:
    """An ORC file that a process has opened. It ends before the process is lent to somebody else.

    Attributes:
        schema: the columns of the file.
        stripes: how many there are.
        is_proleptic: whether its dates are by the Gregorian calendar, also before 1582.

    Raises:
        CorruptRecordError: this is no ORC file, or a damaged one.
    """

    def __init__(self, process: DecoderProcess, file: Any, status: FileStatus) -> None:
        self._process = process
        self._file = file
        self._status = status
        with self._damage("its end"):
            self._tail = OrcTail(file, status.size_bytes)
            process.ask(DecoderMessage.OPEN, NUMBER.pack(status.size_bytes))
            ((_, content),) = process.answers(file)
        self.is_proleptic = self._tail.is_proleptic
        (self.stripes,) = NUMBER.unpack(content[: NUMBER.size])
        self.schema = pa.ipc.read_schema(content[NUMBER.size :])

    def zone_of(self, stripe: int) -> str:
        """Return the time zone of a stripe's writer, which the process knows from now on."""
        with self._damage(self._name(stripe)):
            zone = self._tail.writer_zone(stripe)
            self._process.know_zone(zone or "GMT")
        return zone

    def rows(self, stripe: int, columns: list[str], most_inflated_bytes: int) -> Iterator[pa.RecordBatch]:
        """Yield some columns of a stripe, a part of it at a time.

        Args:
            stripe: its number.
            columns: their names.
            most_inflated_bytes: the option.

        Raises:
            CorruptRecordError: the stripe is damaged.
            SourceError: it has timestamps that pyarrow does not hold, or is too large when it is decoded.
                This is no damage, and never skipped.
        """
        size = min(self._tail.data_sizes[stripe], self._status.size_bytes)
        most = max(_SHARE_OF_MEMORY * most_inflated_bytes, _MOST_GROWTH * size)
        with self._damage(self._name(stripe)):
            self._process.ask(DecoderMessage.STRIPE, json.dumps([stripe, columns, most]).encode())
            try:
                for message, content in self._process.answers(self._file):
                    if message is DecoderMessage.ROWS:
                        yield from pa.ipc.open_stream(content)
            except LargeBlockError as error:
                raise SourceError(
                    f"{self._name(stripe)} takes more than {most} bytes when it is decoded. Whole stripes "
                    "are held in memory, so option 'maxInflatedBlockBytes' bounds them, at three times its "
                    "value: raise it if there is memory for that beside each Python worker",
                    source="files",
                    split=self._status.url,
                ) from error
            except pa.ArrowInvalid as error:
                # A stripe is decoded whole, so no row of it was handed over.
                if _FAR_TIME not in str(error):
                    raise
                raise self._far_times(stripe, columns) from error

    def _far_times(self, stripe: int, columns: list[str]) -> SourceError:
        names = [name for name in columns if _has_times(self.schema.field(name).type)]
        return SourceError(
            f"{self._name(stripe)} has timestamps before 1677-09-22 or after 2262-04-11, which are not read "
            f"here, in {' or '.join(map(repr, names))}: read the file with Spark's own reader, "
            "spark.read.format('orc'), or leave out the column",
            source="files",
            split=self._status.url,
        )

    def _name(self, stripe: int) -> str:
        return f"stripe {stripe + 1} of {self.stripes}"

    @contextmanager
    def _damage(self, where: str) -> Iterator[None]:
        """Name file, part and byte in errors."""
        try:
            yield
        except DecoderProcessEndedError as error:
            raise self._error(error, where, error.kind) from error
        except ValueError as error:
            raise self._error(error, where, CorruptRecordError) from error

    def _error(self, error: Exception, where: str, kind: type[SourceError]) -> SourceError:
        if kind is CorruptRecordError:
            message = f"this is no orc file, or a damaged one ({where}): {error}"
        else:
            message = f"{where} was not read: {error}"
        return kind(message, source="files", split=self._status.url, position=self._process.last_read)


def _named(schema: pa.Schema, columns: pa.Schema) -> pa.Schema:
    """Return a file's columns with names: those of the schema at their places, if it has none.

    Old versions of Hive wrote none; then columns go by their places, as in Spark.

    Raises:
        UnfitTypeError: a file without names has more columns than the schema.
    """
    both = (schema.names, columns.names)
    without = [bool(names) and all(name.startswith("_col") for name in names) for names in both]
    if without != [True, False]:
        return schema
    if len(schema.names) > len(columns.names):
        raise UnfitTypeError(
            f"the file has {len(schema.names)} columns without names, and the schema {len(columns.names)}"
        )
    names = columns.names[: len(schema.names)]
    return pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])


def _has_times(kind: pa.DataType) -> bool:
    """Whether a type has timestamps, at any depth."""
    return pa.types.is_timestamp(kind) or any(
        _has_times(kind.field(at).type) for at in range(kind.num_fields)
    )


def _offset_of(zone: str) -> int:
    """Return how many microseconds a zone was ahead of UTC where timestamps are counted from.

    Raises:
        UnfitTypeError: there is no such zone.
    """
    if zone in _UTC:
        return 0
    time_zone = zone_of(zone)
    if time_zone is None:
        raise UnfitTypeError(f"its writer's time zone is {zone!r}, which is not known here")
    offset = _COUNTED_FROM.replace(tzinfo=time_zone).utcoffset() or timedelta()
    return offset // timedelta(microseconds=1)
