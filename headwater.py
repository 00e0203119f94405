"""FLIP-27 sources for Apache Spark: the public names. ``import headwater as hw`` and use nothing else of this package.

Reading needs no import at all: ``spark.readStream.format("headwater").option("source", "kafka")`` works as soon as headwater is installed on the
driver and on every executor.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path as _Path

__version__ = "0.1.0"

__all__ = [
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
    "FencedError",
    "FoundSplit",
    "HeadwaterError",
    "InstallationError",
    "JsonValue",
    "LagListener",
    "MetricsSnapshot",
    "MissingDependencyError",
    "OffsetError",
    "OpenContext",
    "OptionError",
    "PartitionNotFoundError",
    "Path",
    "QueryLag",
    "RateLimit",
    "RecordEmitter",
    "RecordsWithSplitIds",
    "ResultFuture",
    "RetryPolicy",
    "Scope",
    "SharedCache",
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
    "ordered_wait",
    "recommended_conf",
    "split_failures",
    "unordered_wait",
]


def _check_sibling(package: str, error: type[ImportError]) -> None:
    """Raise ``error`` if ``package`` is not the one beside this file: its name is an ordinary word, and a user's folder may be called the same."""
    if package in sys.modules:
        found = getattr(sys.modules[package], "__file__", None)
    else:
        spec = importlib.util.find_spec(package)
        found = spec.origin if spec else None
    here = _Path(__file__).resolve().parent
    if found is None or _Path(found).resolve().parent.parent != here:
        advice = "rename that one, or start Python from another folder" if found else "install headwater anew"
        raise error(f"headwater needs its own package {package!r} in {here}, but Python finds {found or 'none'}: {advice}")


_check_sibling("headwater_core", ImportError)

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
from headwater_core.source import Boundedness, Source
from headwater_core.split import Path, Split, SplitRange

for _package in ("enumerators", "readers", "connector"):
    _check_sibling(_package, InstallationError)

from connector.async_io.failures import split_failures
from connector.async_io.metrics import AsyncMetrics
from connector.async_io.options import AsyncOptions
from connector.async_io.wait import keyed_wait, ordered_wait, unordered_wait
from connector.conf import recommended_conf
from connector.lag import LagListener, QueryLag
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
