"""FLIP-27 sources for Apache Spark: the public names. ``import headwater as hw`` and use nothing else of this package.

Reading needs no import at all: ``spark.readStream.format("headwater").option("source", "kafka")`` works as soon as headwater is installed on the
driver and on every executor.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

from headwater_packages import check_package, check_packages

if TYPE_CHECKING:
    import headwater_testing

    testing = headwater_testing

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


check_packages()

from connector import options
from connector.async_io.failures import split_failures
from connector.async_io.metrics import AsyncMetrics
from connector.async_io.options import AsyncOptions
from connector.async_io.wait import keyed_wait, ordered_wait, unordered_wait
from connector.conf import recommended_conf, recommended_environment
from connector.lag import LagListener, QueryLag
from connector.register import register
from connector.user_sources import FromOptions, options_of
from headwater_core.abilities import Acknowledges, EstimatesSizes, FindsTimestamps, Heads, InfersSchema, PushesFilters
from headwater_core.barrier_source import BarrierSource
from headwater_core.emitter import RecordEmitter, SplitState
from headwater_core.enumerator import Checkpoint, SplitEnumerator, SplitEnumeratorContext, SplitRequest
from headwater_core.epoch import Barrier, FoundSplit
from headwater_core.epoch_emitter import EpochRecordEmitter
from headwater_core.epoch_records import EpochRecord, EpochRecords
from headwater_core.errors import (
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
from headwater_core.jsons import JsonValue
from headwater_core.reader import RecordsWithSplitIds, SplitReader
from headwater_core.simple_source import AskAgain, Finished, NamedSplit, Page, SimpleSource
from headwater_core.source import Boundedness, Source
from headwater_core.split import Path, Split, SplitRange
from readers.async_io.function import (
    AsyncBatchFunction,
    AsyncFunction,
    BlockingFunction,
    CallbackFunction,
    OpenContext,
    ResultFuture,
    Scope,
)
from readers.async_io.metrics import MetricsSnapshot
from readers.async_io.settings import Batching, CacheSettings, CircuitBreakerSettings, RateLimit, RetryPolicy
from readers.async_io.shared_cache import SharedCache


def __getattr__(name: str) -> _Any:
    """Load ``headwater.testing`` when somebody asks for it: only tests need it."""
    if name != "testing":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    check_package("headwater_testing", InstallationError)
    return importlib.import_module("headwater_testing")
