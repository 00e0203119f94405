"""What the driver takes to plan a table of PostgreSQL in 2,000 chunks, and how large its offsets are.

    python -m benchmarks.postgres_chunks [--chunks 2000]

Each chunk has one row, and a batch has 16 chunks, as four tasks have by default. *plan* is one call of
``latestOffset``: the notes of the batch before, what all chunks saw, stored in ``stateLocation``, and the
bounds of the next chunks, which are questions to the server. By the clock, and by the processor time of this
process. Tasks read in between, and do not count.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from headwater.core.jsons import dumps
from headwater.core.source import Boundedness
from headwater.testing.making import configured

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from local_postgres import LocalPostgres


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=2_000)
    given = parser.parse_args()
    with LocalPostgres() as server, tempfile.TemporaryDirectory() as folder:
        with psycopg.connect(server.conninfo, autocommit=True) as sql:
            sql.execute(b"CREATE TABLE load (id uuid PRIMARY KEY, body text)")
            rows = f"SELECT gen_random_uuid(), 'x' FROM generate_series(1, {given.chunks})"
            sql.execute(f"INSERT INTO load {rows}".encode())
        options = {
            "url": server.conninfo,
            "table": "load",
            "slot": "load",
            "publication": "load",
            "createPublication": "true",
            "startingPosition": "initial",
            "stateLocation": folder,
            "chunkRows": "1",
            "snapshotTasks": "4",
        }
        plans = planned(options)
    tell("plan, by the clock", [each[0] * 1_000 for each in plans], "ms")
    tell("plan, by processor time", [each[1] * 1_000 for each in plans], "ms")
    tell("offset", [float(each[2]) for each in plans], "bytes")


def planned(options: dict[str, str]) -> list[tuple[float, float, int]]:
    """Read the table; return of each plan how long it took, by the clock and by processor time, and its size.

    The first one is left out: it makes the slot.
    """
    made = configured("postgres", options, Boundedness.CONTINUOUS_UNBOUNDED)
    plans: list[tuple[float, float, int]] = []
    with closing(made.create_coordinator()) as coordinator:
        start = coordinator.plan_next(coordinator.initial_offset(), limited=True)
        while True:
            began, used = time.perf_counter(), time.process_time()
            end = coordinator.plan_next(start, limited=True)
            took = time.perf_counter() - began, time.process_time() - used
            if end == start:
                return plans
            plans.append((*took, len(dumps(end))))
            tasks: Any = coordinator.tasks(start, end)
            for task in tasks:
                list(made.read_task(task))
            start = end


def tell(what: str, values: Sequence[float], unit: str) -> None:
    """Print the median and the most."""
    ranked = sorted(values)
    middle, most = ranked[len(ranked) // 2], ranked[-1]
    sys.stdout.write(
        f"{what}: median {middle:,.1f} {unit}, at most {most:,.1f} {unit} ({len(ranked)} plans)\n"
    )


if __name__ == "__main__":
    main()
