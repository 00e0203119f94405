"""``format("headwater")``: Spark's view of it. Translates; decides nothing.

Imported by Spark in every process that looks for Python data sources, also by versions of Spark that are too
old: so this module imports only names that every version has, and next to nothing of headwater.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

import pyspark
from pyspark.sql.datasource import DataSource

from headwater.connector.compat import arrow_schema, refuse_no_options, refuse_table, require_spark
from headwater.connector.readable import readable
from headwater.connector.spark.handover import show_log
from headwater.core.errors import HeadwaterError, InstallationError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.types import StructType

    from headwater.connector.formats.registered_schema import KeptSchemas
    from headwater.connector.sources.configured import ConfiguredSource, SourceFactory
    from headwater.connector.spark.batch_reader import BatchReader
    from headwater.connector.spark.stream_reader import StreamReader
    from headwater.core.source import Boundedness

_NO_WRITER = "headwater reads, and writes nothing: write with a format of Spark, such as parquet or kafka"


class HeadwaterDataSource(DataSource):
    """Spark makes an instance for each ``load()``, in its planner process.

    It pickles that instance to the processes in which readers are made.
    """

    @readable
    def __init__(self, options: dict[str, str]) -> None:
        require_spark(pyspark.__version__)
        _require_arrow()
        super().__init__(options)
        refuse_table(options, self.name())
        self._schema_is_given = True
        # What `schema` finds out is pickled with this instance.
        self._inferred: Mapping[str, str] = {}
        self._kept_schemas: KeptSchemas = {}

    @classmethod
    def name(cls) -> str:
        return "headwater"

    @readable
    def schema(self) -> StructType:
        """Return the source's schema. Called only where the user gave none."""
        # Pickled with this instance: the process that makes the reader knows it too.
        self._schema_is_given = False
        configured = self._configure(None)
        self._inferred = configured.inferred
        if configured.spark_schema is not None:
            return configured.spark_schema
        from headwater.connector.sources.spark_schema import spark_schema

        return spark_schema(configured.schema(), configured.source.name)

    @readable
    def reader(self, schema: StructType) -> BatchReader:
        from headwater.connector.spark.batch_reader import BatchReader
        from headwater.core.source import Boundedness

        configured = self._bind(Boundedness.BOUNDED, schema)
        if configured.push_filters:
            from headwater.connector.spark.batch_reader import PushdownBatchReader

            return PushdownBatchReader(configured, arrow_schema(schema))
        return BatchReader(configured, arrow_schema(schema))

    @readable
    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802 - Spark's name
        from headwater.connector.spark.stream_reader import RefusedStream, StreamReader
        from headwater.core.source import Boundedness

        try:
            _refuse_inferred(self._inferred)
            bound = self._bind(Boundedness.CONTINUOUS_UNBOUNDED, schema)
            return StreamReader(bound, arrow_schema(schema))
        except HeadwaterError as error:
            return RefusedStream(error)

    @readable
    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:
        raise OptionError(_NO_WRITER, option="format")

    @readable
    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: N802 - Spark's
        raise OptionError(_NO_WRITER, option="format")

    def _bind(self, boundedness: Boundedness, schema: StructType) -> ConfiguredSource:
        from headwater.connector.sources.spark_schema import bind_schema

        return bind_schema(self._configure(boundedness), schema, given=self._schema_is_given)

    def _configure(self, boundedness: Boundedness | None) -> ConfiguredSource:
        from headwater.connector.formats.registered_schema import keeping

        show_log()
        options: dict[str, Any] = {key.lower(): value for key, value in self.options.items()}
        options.update({key.lower(): value for key, value in self._inferred.items()})
        with keeping(self._kept_schemas):
            return self._factory(options)(options, boundedness)

    def _factory(self, options: dict[str, Any]) -> SourceFactory:
        """Return the factory of the source, and take the option that names it."""
        from headwater.connector.sources.registry import source_factory

        if self._schema_is_given:
            refuse_no_options(options, self.name())
        return source_factory(options.pop("source", None))


def _refuse_inferred(inferred: Mapping[str, str]) -> None:
    """Refuse a stream whose schema was inferred: a restart could find another one.

    Raises:
        OptionError: with the schema, to be given as an option.
    """
    for name, schema in inferred.items():
        raise OptionError(
            f"is required in a stream: a restart might infer another one. A sample of records has: {schema}",
            option=name,
        )


def _require_arrow() -> None:
    """Say at once that Arrow is missing: Spark's own processes need it too, and name no remedy."""
    if find_spec("pyarrow") is None:
        raise InstallationError(
            "headwater needs pyarrow, which is not installed in this Python (driver and every executor need "
            "it): pip install headwater"
        )
