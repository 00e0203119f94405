"""Every error that headwater raises. `HeadwaterError` is the root; `headwater.core.errors` draws the tree."""

from __future__ import annotations

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
    FormatSchemaError,
    HeadwaterError,
    InstallationError,
    MissingDependencyError,
    OffsetError,
    OptionError,
    SourceError,
    StateLocationError,
    TransientSourceError,
    UnknownSplitError,
)

__all__ = [
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
    "FormatSchemaError",
    "HeadwaterError",
    "InstallationError",
    "MissingDependencyError",
    "OffsetError",
    "OptionError",
    "SourceError",
    "StateLocationError",
    "TransientSourceError",
    "UnknownSplitError",
]
