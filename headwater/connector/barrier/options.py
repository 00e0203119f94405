"""The options that every source in barrier mode has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headwater.connector.barrier.plan import BarrierHints, Epochs
from headwater.connector.options import Option, boolean, duration_ms, integer, json_object, one_of, text
from headwater.connector.planned.planning import default_parallelism
from headwater.core.epoch import AlignmentMode, Barrier
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.core.state_location import open_state_store

__all__ = ["BARRIER_OPTIONS", "epochs_of"]

_STREAM = Boundedness.CONTINUOUS_UNBOUNDED

BARRIER_OPTIONS: Final = (
    Option(
        "stateLocation",
        text,
        None,
        "Required for a stream: a folder that the driver and all executors reach, for what a checkpoint needs beside Spark's own: an absolute local "
        "path, or `s3://`, `gs://`, `abfs://`. One for any number of queries.",
        only=_STREAM,
    ),
    Option(
        "stateStorageOptions",
        json_object,
        None,
        "JSON: settings of the fsspec file system behind `stateLocation`.",
        only=_STREAM,
    ),
    Option(
        "stateRetainedEpochs",
        integer(1),
        100,
        "How many epochs before the last one stay in `stateLocation`.",
        only=_STREAM,
    ),
    Option("barrierRows", integer(1), None, "A task ends its epoch after about so many rows.", only=_STREAM),
    Option(
        "barrierBytes",
        integer(1),
        None,
        "A task ends its epoch after about so many bytes of Arrow rows.",
        only=_STREAM,
    ),
    Option(
        "barrierInterval",
        duration_ms,
        10_000,
        "A task ends its epoch so long after its first fetch.",
        only=_STREAM,
        shown_default="`10s`",
    ),
    Option(
        "barrierMode",
        one_of(*(mode.value for mode in AlignmentMode)),
        AlignmentMode.ALIGNED.value,
        "What happens to rows that are fetched and not yet handed over when an epoch ends: `aligned`, `unaligned` or `at-least-once`.",
        only=_STREAM,
    ),
    Option(
        "alignmentTimeout",
        duration_ms,
        None,
        "An `aligned` barrier that takes longer becomes `unaligned`.",
        only=_STREAM,
    ),
    Option(
        "checkpointTimeout",
        duration_ms,
        60_000,
        "How long a task of a committed batch may take to publish what it read before it counts as not run.",
        only=_STREAM,
        shown_default="`60s`",
    ),
    Option(
        "pollInterval",
        duration_ms,
        10_000,
        "How long after it had nothing more a split is looked at again.",
        only=_STREAM,
        shown_default="`10s`",
    ),
    Option(
        "shareScans",
        boolean,
        False,
        "Keep the rows of an epoch in a file on the executor's host, so that further scans of the epoch there (a self-join, several actions in "
        "`foreachBatch`) ask the outside for nothing. Costs writing every row to local disk.",
        only=_STREAM,
    ),
    Option(
        "maxBufferedBytes", integer(1), 64 << 20, "What a task may hold between fetching and handing over."
    ),
    Option("parallelism", integer(1), None, "The most tasks of an epoch.", shown_default="the driver's CPUs"),
)
"""The rows of the table that are the same for all of them."""


def epochs_of(values: Mapping[str, Any], boundedness: Boundedness | None, *, source: str) -> Epochs:
    """Return what the barrier options say.

    Args:
        values: of `BARRIER_OPTIONS`, by name.
        boundedness: a batch or a stream; None if only the schema will be asked for.
        source: the source's name, for messages.

    Raises:
        OptionError: a stream without ``stateLocation``.
        StateLocationError: a location without an atomic put-if-absent.
    """
    hints = BarrierHints(
        Barrier(values["barrierRows"], values["barrierBytes"], values["barrierInterval"] or None),
        AlignmentMode(values["barrierMode"]),
        values["alignmentTimeout"],
        values["parallelism"] or default_parallelism(),
        values["maxBufferedBytes"],
        values["pollInterval"],
        values["checkpointTimeout"],
        values["stateRetainedEpochs"],
        values["shareScans"],
    )
    if boundedness is not _STREAM:
        return Epochs(None, hints)
    if values["stateLocation"] is None:
        raise OptionError(
            f"is required: where a stream of source {source!r} ends an epoch is known only by reading it, so its tasks write down how far they came; "
            "name a folder that the driver and all executors reach, and back it up together with the checkpoint",
            option="stateLocation",
        )
    return Epochs(open_state_store(values["stateLocation"], values["stateStorageOptions"]), hints)
