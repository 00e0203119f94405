"""The contracts of FLIP-27 in their full form: for sources that `headwater.SimpleSource` does not fit.

Each class states when it is called, how often, and in which process and thread.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from headwater.connector.sources.user_sources import FromOptions
from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecordEmitter, EpochRecords
from headwater.core.barrier_source import BarrierSource
from headwater.core.decoding import Decoding
from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.enumerator import (
    BarrierSplitEnumerator,
    BarrierSplitEnumeratorContext,
    Checkpoint,
    KeptSplit,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitEnumerator,
    SplitEnumeratorContext,
    SplitRequest,
)
from headwater.core.epoch import Barrier, FoundSplit
from headwater.core.jsons import JsonValue
from headwater.core.planned_source import EndPositions, PartEnd, PlannedSource
from headwater.core.reader import LossReporter, RecordsWithSplitIds, SplitReader
from headwater.core.source import Boundedness, Source
from headwater.core.split import Split, SplitPath, SplitRange
from headwater.core.state_location import open_state_store
from headwater.core.state_store import StateStore
from headwater.readers.runtime.staging.staged_client import Delivery, StagedClient
from headwater.readers.runtime.staging.staged_source import StagedSource

if TYPE_CHECKING:
    from headwater.connector.sources.files.source import FilesSource
    from headwater.connector.sources.kafka.source import KafkaSource
    from headwater.enumerators.files.split import FileSplit, FileStatus
    from headwater.enumerators.kafka.split import KafkaPartitionSplit

__all__ = [
    "Barrier",
    "BarrierSource",
    "BarrierSplitEnumerator",
    "BarrierSplitEnumeratorContext",
    "BarrierSplitReader",
    "Boundedness",
    "Checkpoint",
    "Decoding",
    "Delivery",
    "EndPositions",
    "EpochRecord",
    "EpochRecordEmitter",
    "EpochRecords",
    "FileSplit",
    "FileStatus",
    "FilesSource",
    "FoundSplit",
    "FromOptions",
    "JsonValue",
    "KafkaPartitionSplit",
    "KafkaSource",
    "KeptSplit",
    "LossReporter",
    "PartEnd",
    "PlannedSource",
    "PlannedSplitEnumerator",
    "PlannedSplitEnumeratorContext",
    "RecordEmitter",
    "RecordsWithSplitIds",
    "Source",
    "Split",
    "SplitEnumerator",
    "SplitEnumeratorContext",
    "SplitPath",
    "SplitRange",
    "SplitReader",
    "SplitRequest",
    "SplitState",
    "StagedClient",
    "StagedSource",
    "StateStore",
    "open_state_store",
]

_SHIPPED = {
    "FileSplit": "headwater.enumerators.files.split",
    "FileStatus": "headwater.enumerators.files.split",
    "FilesSource": "headwater.connector.sources.files.source",
    "KafkaPartitionSplit": "headwater.enumerators.kafka.split",
    "KafkaSource": "headwater.connector.sources.kafka.source",
}
"""Parts of shipped sources, which only those need who go on from one."""


if not TYPE_CHECKING:  # with it, type checkers would accept any name

    def __getattr__(name: str) -> object:
        """Load a part of a shipped source on first use (PEP 562). Any thread."""
        if name not in _SHIPPED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_SHIPPED[name]), name)
