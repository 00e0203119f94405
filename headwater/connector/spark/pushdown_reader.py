"""``spark.read`` with Spark's filters, for those who switched them on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pyspark.sql.datasource import Filter

from headwater.connector.spark.batch_reader import BatchReader


class PushdownBatchReader(BatchReader):
    """A batch reader that hands Spark's filters to its source.

    A class of its own: while ``spark.sql.python.filterPushdown.enabled`` is off, as it is by default, Spark
    refuses every reader that has `pushFilters`.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Show all filters to the source, and return all: Spark applies them again."""
        source = self._configured.source.with_filters(filters)
        self._configured = replace(self._configured, source=source)
        return filters
