"""The options that every source in barrier mode has, and the settings made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headwater.connector.async_io.source_options import ASYNC_FUNCTION, ASYNC_OPTIONS, check_async_options
from headwater.connector.barrier.event_time_options import (
    EVENT_TIME_OPTIONS,
    EventTimeSettings,
    event_time_settings,
)
from headwater.connector.cpus import available_cpus, known_parallelism
from headwater.connector.options import ParsedOptions
from headwater.core.epoch import AlignmentMode, Barrier
from headwater.core.options import Option, boolean, duration_ms, integer, json_object, one_of, text
from headwater.core.source import Boundedness
from headwater.core.state_location import open_state_store
from headwater.core.state_store import StateStore

if TYPE_CHECKING:
    from headwater.connector.async_io.source_calls import SourceCalls


@dataclass(frozen=True, kw_only=True)
class EpochSettings:
    """Picklable; opens nothing.

    Attributes:
        store: the state location; None for a batch read, which keeps nothing.
        barrier: where each task cuts its epoch.
        mode: whether records in the channels are waited for or stored then.
        alignment_timeout_ms: an aligned barrier overtakes after so long; None for never.
        parallelism: the most tasks of an epoch.
        budget_bytes: that a task may hold in its channels.
        poll_interval_ms: how long after a split was caught up it is looked at again.
        checkpoint_timeout_ms: how long a task of a committed batch that has begun may take to publish.
        retained_epochs: how many epochs before the last one the state location keeps.
        share_scans: keep rows on their host until the next epoch, for other scans of the same epoch.
        event_time: how splits are aligned by event time; None if they are not.
        calls: the asynchronous calls through which all rows go; None if there are none.
    """

    store: StateStore | None
    barrier: Barrier
    mode: AlignmentMode = AlignmentMode.ALIGNED
    alignment_timeout_ms: int | None = None
    parallelism: int = 1
    budget_bytes: int = 64 << 20
    poll_interval_ms: int = 10_000
    checkpoint_timeout_ms: int = 60_000
    retained_epochs: int = 100
    share_scans: bool = False
    event_time: EventTimeSettings | None = None
    calls: SourceCalls | None = None


_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED

_STATE_LOCATION: Final = Option(
    "stateLocation",
    text,
    None,
    "Required for a stream: a folder that the driver and all executors reach, for what a checkpoint needs "
    "beside Spark's own: an absolute local path, or `s3://`, `gs://`, `abfs://`. One for any number of "
    "queries.",
    only=_STREAM,
)
_STATE_STORAGE_OPTIONS: Final = Option(
    "stateStorageOptions",
    json_object,
    None,
    "JSON: settings of the fsspec file system behind `stateLocation`.",
    only=_STREAM,
)
_STATE_RETAINED_EPOCHS: Final = Option(
    "stateRetainedEpochs",
    integer(1),
    100,
    "How many epochs before the last one stay in `stateLocation`.",
    only=_STREAM,
)
_BARRIER_ROWS: Final = Option(
    "barrierRows", integer(1), None, "A task ends its epoch after about so many rows.", only=_STREAM
)
_BARRIER_BYTES: Final = Option(
    "barrierBytes",
    integer(1),
    None,
    "A task ends its epoch after about so many bytes of Arrow rows.",
    only=_STREAM,
)
_BARRIER_INTERVAL: Final = Option(
    "barrierInterval",
    duration_ms,
    10_000,
    "A task ends its epoch so long after its first fetch.",
    only=_STREAM,
    shown_default="`10s`",
)


def _alignment(raw: str) -> str:
    if raw.strip().lower() == "at-least-once":
        raise ValueError(
            "at-least-once is gone: an epoch ended no earlier by it than by aligned, which takes its place "
            "on the same checkpoint. unaligned ends epochs at once"
        )
    return one_of(*(mode.value for mode in AlignmentMode))(raw)


_BARRIER_MODE: Final = Option(
    "barrierMode",
    _alignment,
    AlignmentMode.ALIGNED.value,
    "What happens to rows that are fetched and not yet handed over when an epoch ends: `aligned` or "
    "`unaligned`.",
    only=_STREAM,
)
_ALIGNMENT_TIMEOUT: Final = Option(
    "alignmentTimeout",
    duration_ms,
    None,
    "An `aligned` barrier that takes longer becomes `unaligned`.",
    only=_STREAM,
)
_CHECKPOINT_TIMEOUT: Final = Option(
    "checkpointTimeout",
    duration_ms,
    60_000,
    "How long a task of a committed batch may take to publish what it read before it counts as not run.",
    only=_STREAM,
    shown_default="`60s`",
)
_POLL_INTERVAL: Final = Option(
    "pollInterval",
    duration_ms,
    10_000,
    "How long after it had nothing more a split is looked at again.",
    only=_STREAM,
    shown_default="`10s`",
)
_SHARE_SCANS: Final = Option(
    "shareScans",
    boolean,
    False,
    "Keep the rows of an epoch in a file on the executor's host, so that further scans of the epoch there "
    "(a self-join, several actions in `foreachBatch`) ask the outside for nothing. Costs writing every row "
    "to local disk.",
    only=_STREAM,
)
_MAX_BUFFERED_BYTES: Final = Option(
    "maxBufferedBytes", integer(1), 64 << 20, "What a task may hold between fetching and handing over."
)
_PARALLELISM: Final = Option(
    "parallelism",
    integer(1),
    None,
    "The most tasks of an epoch.",
    shown_default="the driver's CPUs",
)


BARRIER_OPTIONS: Final[tuple[Option[Any], ...]] = (
    _STATE_LOCATION,
    _STATE_STORAGE_OPTIONS,
    _STATE_RETAINED_EPOCHS,
    _BARRIER_ROWS,
    _BARRIER_BYTES,
    _BARRIER_INTERVAL,
    _BARRIER_MODE,
    _ALIGNMENT_TIMEOUT,
    _CHECKPOINT_TIMEOUT,
    _POLL_INTERVAL,
    _SHARE_SCANS,
    _MAX_BUFFERED_BYTES,
    _PARALLELISM,
    *EVENT_TIME_OPTIONS,
    *ASYNC_OPTIONS,
)
"""In the order in which the docs list them."""


def epoch_settings(options: ParsedOptions, boundedness: Boundedness | None, *, source: str) -> EpochSettings:
    """Return how a query goes from epoch to epoch.

    Args:
        options: of a table with `BARRIER_OPTIONS`.
        boundedness: a batch or a stream; None if only the schema will be asked for.
        source: the source's name, for messages.

    Raises:
        OptionError: a stream without ``stateLocation``; alignment by event time that lacks something; an
            asynchronous function that cannot be called.
        StateLocationError: a location without an atomic put-if-absent.
    """
    barrier = Barrier(
        rows=options[_BARRIER_ROWS],
        row_bytes=options[_BARRIER_BYTES],
        # An interval of 0 stands for none.
        duration_ms=options[_BARRIER_INTERVAL] or None,
    )
    store: StateStore | None = None
    if boundedness is _STREAM:
        location = options.require(
            _STATE_LOCATION,
            f": where a stream of source {source!r} ends an epoch is known only by reading it, so its tasks "
            "write down how far they came; name a folder that the driver and all executors reach, and back "
            "it up together with the checkpoint",
        )
        store = open_state_store(location, options[_STATE_STORAGE_OPTIONS])
    event_time = event_time_settings(options, barrier)
    return EpochSettings(
        store=store,
        barrier=barrier,
        mode=AlignmentMode(options[_BARRIER_MODE]),
        alignment_timeout_ms=options[_ALIGNMENT_TIMEOUT],
        parallelism=options[_PARALLELISM] or known_parallelism() or available_cpus(),
        budget_bytes=options[_MAX_BUFFERED_BYTES],
        poll_interval_ms=options[_POLL_INTERVAL],
        checkpoint_timeout_ms=options[_CHECKPOINT_TIMEOUT],
        retained_epochs=options[_STATE_RETAINED_EPOCHS],
        share_scans=options[_SHARE_SCANS],
        event_time=event_time,
        calls=_calls(options),
    )


def _calls(options: ParsedOptions) -> SourceCalls | None:
    check_async_options(options)
    name = options[ASYNC_FUNCTION]
    if name is None:
        return None
    # Loaded for queries that make calls only.
    from headwater.connector.async_io.source_calls import source_calls

    return source_calls(options, name)
