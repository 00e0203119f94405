"""FLIP-27 sources for Apache Spark: the public names.

``import headwater as hw`` and use nothing else of this package.

Reading needs no import at all: ``spark.readStream.format("headwater").option("source", "kafka")`` works as
soon as headwater is installed on the driver and on every executor.

Each name is loaded when it is first used. Spark imports this package in every Python process that it starts,
and such a process must load only what its step needs (``tests/test_cold_start.py``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from headwater import testing
    from headwater.connector import options
    from headwater.connector.async_io.failures import split_failures
    from headwater.connector.async_io.metrics import AsyncMetrics
    from headwater.connector.async_io.options import AsyncOptions
    from headwater.connector.async_io.wait import keyed_wait, ordered_wait, unordered_wait
    from headwater.connector.sources.user_sources import FromOptions, options_of
    from headwater.connector.spark.conf import recommended_conf, recommended_environment
    from headwater.connector.spark.lag import LagListener, QueryLag
    from headwater.connector.spark.register import register
    from headwater.core.abilities import (
        Acknowledges,
        EstimatesSizes,
        FindsTimestamps,
        Heads,
        InfersSchema,
        PushesFilters,
    )
    from headwater.core.barrier_enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext
    from headwater.core.barrier_source import BarrierSource
    from headwater.core.emitter import RecordEmitter, SplitState
    from headwater.core.enumerator import Checkpoint, SplitEnumerator, SplitEnumeratorContext
    from headwater.core.epoch import Barrier, FoundSplit
    from headwater.core.epoch_emitter import EpochRecordEmitter
    from headwater.core.epoch_records import EpochRecord, EpochRecords
    from headwater.core.errors import (
        AsyncCallError,
        AuthenticationError,
        AuthorizationError,
        CallTimeoutError,
        CircuitOpenError,
        ContractError,
        CorruptRecordError,
        DataLossError,
        DeadlineError,
        FencedError,
        HeadwaterError,
        InstallationError,
        MissingDependencyError,
        OffsetError,
        OptionError,
        PartitionNotFoundError,
        SourceError,
        StateLocationError,
        TransientSourceError,
        UnknownSplitError,
    )
    from headwater.core.jsons import JsonValue
    from headwater.core.planned_enumerator import PlannedSplitEnumerator, SplitRequest
    from headwater.core.planned_source import PlannedSource
    from headwater.core.reader import RecordsWithSplitIds, SplitReader
    from headwater.core.simple_source import AskAgain, Finished, NamedSplit, Page, SimpleSource
    from headwater.core.source import Boundedness, Source
    from headwater.core.split import Path, Split, SplitRange
    from headwater.readers.async_io.function import (
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

__version__ = "0.1.0"

__all__ = [
    "Acknowledges",
    "AskAgain",
    "AsyncBatchFunction",
    "AsyncCallError",
    "AsyncFunction",
    "AsyncMetrics",
    "AsyncOptions",
    "AuthenticationError",
    "AuthorizationError",
    "Barrier",
    "BarrierSource",
    "BarrierSplitEnumerator",
    "BarrierSplitEnumeratorContext",
    "Batching",
    "BlockingFunction",
    "Boundedness",
    "CacheSettings",
    "CallTimeoutError",
    "CallbackFunction",
    "Checkpoint",
    "CircuitBreakerSettings",
    "CircuitOpenError",
    "ContractError",
    "CorruptRecordError",
    "DataLossError",
    "DeadlineError",
    "EpochRecord",
    "EpochRecordEmitter",
    "EpochRecords",
    "EstimatesSizes",
    "FencedError",
    "FindsTimestamps",
    "Finished",
    "FoundSplit",
    "FromOptions",
    "Heads",
    "HeadwaterError",
    "InfersSchema",
    "InstallationError",
    "JsonValue",
    "LagListener",
    "MetricsSnapshot",
    "MissingDependencyError",
    "NamedSplit",
    "OffsetError",
    "OpenContext",
    "OptionError",
    "Page",
    "PartitionNotFoundError",
    "Path",
    "PlannedSource",
    "PlannedSplitEnumerator",
    "PushesFilters",
    "QueryLag",
    "RateLimit",
    "RecordEmitter",
    "RecordsWithSplitIds",
    "ResultFuture",
    "RetryPolicy",
    "Scope",
    "SharedCache",
    "SimpleSource",
    "Source",
    "SourceError",
    "Split",
    "SplitEnumerator",
    "SplitEnumeratorContext",
    "SplitRange",
    "SplitReader",
    "SplitRequest",
    "SplitState",
    "StateLocationError",
    "TransientSourceError",
    "UnknownSplitError",
    "__version__",
    "keyed_wait",
    "options",
    "options_of",
    "ordered_wait",
    "recommended_conf",
    "recommended_environment",
    "register",
    "split_failures",
    "testing",
    "unordered_wait",
]

_HOMES = {
    "headwater": ("testing",),
    "headwater.connector": ("options",),
    "headwater.connector.async_io.failures": ("split_failures",),
    "headwater.connector.async_io.metrics": ("AsyncMetrics",),
    "headwater.connector.async_io.options": ("AsyncOptions",),
    "headwater.connector.async_io.wait": (
        "keyed_wait",
        "ordered_wait",
        "unordered_wait",
    ),
    "headwater.connector.spark.conf": (
        "recommended_conf",
        "recommended_environment",
    ),
    "headwater.connector.spark.lag": (
        "LagListener",
        "QueryLag",
    ),
    "headwater.connector.spark.register": ("register",),
    "headwater.connector.sources.user_sources": (
        "FromOptions",
        "options_of",
    ),
    "headwater.core.abilities": (
        "Acknowledges",
        "EstimatesSizes",
        "FindsTimestamps",
        "Heads",
        "InfersSchema",
        "PushesFilters",
    ),
    "headwater.core.barrier_enumerator": (
        "BarrierSplitEnumerator",
        "BarrierSplitEnumeratorContext",
    ),
    "headwater.core.barrier_source": ("BarrierSource",),
    "headwater.core.emitter": (
        "RecordEmitter",
        "SplitState",
    ),
    "headwater.core.enumerator": (
        "Checkpoint",
        "SplitEnumerator",
        "SplitEnumeratorContext",
    ),
    "headwater.core.epoch": (
        "Barrier",
        "FoundSplit",
    ),
    "headwater.core.epoch_emitter": ("EpochRecordEmitter",),
    "headwater.core.epoch_records": (
        "EpochRecord",
        "EpochRecords",
    ),
    "headwater.core.errors": (
        "AsyncCallError",
        "AuthenticationError",
        "AuthorizationError",
        "CallTimeoutError",
        "CircuitOpenError",
        "ContractError",
        "CorruptRecordError",
        "DataLossError",
        "DeadlineError",
        "FencedError",
        "HeadwaterError",
        "InstallationError",
        "MissingDependencyError",
        "OffsetError",
        "OptionError",
        "PartitionNotFoundError",
        "SourceError",
        "StateLocationError",
        "TransientSourceError",
        "UnknownSplitError",
    ),
    "headwater.core.jsons": ("JsonValue",),
    "headwater.core.planned_enumerator": (
        "PlannedSplitEnumerator",
        "SplitRequest",
    ),
    "headwater.core.planned_source": ("PlannedSource",),
    "headwater.core.reader": (
        "RecordsWithSplitIds",
        "SplitReader",
    ),
    "headwater.core.simple_source": (
        "AskAgain",
        "Finished",
        "NamedSplit",
        "Page",
        "SimpleSource",
    ),
    "headwater.core.source": (
        "Boundedness",
        "Source",
    ),
    "headwater.core.split": (
        "Path",
        "Split",
        "SplitRange",
    ),
    "headwater.readers.async_io.function": (
        "AsyncBatchFunction",
        "AsyncFunction",
        "BlockingFunction",
        "CallbackFunction",
        "OpenContext",
        "ResultFuture",
        "Scope",
    ),
    "headwater.readers.async_io.metrics": ("MetricsSnapshot",),
    "headwater.readers.async_io.settings": (
        "Batching",
        "CacheSettings",
        "CircuitBreakerSettings",
        "RateLimit",
        "RetryPolicy",
    ),
    "headwater.readers.async_io.shared_cache": ("SharedCache",),
}
_MODULES = ("options", "testing")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> _Any:
    """Load a public name on first use (PEP 562). Called by Python, in any thread, until the name is there."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = (
        importlib.import_module(f"{home}.{name}")
        if name in _MODULES
        else getattr(importlib.import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
