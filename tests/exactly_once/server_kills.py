"""A stream whose driver, workers and server are killed (SIGKILL) at seeded points, under load.

Meanwhile entries keep coming, and streams are created. What was written is compared with what another client
finds.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.exactly_once.barrier_job import BarrierJob

if TYPE_CHECKING:
    from tests.exactly_once.growing_load import GrowingLoad

__all__ = ["KILLED_IN_ROUNDS", "keeps_every_row", "master_of"]

_LIMIT: Final = "maxRowsPerTrigger"
_LEAST_KILLS: Final = {1: 2, 7: 20}
"""By rounds: of processes of Spark. Those of the server come on top."""

KILLED_IN_ROUNDS: Final = pytest.mark.parametrize("rounds", [1, pytest.param(7, marks=pytest.mark.long)])
"""Each kills a worker, with several an executor too, the server now and then, and at last the driver."""


def master_of(rounds: int) -> str:
    """Return where the drivers run: in the long form with an executor of their own, to be killed."""
    return "local-cluster[1,2,512]" if rounds > 1 else "local[2,8]"


def keeps_every_row(
    job: BarrierJob,
    load: GrowingLoad,
    stored: Callable[[str], Iterable[tuple[object, ...]]],
    rounds: int,
    rng: random.Random,
) -> None:
    """Kill a job under load, finish it, and compare.

    Args:
        job: in planned mode. The last of its columns is the payload.
        load: not started yet.
        stored: returns the rows of a stream as another client finds them, with the columns of the job.
        rounds: as `KILLED_IN_ROUNDS` gives them.
        rng: decides where.
    """
    limited = replace(job, options={**job.options, _LIMIT: "500"})
    with load:
        killed = limited.kill_rounds(rounds, rng)
    # Without the limit: on a slow machine a long load would leave hundreds of small batches.
    job.finish()
    due = Counter(row for stream in load.streams for row in stored(stream))
    written: Counter[tuple[Any, ...]] = Counter((*row[:-1], bytes(row[-1])) for row in job.rows(*job.columns))
    lost, doubled = due - written, written - due
    print(f"{due.total()} rows, {len(load.streams)} streams, {killed}, {load.kills} servers")
    assert load.kills, "the server was never killed"
    assert killed.total() >= _LEAST_KILLS[rounds], killed
    assert (lost.total(), doubled.total()) == (0, 0), (list(lost)[:3], list(doubled)[:3])
