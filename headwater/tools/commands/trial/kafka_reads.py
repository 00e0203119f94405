"""Reads of Kafka through both sources: the same offsets, as bytes and as typed rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from headwater.connector.formats.options import FORMAT_OPTIONS, PARTS, PartOptions
from headwater.connector.formats.plain_formats import avro_text
from headwater.connector.sources.kafka.offset_options import OffsetOptions
from headwater.connector.sources.kafka.options import COLUMN_OPTIONS, KAFKA_OPTIONS, KAFKA_TYPE
from headwater.tools.commands.trial.kafka_ranges import OffsetRange, range_options
from headwater.tools.commands.trial.reading import ComparedReading, Load, options_to_read, require_package

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

_PLACE: Final = ("topic", "partition", "offset")
_OFFSETS: Final = tuple(row.name for row in OffsetOptions.options())
_OF_FORMATS: Final = tuple(row.name for row in FORMAT_OPTIONS)
_OF_COLUMNS: Final = tuple(row.name for row in COLUMN_OPTIONS)
_FIELDS_FOR_SPARK: Final = ("timestamp_format", "timestamp_ntz_format", "date_format", "time_zone")


@dataclass(frozen=True)
class KafkaReads:
    """A read of Kafka. Opens nothing before a frame is loaded.

    Attributes:
        spark: the session.
        options: of the query, keys in lower case.
        ranges: of offsets, which are there.
    """

    spark: SparkSession
    options: Mapping[str, str]
    ranges: tuple[OffsetRange, ...]

    @property
    def ours(self) -> Load:
        """Makes a frame of headwater with all of Kafka's columns."""
        return partial(self._load, "headwater")

    def plain(self) -> ComparedReading:
        """Return the reading of all of Kafka's columns."""
        return ComparedReading(
            "all columns of Kafka's records", partial(self._load, "kafka"), self.ours, _PLACE
        )

    def typed(self) -> ComparedReading | str | None:
        """Return the reading of typed keys and values; None if the query has none, or why there is none.

        Raises:
            MissingPackageError: `from_avro` is not there.
            OptionError: an option is malformed.
        """
        parts = {name: self._part(spec) for name, spec in PARTS.items()}
        formats = {name: part.format for name, part in parts.items() if part.format is not None}
        if not formats:
            return None
        for name, format_name in formats.items():
            if reason := _without_counterpart(parts[name]):
                return f"typed rows ({name}Format={format_name}) were not compared: {reason}"
        for format_name in formats.values():
            require_package(self.spark, format_name)
        title = " and ".join(f"{_SPARKS_OWN[each].name} of the {name}" for name, each in formats.items())
        return ComparedReading(
            f"typed rows, beside {title}",
            partial(self._load_typed_by_spark, parts),
            self._load_typed,
            _PLACE,
        )

    def _load(self, name: str) -> DataFrame:
        options = options_to_read(
            self.options, KAFKA_OPTIONS, *_OFFSETS, *_OF_FORMATS, "columns", "failOnDataLoss"
        )
        # What goes while it is read is to be noticed, not to be left out by one of the two.
        options |= {**range_options(self.ranges), "failOnDataLoss": "true"}
        if name == "headwater":
            options["source"] = "kafka"
        frame: DataFrame = self.spark.read.format(name).options(**options).load()
        return frame

    def _load_typed(self) -> DataFrame:
        options = options_to_read(
            self.options, KAFKA_OPTIONS, *_OFFSETS, *_OF_COLUMNS, "failOnDataLoss", "valuePrefix", "keyPrefix"
        )
        options |= {**range_options(self.ranges), "failOnDataLoss": "true", "source": "kafka"}
        with_headers = self.options.get("includeheaders", "").strip().lower() == "true"
        options["columns"] = ",".join(KAFKA_TYPE.names if with_headers else KAFKA_TYPE.names[:-1])
        frame: DataFrame = self.spark.read.format("headwater").options(**options).load()
        return frame

    def _load_typed_by_spark(self, parts: Mapping[str, PartOptions]) -> DataFrame:
        """Return the frame that a user of Spark's source writes."""
        from pyspark.sql import functions as f

        frame = self._load("kafka")
        columns = self._load_typed().schema
        for name, part in parts.items():
            if part.format is not None:
                decode = _SPARKS_OWN[part.format].decode
                frame = frame.withColumn(name, decode(f.col(name), columns[name].dataType, part))
        return frame

    def _part(self, spec: type[PartOptions]) -> PartOptions:
        known_names = {row.name.lower() for row in spec.options()}
        own = {name: value for name, value in self.options.items() if name in known_names}
        return KAFKA_OPTIONS.parse(own, None).of(spec)


class _SparksFunction(NamedTuple):
    """A function of Spark that reads the same as a format of headwater.

    Attributes:
        name: as users write it.
        decode: makes the column, of the bytes, the type that headwater has, and the options.
        has_corrupt_column: whether it has a column of corrupt records.
    """

    name: str
    decode: Callable[[Column, DataType, PartOptions], Column]
    has_corrupt_column: bool


def _from_json(column: Column, kind: DataType, part: PartOptions) -> Column:
    from pyspark.sql import functions as f

    # The type as headwater has it: with the column of corrupt records.
    return f.from_json(column.cast("string"), kind, _options_of_json(part))  # type: ignore[arg-type]


def _from_avro(column: Column, _kind: DataType, part: PartOptions) -> Column:
    from pyspark.sql.avro.functions import from_avro

    schema = avro_text(part, "avro_schema")
    assert schema is not None
    writer = avro_text(part, "avro_writer_schema")
    options = {"mode": part.mode} | ({"avroSchema": schema} if writer else {})
    return from_avro(column, writer or schema, options)


_SPARKS_OWN: Final = {
    "json": _SparksFunction("from_json", _from_json, has_corrupt_column=True),
    "avro": _SparksFunction("from_avro", _from_avro, has_corrupt_column=False),
}
"""By formats."""


def _without_counterpart(part: PartOptions) -> str | None:
    """Return why Spark has no function for the options of a part."""
    if part.format not in _SPARKS_OWN:
        return "Spark has no function of its own for this format"
    function = _SPARKS_OWN[part.format]
    if part.mode == "DROPMALFORMED":
        return f"{function.name} has no mode DROPMALFORMED"
    if part.rescued_column is not None:
        return f"{function.name} rescues no data"
    if part.corrupt_column is not None and not function.has_corrupt_column:
        return f"{function.name} has no column of corrupt records"
    return None


def _options_of_json(part: PartOptions) -> dict[str, str]:
    names = {field: row.name for field, row in PartOptions.OPTIONS.items()}
    values = {names[field]: getattr(part, field) for field in (*_FIELDS_FOR_SPARK, "mode", "corrupt_column")}
    return {name: value for name, value in values.items() if value is not None}
