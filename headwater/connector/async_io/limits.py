"""Limits of an operator, divided over its tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from headwater.connector.async_io.options import AsyncOptions
from headwater.core.errors import OptionError
from headwater.readers.async_io.settings import RateLimit


def task_limits(df: DataFrame, capacity: int, options: AsyncOptions, most_tasks: int | None) -> TaskLimits:
    """Return the limits that the options of an operator give one of its tasks.

    Args:
        df: the input.
        capacity: calls at the same time that one task makes without limits.
        options: of the operator.
        most_tasks: the most partitions there are, however many run at once. None: not known.

    Raises:
        OptionError: a limit does not fit, or it cannot be known how many tasks there are.
    """
    limit = options.get("max_concurrent_requests")
    rate_limit = options.get("rate_limit")
    parallelism = options.get("parallelism")
    if parallelism is not None and limit is None and rate_limit is None:
        raise OptionError("means nothing without max_concurrent_requests or rate_limit", option="parallelism")
    if parallelism is None:
        # Spark is asked only where it matters: Spark Connect does not know.
        parallelism = default_parallelism(df) if limit is not None or rate_limit is not None else 1
    check_positive(parallelism, "parallelism")
    if most_tasks is not None:
        parallelism = min(parallelism, most_tasks)
    return divided_limits(
        capacity=capacity, max_concurrent_requests=limit, rate_limit=rate_limit, parallelism=parallelism
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """One task's share of the limits.

    Attributes:
        tasks: partitions at most; None if nothing is limited.
        capacity: calls at the same time.
        rate_limit: calls in a second; None if they are not limited.
    """

    tasks: int | None
    capacity: int
    rate_limit: RateLimit | None


def divided_limits(
    *,
    capacity: int,
    max_concurrent_requests: int | None = None,
    rate_limit: RateLimit | None = None,
    parallelism: int,
) -> TaskLimits:
    """Divide the limits of an operator over its tasks.

    Tasks do not talk to each other, so each gets a fixed share: the limit divided by the number of tasks that
    may run at the same time. That number is bounded by bounding the number of partitions, so that the limit
    also holds when the cluster grows.

    Args:
        capacity: calls at the same time that one task makes without limits.
        max_concurrent_requests: calls at the same time of all tasks, or None.
        rate_limit: of all tasks, or None.
        parallelism: tasks at the same time; without limits it does not matter.

    Raises:
        OptionError: the limit is below 1.
    """
    check_positive(max_concurrent_requests, "max_concurrent_requests")
    tasks: int | None = None
    if max_concurrent_requests is not None:
        tasks = min(parallelism, max_concurrent_requests)
        capacity = min(capacity, max_concurrent_requests // tasks)
    if rate_limit is not None:
        tasks = tasks or parallelism
        rate_limit = replace(
            rate_limit,
            requests_per_s=rate_limit.requests_per_s / tasks,
            burst=max(1, rate_limit.burst // tasks),
        )
    return TaskLimits(tasks=tasks, capacity=capacity, rate_limit=rate_limit)


def check_positive(value: int | None, option: str) -> None:
    """Check a number that may be missing.

    Raises:
        OptionError: it is below 1.
    """
    if value is not None and value < 1:
        raise OptionError(f"must be at least 1, is {value}", option=option)
