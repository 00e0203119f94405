"""Limits of a whole operator, divided over its tasks.

Tasks do not talk to each other, so each gets a fixed share: the limit divided by the number of tasks that may
run at the same time. That number is bounded by bounding the number of partitions, so that the limit also
holds when the cluster grows.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from headwater.core.errors import OptionError
from headwater.readers.async_io.settings import RateLimit

__all__ = ["Share", "default_parallelism"]


def default_parallelism(df: DataFrame) -> int:
    """Return how many tasks run at the same time on the cluster as it is now.

    Raises:
        OptionError: this cannot be known (Spark Connect).
    """
    try:
        return df.sparkSession.sparkContext.defaultParallelism
    except Exception as error:
        raise OptionError(
            "must be given with limits: Spark Connect does not say how many tasks run at once",
            option="parallelism",
        ) from error


class Share:
    """One task's share of the limits.

    Attributes:
        tasks: partitions at most; None if nothing is limited.
        capacity: calls at the same time.
        rate_limit: calls in a second.

    Args:
        capacity: calls at the same time that one task makes without limits.
        max_concurrent_requests: calls at the same time of all tasks, or None.
        rate_limit: of all tasks, or None.
        parallelism: tasks at the same time; not looked at without limits.

    Raises:
        OptionError: a limit or the parallelism is below 1.
    """

    def __init__(
        self,
        capacity: int,
        max_concurrent_requests: int | None,
        rate_limit: RateLimit | None,
        parallelism: int,
    ) -> None:
        for value, option in (
            (max_concurrent_requests, "max_concurrent_requests"),
            (parallelism, "parallelism"),
        ):
            if value is not None and value < 1:
                raise OptionError(f"must be at least 1, is {value}", option=option)
        self.tasks: int | None = None
        self.capacity, self.rate_limit = capacity, rate_limit
        if max_concurrent_requests is not None:
            self.tasks = min(parallelism, max_concurrent_requests)
            self.capacity = min(capacity, max_concurrent_requests // self.tasks)
        if rate_limit is not None:
            self.tasks = self.tasks or parallelism
            requests_per_s, burst = (
                rate_limit.requests_per_s / self.tasks,
                max(1, rate_limit.burst // self.tasks),
            )
            self.rate_limit = replace(rate_limit, requests_per_s=requests_per_s, burst=burst)
