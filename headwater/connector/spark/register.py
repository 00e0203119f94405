"""``hw.register``: formats for one session, headwater's own or a class of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.connector.program_arguments import checked_session
from headwater.connector.readable import readable
from headwater.connector.sources.configured import SourceFactory
from headwater.connector.sources.user_sources import SourceClass, UserSource, options_of_class
from headwater.connector.spark.datasource import HeadwaterDataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@readable
def register(spark: SparkSession, source: SourceClass | None = None) -> None:
    """Make a source known to a session: ``format(source.name)`` then reads it, in batches and streams.

    Also over Spark Connect. Without a source, ``format("headwater")`` itself: where headwater is not
    installed but comes with the application, so that Spark does not find it by itself (docs/clusters.md).

    A class of ``__main__`` or of a notebook's cell is pickled by value: nothing needs to be installed but
    headwater. A class of a module is pickled by its name, so executors must be able to import that module.
    Registering again replaces the class in queries that start later.

    Args:
        spark: the session.
        source: a subclass of `SimpleSource`, or of `Source` with ``OPTIONS`` and ``from_options``; None for
            all that ``option("source", ...)`` names.

    Raises:
        OptionError: the class is no source, or ``spark`` no session that runs.
        ContractError: its ``OPTIONS`` are wrong.
    """
    checked_session(spark)
    if source is None:
        spark.dataSource.register(HeadwaterDataSource)
        return
    options_of_class(source)
    registered = source

    class Registered(HeadwaterDataSource):
        @classmethod
        def name(cls) -> str:
            return registered.name

        def _factory(self, options: dict[str, Any]) -> SourceFactory:
            return UserSource(registered)

    spark.dataSource.register(Registered)
