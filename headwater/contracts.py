"""The contracts of FLIP-27 in their full form: for sources that `headwater.SimpleSource` does not fit.

Each class states when it is called, how often, and in which process and thread.
"""

from __future__ import annotations

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
from headwater.readers.runtime.staging.staged_client import Delivery, StagedClient
from headwater.readers.runtime.staging.staged_source import StagedSource

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
    "FoundSplit",
    "FromOptions",
    "JsonValue",
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
]
