"""``hw.register``: a class of the user as a format of Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.connector.sources.configured import SourceFactory
from headwater.connector.sources.user_sources import SourceClass, UserSource, options_of
from headwater.connector.spark.datasource import HeadwaterDataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession, source: SourceClass) -> None:
    """Make a source known to a session: ``format(source.name)`` then reads it, in batches and streams.

    Also over Spark Connect.

    A class of ``__main__`` or of a notebook's cell is pickled by value: nothing needs to be installed but
    headwater. A class of a module is pickled by its name, so executors must be able to import that module.
    Registering again replaces the class in queries that start later.

    Args:
        spark: the session.
        source: a subclass of `SimpleSource`, or of `Source` with ``OPTIONS`` and ``from_options``.

    Raises:
        OptionError: the class is no source.
        ContractError: its ``OPTIONS`` are wrong.
    """
    options_of(source)

    class Registered(HeadwaterDataSource):
        @classmethod
        def name(cls) -> str:
            return source.name

        def _factory(self, options: dict[str, Any]) -> SourceFactory:
            return UserSource(source)

    spark.dataSource.register(Registered)
