"""The options of `unordered_wait`, `ordered_wait` and `keyed_wait` by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from headwater.connector.async_io.metrics import AsyncMetrics
from headwater.readers.async_io.settings import (
    Batching,
    CacheSettings,
    CircuitBreakerSettings,
    RateLimit,
    RetryPolicy,
)


class AsyncOptions(TypedDict, total=False):
    """The options of an operator, beside those in the signatures. All are optional.

    Attributes:
        columns: the input columns that the function gets; the default is all.
        keep_input: whether the output begins with all input columns (the default) or is the result alone.
        key_columns: input columns that name a row in errors. Without them errors name no row: it may hold
            values that must not be logged.
        retry: when and how to ask again; the default is once.
        on_failure: the treatment of a row whose call failed for good. ``"fail"``: the task fails (the
            default). ``"null"``: the result is null. ``"drop"``: the row is left out. ``"error_column"``: the
            result is null, and a column says why: class, message, attempts.
        error_column: the name of that column, ``"error"`` by default.
        result_fields: the treatment of members that a result, or a struct in it, has and the schema has not.
            ``"exact"``: the row failed, also if one is missing (the default). ``"lenient"``: they are
            dropped, and missing ones are null. ``"rescue"``: they go as JSON to a column of their own, and
            missing ones are null.
        rescue_column: the name of that column, ``"rescued"`` by default.
        batching: size and linger of bulk calls, for an `AsyncBatchFunction`.
        max_concurrent_requests: calls at the same time of all tasks together; with ``batching``, bulk calls.
        rate_limit: calls in a second of all tasks together.
        parallelism: tasks at the same time, among which these two limits are divided; the default is the
            cores of the cluster when the frame is made.
        circuit_breaker: when to leave a failing service alone; each task has its own.
        cache: which results to remember, and for how long, in each Python process.
        metrics: where to count.
        queue_size: input rows that a task holds at most, and carries over at most. See `AsyncSettings`.
        queue_bytes: bytes of Arrow of these rows at most, 64 MiB by default; where there is no room, the
            input waits.
        carried_bytes: bytes of input rows that a task carries over at most, 64 MiB by default; a batch waits
            until there are not more.
        share_id: names the objects that the tasks of a process share: an opened function, and a cache. The
            default is made from the function and its attributes: the same in each plan, as in
            ``foreachBatch``.
        close_timeout: how long the end of a task waits for calls that were cancelled and for the function's
            ``close``, 10 s by default. Calls past their timeout are not waited for.
        block_warning: after how long a function that keeps the event loop from turning is named in the log.
    """

    columns: Sequence[str]
    keep_input: bool
    key_columns: Sequence[str]
    retry: RetryPolicy
    on_failure: Literal["fail", "null", "drop", "error_column"]
    error_column: str
    result_fields: Literal["exact", "lenient", "rescue"]
    rescue_column: str
    batching: Batching
    max_concurrent_requests: int
    rate_limit: RateLimit
    parallelism: int
    circuit_breaker: CircuitBreakerSettings
    cache: CacheSettings
    metrics: AsyncMetrics
    queue_size: int
    queue_bytes: int
    carried_bytes: int
    share_id: str
    close_timeout: str
    block_warning: str
