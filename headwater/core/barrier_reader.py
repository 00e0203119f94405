"""The split reader of barrier mode, its records, and a ready-made emitter of these.

The reader finds out where a split ends by reading it, and can leave a split early.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.epoch import FoundSplit
from headwater.core.errors import TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.reader import RecordsWithSplitIds, SplitReader
from headwater.core.split import PositionT, SplitPath, SplitT

if TYPE_CHECKING:
    import pyarrow as pa


OpenT = TypeVar("OpenT")


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """Some consecutive rows of one split (a page, a poll, a segment), with where they end.

    They are emitted in one epoch, or none of them is.

    Attributes:
        rows: as Arrow. May be empty: a position can move without rows.
        position: the next record to read after them. Must differ from the position before them if there are
            rows.
        found: splits that these rows name. They take effect with the rows, and must be the same when the rows
            are read again. Found twice by one task in one epoch is found once; otherwise a split that is
            found again is read again, unless it is under way. So a split that must be read once is named by
            one record only.
        events: for the enumerator (FLIP-27 ``SourceEvent``): small JSON values. They take effect with the
            position: they arrive once the epoch is complete, once each, in order, however the epoch is cut.
        pending: how many records the split has behind these, if the outside tells it; for metrics.
        is_end: whether a record behind these rows said that the split ends (FLIP-208). It is finished with
            them: the reader calls it so in the same answer.
    """

    rows: pa.RecordBatch
    position: JsonValue
    found: tuple[FoundSplit, ...] = ()
    events: tuple[JsonValue, ...] = ()
    pending: int | None = None
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class EpochRecords(RecordsWithSplitIds[EpochRecord]):
    """The result of one fetch, in barrier mode.

    A split is named in at most one of ``finished``, ``caught_up`` and ``failed``. All take effect after
    ``records`` were emitted. The reader gives nothing more of a split that it called finished or caught up,
    until the split is added again.

    Attributes:
        caught_up: splits that have nothing now and may have more later, each with the minimum
            time in ms before it is polled again (rate limits, ``Retry-After``, a poll interval), or None if
            it may be polled at any time.
        failed: splits for which the outside was asked in vain, each with a failure that passes. The reader
            asks again in a later fetch, later and later. How often and for how long a split has failed since
            its last progress is part of its state, from epoch to epoch: past the query's ``retryDeadline``
            the query ends with a `DeadlineError`.
        paused: splits whose outside asks not to be polled, each with the time in ms. Each is paused, others
            go on, and it is resumed when the time is over, or comes up in a later epoch if that is cut
            before.
        events: for the enumerator, as those of a record. They belong to the last of ``records``. Without
            records they take effect with the rest of this answer: if the epoch is left before that, all of it
            is fetched again.
    """

    caught_up: Mapping[SplitPath, int | None] = field(default_factory=dict)
    failed: Mapping[SplitPath, TransientSourceError] = field(default_factory=dict)
    paused: Mapping[SplitPath, int] = field(default_factory=dict)
    events: tuple[JsonValue, ...] = ()


class EpochRecordEmitter(RecordEmitter[EpochRecord, Any, Any]):
    """Hands rows on as they are: for sources whose split reader makes rows of the source's schema."""

    def emit(self, record: EpochRecord, state: SplitState[Any, Any]) -> Iterator[pa.RecordBatch]:
        state.position = record.position
        state.has_ended = record.is_end
        if record.rows.num_rows:
            yield record.rows


class BarrierSplitReader(SplitReader[EpochRecord, SplitT, PositionT]):
    """Fetches records of its splits, and says where these end.

    One per fetching thread of a task (`BarrierSource.fetcher_threads`). The ``stop`` of a range is None: read
    as far as there is something. A stop that is given comes from an earlier reading of the same epoch: no
    record may reach across it.
    """

    @abstractmethod
    def fetch(self) -> EpochRecords:
        """See `SplitReader.fetch`. The answer also names splits that are caught up, and sends events."""

    @abstractmethod
    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        """Forget splits that are not finished (FLIP-27 ``SplitsRemoval``); does not block.

        Later fetches give nothing of them. They may be added again, at another position, and are not paused
        then.
        """

    @abstractmethod
    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        """Give nothing of the paused splits until they are resumed, where they stopped (FLIP-217).

        Called before each turn: a reader has all splits of its fetcher that are begun, and all but one of
        them are paused. So both must be cheap, and the resources of a split (a connection, a generator) stay
        open. Does not block. An added split is not paused. A path that is not assigned, or just finished, is
        ignored.
        """

    def handle_source_event(self, event: JsonValue) -> None:
        """Take an event of the enumerator (FLIP-27 ``SourceEvent``).

        Before the first fetch, after the first splits were added. The default ignores it.
        """


def pause_or_resume(
    open_splits: dict[SplitPath, OpenT],
    paused_splits: dict[SplitPath, OpenT],
    paused: Sequence[SplitPath],
    resumed: Sequence[SplitPath],
) -> None:
    """Move splits between those that are read and those that are not (`pause_or_resume_splits` of a reader).

    A split that is resumed comes behind all others. Splits that were removed are ignored.

    Args:
        open_splits: of the reader; changed.
        paused_splits: of the reader; changed.
        paused: the splits to pause.
        resumed: the splits to resume.
    """
    for path in paused:
        if path in open_splits:
            paused_splits[path] = open_splits.pop(path)
    for path in resumed:
        if path in paused_splits:
            open_splits[path] = paused_splits.pop(path)
