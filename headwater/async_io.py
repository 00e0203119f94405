"""Asynchronous I/O: kinds of functions, settings and metrics.

The operators themselves are `headwater.unordered_wait`, `headwater.ordered_wait` and `headwater.keyed_wait`.
"""

from __future__ import annotations

from headwater.connector.async_io.metrics import AsyncMetrics
from headwater.connector.async_io.options import AsyncOptions
from headwater.readers.async_io.function import (
    AsyncArrowFunction,
    AsyncBatchFunction,
    AsyncFunction,
    BlockingFunction,
    CallbackFunction,
    OpenContext,
    ResultFuture,
    Scope,
)
from headwater.readers.async_io.metrics import MetricsSnapshot
from headwater.readers.async_io.settings import (
    Batching,
    CacheSettings,
    CircuitBreakerSettings,
    RateLimit,
    RetryPolicy,
)
from headwater.readers.async_io.shared_cache import SharedCache

__all__ = [
    "AsyncArrowFunction",
    "AsyncBatchFunction",
    "AsyncFunction",
    "AsyncMetrics",
    "AsyncOptions",
    "Batching",
    "BlockingFunction",
    "CacheSettings",
    "CallbackFunction",
    "CircuitBreakerSettings",
    "MetricsSnapshot",
    "OpenContext",
    "RateLimit",
    "ResultFuture",
    "RetryPolicy",
    "Scope",
    "SharedCache",
]
