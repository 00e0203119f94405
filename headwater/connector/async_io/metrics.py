"""The counts of all tasks of an operator, on the driver."""

from __future__ import annotations

from pyspark.accumulators import AccumulatorParam
from pyspark.sql import SparkSession

from headwater.core.errors import OptionError
from headwater.readers.async_io.metrics import MetricsSnapshot


class _Sum(AccumulatorParam[MetricsSnapshot]):
    """Adds snapshots up."""

    def zero(self, value: MetricsSnapshot) -> MetricsSnapshot:
        return MetricsSnapshot()

    # Spark's name.
    def addInPlace(self, value1: MetricsSnapshot, value2: MetricsSnapshot) -> MetricsSnapshot:  # noqa: N802
        return value1 + value2


class AsyncMetrics:
    """Requests, retries, timeouts, cache hits and latencies of an operator, added up over its tasks.

    ::

        metrics = hw.async_io.AsyncMetrics(spark)
        enriched = hw.unordered_wait(df, LookupCustomer(), schema="name string", metrics=metrics)
        ...
        print(metrics)    # for example in onQueryProgress of a StreamingQueryListener

    It is a Spark accumulator. A task's counts arrive when it ends; those of a task that failed are lost,
    those of a task that runs twice count twice. One object may be given to several operators: it then counts
    them all.

    Args:
        spark: a classic session; Spark Connect has no accumulators.

    Raises:
        OptionError: the session is a Connect session.
    """

    def __init__(self, spark: SparkSession) -> None:
        try:
            context = spark.sparkContext
        except Exception as error:
            raise OptionError(
                "need a classic session: Spark Connect has no accumulators", option="metrics"
            ) from error
        self._accumulator = context.accumulator(MetricsSnapshot(), _Sum())

    @property
    def value(self) -> MetricsSnapshot:
        """The counts of the tasks that have ended, since this object was made. On the driver."""
        return self._accumulator.value

    def as_dict(self) -> dict[str, float]:
        """Return the counts and the percentiles as plain values, for a metrics exporter. On the driver."""
        snapshot = self.value
        percentiles = {f"{name}_ms": ms for name, ms in snapshot.percentiles_ms().items()}
        return {**snapshot.counts(), **percentiles}

    def add(self, counts: MetricsSnapshot) -> None:
        """Add the counts of a task. In the task, once, at its end."""
        self._accumulator.add(counts)

    def __str__(self) -> str:
        return str(self.value)
