"""Memory that one large transaction of PostgreSQL takes with ``transport=staged``: in the driver, in a task.

    python -m benchmarks.postgres_memory [--rows 5000000]

*driver* is the process that plans: how much its largest resident size, while it receives the transaction into
files, lies above the size with which the query began. *task* is a new process that reads the files into
Arrow, batch by batch: its largest resident size. A transaction of one row comes first, twice: the first
processes compile.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from headwater.core.source import Boundedness
from headwater.testing.making import configured

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
from local_postgres import LocalPostgres

T = TypeVar("T")
TABLE = """
CREATE TABLE load (
    id bigint PRIMARY KEY, n int, amount numeric(12, 2), share double precision, flag boolean, name text,
    at timestamptz, body text
)
"""
ROWS = """
INSERT INTO load SELECT g, mod(g, 1000), g * 1.25, g * 0.37, mod(g, 2) = 0, 'name' || g,
       timestamptz '2024-01-01' + g * interval '1.234567 s', left(repeat(md5(g::text), 2), 48)
FROM generate_series({first}, {last}) g
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5_000_000)
    given = parser.parse_args()
    with LocalPostgres() as server, tempfile.TemporaryDirectory() as folder:
        with psycopg.connect(server.conninfo, autocommit=True) as sql:
            sql.execute(TABLE.encode())
        options = {
            "url": server.conninfo,
            "table": "load",
            "slot": "load",
            "publication": "load",
            "createPublication": "true",
            "transport": "staged",
            "stateLocation": folder,
        }
        start: Any = None
        for rows in (1, 1, given.rows):
            begun, peak, start, end = in_child(driver, options, server.conninfo, rows, start)
            largest = in_child(task, options, start, end, rows)
            start = end
            sys.stdout.write(
                f"a transaction of {rows:,} rows: driver {begun:.0f} MiB and {peak - begun:.0f} more, "
                f"task {largest:.0f} MiB\n"
            )
            sys.stdout.flush()


def in_child(work: Callable[..., T], *arguments: Any) -> T:
    """Return what it returns, of a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def driver(options: dict[str, str], conninfo: str, rows: int, start: Any) -> tuple[float, float, Any, Any]:
    """Plan the batch of one transaction; return the size before, the largest, and the ends of the batch."""
    made = configured("postgres", options, Boundedness.CONTINUOUS_UNBOUNDED)
    with closing(made.create_coordinator()) as coordinator:
        begin = start or coordinator.plan_next(coordinator.initial_offset(), limited=True)
        coordinator.plan_next(begin, limited=True)
        begun = mib("VmRSS")
        with psycopg.connect(conninfo, autocommit=True) as sql:
            first = sql.execute("SELECT coalesce(max(id), 0) + 1 FROM load").fetchone()
            assert first is not None
            sql.execute(ROWS.format(first=first[0], last=first[0] + rows - 1).encode())
        coordinator.prepare_for_available_now()
        end = coordinator.plan_next(begin, limited=True)
    return begun, mib("VmHWM"), begin, end


def task(options: dict[str, str], start: Any, end: Any, rows: int) -> float:
    """Read a batch; return the largest size."""
    made = configured("postgres", options, Boundedness.CONTINUOUS_UNBOUNDED)
    with closing(made.create_coordinator()) as coordinator:
        tasks: Any = coordinator.tasks(start, end)
    assert sum(batch.num_rows for each in tasks for batch in made.read_task(each)) == rows
    return mib("VmHWM")


def mib(field: str) -> float:
    """Return one of the system's numbers on this process."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{field}:")) / 1024


if __name__ == "__main__":
    main()
