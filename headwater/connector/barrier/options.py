"""The options that every source in barrier mode has, and the settings made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from headwater.connector.async_io.source_options import SourceCallOptions
from headwater.connector.barrier.event_time_options import (
    EVENT_TIME_OPTIONS,
    EventTimeSettings,
    event_time_settings,
)
from headwater.connector.cpus import available_cpus, known_parallelism
from headwater.connector.options import ParsedOptions
from headwater.core.epoch import AlignmentMode, Barrier
from headwater.core.options import Option, Spec, duration_ms, integer, json_object, one_of, option
from headwater.core.source import Boundedness
from headwater.core.state_location import open_state_store, state_location
from headwater.core.state_store import StateStore

if TYPE_CHECKING:
    from headwater.connector.async_io.source_calls import SourceCalls


_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED


def _alignment(raw: str) -> str:
    if raw.strip().lower() == "at-least-once":
        raise ValueError(
            "at-least-once is gone: an epoch ended no earlier by it than by aligned, which takes its place "
            "on the same checkpoint. unaligned ends epochs at once"
        )
    return one_of(*(mode.value for mode in AlignmentMode))(raw)


class EpochOptions(Spec):
    """The options of which parts of `EpochSettings` are made."""

    state_location: str | None = option(
        "stateLocation",
        "Required for a stream: a folder that the driver and all executors reach, for what a checkpoint "
        "needs beside Spark's own: an absolute local path, or `s3://`, `gs://`, `abfs://`. One for any "
        "number of queries.",
        default=None,
        parse=state_location,
        only=_STREAM,
    )
    state_storage_options: Mapping[str, Any] | None = option(
        "stateStorageOptions",
        "JSON: settings of the fsspec file system behind `stateLocation`.",
        default=None,
        parse=json_object,
        only=_STREAM,
    )
    barrier_rows: int | None = option(
        "barrierRows",
        "A task ends its epoch after about so many rows.",
        default=None,
        parse=integer(1),
        only=_STREAM,
    )
    barrier_bytes: int | None = option(
        "barrierBytes",
        "A task ends its epoch after about so many bytes of Arrow rows.",
        default=None,
        parse=integer(1),
        only=_STREAM,
    )
    barrier_interval_ms: int = option(
        "barrierInterval",
        "A task ends its epoch so long after its first fetch.",
        default=1_000,
        parse=duration_ms,
        only=_STREAM,
        shown_default="`1s`",
    )
    mode: str = option(
        "barrierMode",
        "What happens to rows that are fetched and not yet handed over when an epoch ends: `aligned` or "
        "`unaligned`.",
        default=AlignmentMode.ALIGNED.value,
        parse=_alignment,
        only=_STREAM,
    )
    parallelism: int | None = option(
        "parallelism",
        "The most tasks of an epoch.",
        default=None,
        parse=integer(1),
        shown_default="the driver's CPUs",
        after="maxBufferedBytes",
    )


class EpochSettings(Spec):
    """How a query goes from epoch to epoch. Picklable; opens nothing.

    Attributes:
        store: the state location; None for a batch read, which keeps nothing.
        barrier: where each task cuts its epoch.
        mode: whether records in the channels are waited for or stored then.
        parallelism: the most tasks of an epoch.
        event_time: how splits are aligned by event time; None if they are not.
        calls: the asynchronous calls through which all rows go; None if there are none.
    """

    store: StateStore | None
    barrier: Barrier
    mode: AlignmentMode = AlignmentMode.ALIGNED
    parallelism: int = 1
    event_time: EventTimeSettings | None = None
    calls: SourceCalls | None = None
    retained_epochs: int = option(
        "stateRetainedEpochs",
        "How many epochs before the last one stay in `stateLocation`.",
        default=100,
        parse=integer(1),
        only=_STREAM,
        after="stateStorageOptions",
    )
    alignment_timeout_ms: int | None = option(
        "alignmentTimeout",
        "An `aligned` barrier that takes longer becomes `unaligned`.",
        default=None,
        parse=duration_ms,
        only=_STREAM,
    )
    checkpoint_timeout_ms: int = option(
        "checkpointTimeout",
        "How long a task of a committed batch may take to publish what it read before it counts as not run.",
        default=60_000,
        parse=duration_ms,
        only=_STREAM,
        shown_default="`60s`",
    )
    poll_interval_ms: int = option(
        "pollInterval",
        "How long after the beginning of an epoch in which it had nothing more a split is looked at again.",
        default=1_000,
        parse=duration_ms,
        only=_STREAM,
        shown_default="`1s`",
    )
    share_scans: bool = option(
        "shareScans",
        "Keep the rows of an epoch in a file on the executor's host, so that further scans of the epoch "
        "there (a self-join, several actions in `foreachBatch`) ask the outside for nothing. Costs writing "
        "every row to local disk.",
        default=False,
        only=_STREAM,
    )
    budget_bytes: int = option(
        "maxBufferedBytes",
        "What a task may hold between fetching and handing over.",
        default=64 << 20,
        parse=integer(1),
    )


BARRIER_OPTIONS: Final[tuple[Option[Any], ...]] = (
    *EpochOptions.options(),
    *EpochSettings.options(),
    *EVENT_TIME_OPTIONS,
    *SourceCallOptions.options(),
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
    epochs = options.of(EpochOptions)
    barrier = Barrier(
        rows=epochs.barrier_rows,
        row_bytes=epochs.barrier_bytes,
        # An interval of 0 stands for none.
        duration_ms=epochs.barrier_interval_ms or None,
    )
    store: StateStore | None = None
    if boundedness is _STREAM:
        location = epochs.require(
            "state_location",
            f": where a stream of source {source!r} ends an epoch is known only by reading it, so its tasks "
            "write down how far they came; name a folder that the driver and all executors reach, and back "
            "it up together with the checkpoint",
        )
        store = open_state_store(location, epochs.state_storage_options)
    event_time = event_time_settings(options, barrier)
    return options.of(
        EpochSettings,
        store=store,
        barrier=barrier,
        mode=AlignmentMode(epochs.mode),
        parallelism=epochs.parallelism or known_parallelism() or available_cpus(),
        event_time=event_time,
        calls=_calls(options.of(SourceCallOptions)),
    )


def _calls(options: SourceCallOptions) -> SourceCalls | None:
    if options.function is None:
        return None
    # Loaded for queries that make calls only.
    from headwater.connector.async_io.source_calls import source_calls

    return source_calls(options)
